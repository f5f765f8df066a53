package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// act is an action of a user. at is when it happens, as a fraction of the duration.
type act struct {
	at       float64
	object   string // NAMESPACE/NAME, or node/NAME
	replicas int
	image    string // its tag determines what happens to the pod, see hack/cluster/stages.yaml
	more     string // more fields of the spec; for a node, what kubectl does to it
}

const (
	halt     = "failurePolicy: {gracePeriodSeconds: 5}, "
	rollBack = "failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 5}, "
	replaced = halt + "disruption: {onDrain: Replace}, "
	inPlace  = halt + "updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceIfPossible}}, "
)

// story has rollouts with every result, and PodManagers that are not Ready for different reasons.
var story = []act{
	{0.02, "shop/web", 30, "web:1", halt},
	{0.02, "shop/cart", 12, "cart:1", rollBack},
	{0.03, "shop/search", 8, "search:1", inPlace},
	{0.04, "pay/api", 20, "api:1", replaced},
	{0.04, "pay/ledger", 6, "ledger:1", halt},
	{0.12, "node/simulated-node-0", 0, "", "cordon"},
	{0.16, "node/simulated-node-0", 0, "", "uncordon"},
	{0.18, "shop/web", 30, "web:2", halt},
	{0.24, "shop/search", 8, "search:2", inPlace},
	{0.30, "shop/cart", 12, "cart:crash", rollBack},
	{0.34, "pay/ledger", 6, "ledger:does-not-exist", halt},
	{0.42, "pay/api", 60, "api:1", replaced},
	{0.50, "pay/api", 60, "api:2", replaced + "paused: true, "},
	{0.56, "shop/web", 45, "web:never-ready", "progressDeadlineSeconds: 15, " + "failurePolicy: {onFailure: Continue, gracePeriodSeconds: 0}, "},
	{0.62, "pay/api", 60, "api:2", replaced},
	{0.70, "pay/ledger", 6, "ledger:2", halt},
	{0.72, "shop/web", 45, "web:3", halt},
	{0.75, "shop/search", 8, "search:never-ready", inPlace},
	{0.76, "node/simulated-node-1", 0, "", "cordon"},
	{0.79, "node/simulated-node-1", 0, "", "drain"},
	{0.80, "shop/search", 8, "search:3", inPlace},
	{0.86, "pay/api", 20, "api:2", replaced},
	{0.88, "node/simulated-node-1", 0, "", "uncordon"},
	{0.88, "pay/report", 5, "report:does-not-exist", halt},
}

// play carries out the story.
func play(ctx context.Context, cluster *lab.Cluster, duration time.Duration) error {
	began := time.Now()
	for _, namespace := range []string{"shop", "pay"} {
		if _, err := cluster.Kubectl(ctx, "create", "namespace", namespace); err != nil {
			return err
		}
	}
	until := func(at float64) error {
		if !lab.Pause(ctx, time.Until(began.Add(time.Duration(at*float64(duration))))) {
			return ctx.Err()
		}
		return nil
	}
	for _, act := range story {
		if err := until(act.at); err != nil {
			return err
		}
		namespace, name, _ := strings.Cut(act.object, "/")
		if namespace == "node" {
			fmt.Printf("%5.1f s: %s %s\n", time.Since(began).Seconds(), act.more, act.object)
			if _, err := cluster.Kubectl(ctx, act.more, name); err != nil {
				return err
			}
			continue
		}
		fmt.Printf("%5.1f s: %s with %d x %s\n", time.Since(began).Seconds(), act.object, act.replicas, act.image)
		manifest := fmt.Sprintf("apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: %s}\nspec: {%sreplicas: %d, image: '%s'}\n",
			name, act.more, act.replicas, act.image)
		if _, err := cluster.KubectlWith(ctx, manifest, "--namespace", namespace, "apply", "-f", "-"); err != nil {
			return err
		}
	}
	return until(1)
}
