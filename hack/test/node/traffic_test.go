//go:build e2e

package node

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// traffic has clients of the Service web. No request may be lost. Each request goes to an endpoint that is ready at that moment according to a watch
// of the EndpointSlices, over a new connection, as kube-proxy would forward it.
type traffic struct {
	s       *space
	slices  discoverylisters.EndpointSliceNamespaceLister
	stop    context.CancelFunc
	clients sync.WaitGroup

	lock sync.Mutex
	// answered is how many requests the pods of each node have answered. lost is what became of the others.
	answered map[string]int
	lost     []string
}

// traffic starts two clients, which send a small request every 20 ms. A request has to come at every moment of the drain, but the load does not
// matter.
func (s *space) traffic() *traffic {
	s.T.Helper()
	ctx, stop := context.WithCancel(s.T.Context())
	s.T.Cleanup(stop)
	factory := informers.NewSharedInformerFactoryWithOptions(shared.kube, 0, informers.WithNamespace(s.Name))
	informer := factory.Discovery().V1().EndpointSlices()
	t := &traffic{s: s, slices: informer.Lister().EndpointSlices(s.Name), stop: stop, answered: map[string]int{}}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for range 2 {
		t.clients.Go(func() {
			for ctx.Err() == nil {
				t.send()
				lab.Pause(ctx, 20*time.Millisecond)
			}
		})
	}
	return t
}

// send sends one request, and counts it.
func (t *traffic) send() {
	began := time.Now()
	address, node, err := t.endpoint()
	if err == nil {
		err = get(address)
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if err != nil {
		t.lost = append(t.lost, fmt.Sprintf("%s, after %v: %v", began.Format(time.TimeOnly+".000"), time.Since(began), err))
		return
	}
	t.answered[node]++
}

// get sends a request without the test's context. Otherwise a request that is in flight when the clients are stopped would count as lost.
func get(address string) error {
	response, err := client.Get(address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s %q: %w", address, response.Status, body, err)
	}
	return nil
}

// endpoint returns one of the endpoints that are ready, and the node of its pod. The addresses of pods on simulated nodes are made up, and must not
// be used.
func (t *traffic) endpoint() (address, node string, err error) {
	list, err := t.slices.List(labels.Everything())
	if err != nil {
		return "", "", err
	}
	nodes := map[string]string{}
	for _, slice := range list {
		for _, endpoint := range slice.Endpoints {
			if on := *endpoint.NodeName; isTrue(endpoint.Conditions.Ready) && (on == realNode || on == secondNode) {
				nodes[fmt.Sprintf("http://%s:%d/version", endpoint.Addresses[0], *slice.Ports[0].Port)] = on
			}
		}
	}
	for address, node := range nodes { // in random order
		return address, node, nil
	}
	return "", "", fmt.Errorf("no endpoint is ready: %v", endpointsOf(list))
}

// endpointsOf returns the endpoints and their conditions, for a message.
func endpointsOf(list []*discoveryv1.EndpointSlice) (all []string) {
	for _, slice := range list {
		for _, endpoint := range slice.Endpoints {
			all = append(all, fmt.Sprintf("%s %+v", endpoint.Addresses[0], endpoint.Conditions))
		}
	}
	return all
}

// answeredBy returns how many requests the pods of a node have answered so far.
func (t *traffic) answeredBy(node string) int {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.answered[node]
}

// awaitAnswers waits until the pods of a node have answered some more requests.
func (t *traffic) awaitAnswers(node string) {
	t.s.T.Helper()
	before := t.answeredBy(node)
	t.s.Await("answers from "+node, func() (any, bool) { now := t.answeredBy(node); return now, now >= before+10 })
}

// end stops the clients, and fails the test if a request was lost.
func (t *traffic) end() {
	t.s.T.Helper()
	t.stop()
	t.clients.Wait()
	if len(t.lost) > 0 {
		t.s.T.Errorf("%d requests were lost, the first of them:\n%s", len(t.lost), strings.Join(t.lost[:min(len(t.lost), 10)], "\n"))
	}
	t.s.T.Logf("%d requests were answered, %d lost; the nodes whose pods answered: %v", t.answered[realNode]+t.answered[secondNode], len(t.lost), t.answered)
}

// serving is a template of pods that go on serving for a while after they are deleted, until the clients know, as artifacts/README.md recommends.
var serving = fmt.Sprintf("{metadata: {labels: {app: %%s}}, spec: {%s, containers: [%s]}}", preferSecond,
	web("1", ", lifecycle: {preStop: {sleep: {seconds: 5}}}"))

// A node that runs the only pod of a PodManager is drained. kubectl drain ends by itself, and the clients of the Service do not notice: no request
// is lost, and there is always an endpoint. The replacement runs on the other real node. The same drain of a Deployment's pod does not end.
func TestDrainWithTraffic(t *testing.T) {
	t.Parallel()
	startSecondNode(t)
	s := newSpaceAlone(t)
	s.Apply("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}}")
	s.addFloor("web")
	s.apply(fmt.Sprintf("{replicas: 1, disruption: {onDrain: Replace}, template: %s}", fmt.Sprintf(serving, "web")))
	s.awaitReady(1)
	s.awaitEndpoints(1)
	before := s.onSecond("web")

	traffic := s.traffic()
	traffic.awaitAnswers(secondNode)
	took, said, err := s.drainSecond(harness.Patience)
	if err != nil {
		t.Fatal(err)
	}
	traffic.awaitAnswers(realNode)
	after := s.pods()
	if len(after) != 1 || after[0].UID == before.UID || after[0].Spec.NodeName != realNode {
		t.Errorf("after the drain there are these pods, want a new one on %s: %v", realNode, placesOf(after))
	}
	traffic.end()
	t.Logf("the drain took %v; %d eviction(s) were refused first", took, strings.Count(said, "violate the pod's disruption budget"))

	s.Kubectl("uncordon", secondNode)
	s.outlastsDrain(max(10*time.Second, took))
}

// outlastsDrain checks that the drain of a Deployment's pod does not end within the time, and that nothing happens to the pod meanwhile.
func (s *space) outlastsDrain(limit time.Duration) {
	s.T.Helper()
	s.addFloor("control")
	s.Apply(fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: control}, spec: {replicas: 1, "+
		"selector: {matchLabels: {app: control}}, template: %s}}", fmt.Sprintf(serving, "control")))
	s.Kubectl("rollout", "status", "deployment/control", "--timeout=2m")
	before := s.onSecond("control")
	took, said, err := s.drainSecond(limit)
	if err == nil || !strings.Contains(said, "global timeout reached") {
		s.T.Errorf("the drain of a Deployment's pod has not run into its timeout: %v\n%s", err, said)
	}
	if after := s.onSecond("control"); after.UID != before.UID {
		s.T.Errorf("the Deployment's pod was %s, and is %s", before.Name, after.Name)
	}
	s.T.Logf("the drain of a Deployment's pod has not ended after %v", took)
	// In the foreground, so that the pod is gone before its node.
	s.Kubectl("delete", "deployment", "control", "--cascade=foreground", "--timeout=2m")
}

// addFloor adds a PodDisruptionBudget with minAvailable: 1. If the app has one pod, the API server refuses to evict it.
func (s *space) addFloor(app string) {
	s.T.Helper()
	s.Apply(fmt.Sprintf("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %[1]s}, "+
		"spec: {minAvailable: 1, selector: {matchLabels: {app: %[1]s}}}}", app))
}

// onSecond returns the pod of an app, which has to be the only one, and on the second node.
func (s *space) onSecond(app string) corev1.Pod {
	s.T.Helper()
	found := slices.DeleteFunc(s.pods(), func(pod corev1.Pod) bool { return pod.Labels["app"] != app })
	if len(found) != 1 || found[0].Spec.NodeName != secondNode {
		s.T.Fatalf("%s has these pods, want one on %s: %v", app, secondNode, placesOf(found))
	}
	return found[0]
}

func placesOf(pods []corev1.Pod) (places []string) {
	for _, pod := range pods {
		places = append(places, pod.Name+" on "+pod.Spec.NodeName)
	}
	return places
}

// drainSecond drains the second node, which has no other pods than this test's, as an administrator would.
func (s *space) drainSecond(limit time.Duration) (took time.Duration, said string, err error) {
	s.T.Helper()
	began := time.Now()
	said, err = s.TryKubectl("", "drain", secondNode, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+limit.String())
	return time.Since(began).Round(100 * time.Millisecond), said, err
}
