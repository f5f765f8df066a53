package scenarios

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// noticed is how soon a controller has to notice that a connection is dead. client-go pings after 30 s of silence, and waits 15 s for an answer.
const noticed = time.Minute

// blackHole first makes the open connections dead forever, as a restarted firewall does. Then it makes all connections, old and new, dead for a
// while.
func blackHole(a scene) {
	link, err := faults.StartLink(a.Kubeconfig) // in front of the proxy, which would answer pings itself
	a.Must(err)
	defer link.Close()
	a.Kubeconfig = filepath.Join(a.Cluster.Folder, a.Namespace+"-link.kubeconfig")
	a.Must(link.WriteKubeconfig(a.Kubeconfig))
	a.Blind = noticed
	a.Start()
	a.Create("web", 3, testenv.OwnerOptions{})
	a.awaitCalm()

	slow := a.Proxy.Inject(faults.Rule{Name: "slow", Match: a.Own("create", "pods"), Rate: 1, Faults: []faults.Fault{{Delay: 200 * time.Millisecond}}})
	a.Scale("web", 12)
	a.Await("some pods", func() (string, bool) { n := len(a.Pods()); return fmt.Sprint(n), n > 3 })
	if link.Sever() == 0 {
		a.Must(errors.New("there is no connection to cut"))
	}
	a.Logf("the connections are dead, at %d pods", len(a.Pods()))
	began := time.Now()
	for _, problem := range a.AwaitSettled(noticed) {
		problem.What = fmt.Sprintf("the controller is not done %v after its connections went dead, although new connections work: %s", noticed, problem.What)
		a.Violate(problem)
	}
	a.Logf("done %v after the connections went dead", time.Since(began).Round(time.Millisecond))
	slow()

	a.Scale("web", 4+a.Random.IntN(6))
	opened, began := link.Opened(), time.Now()
	revive := link.Die()
	a.Logf("the link is dead")
	a.DeletePod(a.Pods()[0].Name)
	for link.Opened() == opened && time.Since(began) < noticed {
		lab.Pause(a.Ctx, 100*time.Millisecond)
	}
	a.Logf("a new connection is tried after %v", time.Since(began).Round(time.Millisecond))
	if link.Opened() == opened {
		a.Violate(faults.Violation{Invariant: "I3", Object: "web", What: fmt.Sprintf("the controller has not noticed within %v that its connection is dead", noticed)})
	}
	lab.Pause(a.Ctx, time.Duration(a.Random.IntN(5000))*time.Millisecond)
	revive()
	a.Settle()
	a.Judge()
}
