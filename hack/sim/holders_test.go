package sim

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

// A process that does not hold the Lease of a PodManager may not write to it, but the one that does may.
func TestOnlyTheHolderMayWrite(t *testing.T) {
	for name, deployed := range map[string]settings{"leader election": {replicas: 2, elects: true}, "shards": {replicas: 2, elects: true, shards: 4}} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(t *testing.T, c *Cluster) {
				c.killReplica(0) // it works without a Lease
				c.settings = deployed
				c.supervise(1)
				pause(c.ctx, time.Minute)
				c.apply(t, "team-a", "web", 2, nil)
				c.await(t, "team-a", "web", isReady)
				if c.judge.isBroken() {
					t.Fatal(c.judge.violations)
				}
				c.judge.started("replica-7", deployed)
				other := &line{weather: c.weather, name: "replica-7", onRequest: c.sent, onAnswer: func(*line, *apiserver.Request, int) {}}
				client := versioned.NewForConfigOrDie(c.config(c.server.Client("replica-7", other))).AppsV1().PodManagers("team-a")
				if _, err := client.Patch(c.ctx, "web", types.MergePatchType, []byte(`{"status":{"replicas":7}}`), metav1.PatchOptions{}, "status"); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(c.judge.violations, "\n"); !strings.Contains(got, "replica-7 did not hold the Lease") {
					t.Errorf("the violations are %q", got)
				}
			})
		})
	}
}
