//go:build e2e

package evictors

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// shared is what all tests use.
var shared struct {
	cluster    *lab.Cluster
	controller *lab.Process
	// updater and descheduler are the paths of the programs.
	updater, descheduler string
}

func TestMain(m *testing.M) {
	os.Exit(harness.Run(m, "e2e-evictors", setUp, func(bool) error { return shared.controller.StopCleanly() }))
}

func setUp(ctx context.Context, cluster *lab.Cluster) (err error) {
	shared.cluster = cluster
	for name, path := range map[string]*string{"updater": &shared.updater, "descheduler": &shared.descheduler} {
		build := exec.CommandContext(ctx, "hack/tool.sh", name)
		build.Stderr = os.Stderr
		out, err := build.Output()
		if err != nil {
			return fmt.Errorf("hack/tool.sh %s: %w", name, err)
		}
		*path = strings.TrimSpace(string(out))
	}
	if err := installAutoscalers(ctx); err != nil {
		return err
	}
	shared.controller, err = cluster.Start(ctx, "controller", "-v", "4")
	return err
}

// installAutoscalers installs the CRD of VerticalPodAutoscalers, in the version of the updater.
func installAutoscalers(ctx context.Context) error {
	list := exec.CommandContext(ctx, "go", "-C", "hack/tools/updater", "list", "-m", "-f", "{{.Dir}}", "k8s.io/autoscaler/vertical-pod-autoscaler")
	list.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	crd := filepath.Join(strings.TrimSpace(string(out)), "deploy", "vpa-v1-crd-gen.yaml")
	if _, err := shared.cluster.Kubectl(ctx, "apply", "--server-side", "-f", crd); err != nil {
		return err
	}
	_, err = shared.cluster.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd/verticalpodautoscalers.autoscaling.k8s.io")
	return err
}

// space is a test's namespace.
type space struct{ *harness.Space }

func newSpace(t *testing.T) *space {
	t.Helper()
	return &space{harness.NewSpace(t, shared.cluster)}
}

// run starts a program that ends with the test.
func (s *space) run(command ...string) *lab.Process {
	s.T.Helper()
	log := filepath.Join(shared.cluster.Folder, strings.ReplaceAll(s.T.Name(), "/", "-")+".log")
	p, err := lab.StartProgram(log, command...)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() {
		_ = p.Kill()
		if s.T.Failed() {
			s.T.Logf("the end of %s:\n%s", log, p.Tail(40))
		}
	})
	return p
}

// awaitReady waits until a PodManager is Ready with this many pods, none of which was there before.
func (s *space) awaitReady(name string, replicas int, before map[types.UID]bool) {
	s.T.Helper()
	s.Await(fmt.Sprintf("%s to be Ready with %d pods", name, replicas), func() (any, bool) {
		manager := s.Manager(name)
		seen := []any{harness.Brief(manager), slices.Collect(maps.Keys(before)), s.uids()}
		ok := harness.IsReady(manager) && int(manager.Status.Replicas) == replicas
		for uid := range s.uids() {
			ok = ok && !before[uid]
		}
		return seen, ok
	})
}

// uids returns the UIDs of the active pods.
func (s *space) uids() map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, pod := range s.Pods() {
		all[pod.UID] = true
	}
	return all
}

// ready counts the pods that a PodDisruptionBudget counts as healthy.
func ready(pods []*corev1.Pod) int {
	count := 0
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			count++
		}
	}
	return count
}
