//go:build e2e

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// comparison returns for how long the test repeats an operation if the real node has not shown everything that the simulated nodes show, which is a
// matter of chance. By default the test carries an operation out once, and only logs a remaining difference. After a change of
// hack/cluster/stages.yaml, run it with COMPARE_TIME=3m. That was enough for every operation, and a difference that remains after that time is a
// failure.
func comparison(t *testing.T) (limit time.Duration, isStrict bool) {
	text := os.Getenv("COMPARE_TIME")
	if text == "" {
		return 0, false
	}
	limit, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("COMPARE_TIME: %v", err)
	}
	return limit, true
}

// Most tests run on simulated nodes. Their value depends on how faithfully hack/cluster/stages.yaml describes kubelets. Therefore every operation
// of the controller on pods is carried out on pods of both kinds of nodes, and what the controller reads of them is compared.
//
// A kubelet does not send every status: it sends the latest one as soon as it can. On a busy machine a state of a few milliseconds may be missing,
// and the time between two states proves nothing. The simulation takes its time, and shows each of its steps. Therefore
//   - every time, everything that the real node shows of a change has to be among what the simulated node shows, in the same order and up to the
//     same last state: there is no state, and no order of states, with which the controller is never tested;
//   - everything that the simulated node shows has to be seen on the real one, too, at least in one of several tries (see comparison): the tests do
//     not rely on anything that never happens.
//
// Both rules are about whole states, not single fields: a new container in a pod that is ready is not the same as one in a pod that is not. There
// is one exception. The resize conditions and the observed generation come from two parts of the kubelet, and either may be ahead of the other.
// Therefore there are two tracks, each with one of them and everything else.
//
// Where a kubelet may see two changes at once or one after the other, the simulation shows either, depending on the pod's name. Therefore there are
// two simulated pods.
func testSimulation(t *testing.T) {
	t.Parallel()
	for name, operation := range operations() {
		t.Run(name, func(t *testing.T) { newSpace(t).compare(operation) })
	}
}

// The same comparison for a resize that the kubelet reports as infeasible. The API server refuses a resize beyond the node's capacity before the
// kubelet sees it. Here the kubelet has the static CPU policy, with which it reports a resize of a Guaranteed pod as infeasible.
func TestSimulationOfInfeasibleResize(t *testing.T) {
	s := newSpaceAlone(t)
	assignments := s.nodeFile("kubelet/cpu_manager_state")
	forget := func() { _ = os.Remove(assignments) } // a kubelet does not start with the assignments of another policy
	t.Cleanup(forget)
	s.reconfigureKubelet("cgroupDriver: cgroupfs", "cgroupDriver: cgroupfs\ncpuManagerPolicy: static\nsystemReserved: {cpu: 100m}")
	forget()
	s.compare(operation{pod: both(delayed("infeasible"), sized(keep, keep)), steps: []step{
		{toSize(200, 64), pending("Infeasible")}, {toSize(100, 64), serves},
	}})
}

// compare repeats an operation until the real node has shown everything that the simulated nodes show.
func (s *space) compare(operation operation) {
	s.T.Helper()
	var unseen []*recording
	limit, isStrict := comparison(s.T)
	try := 0
	for began := time.Now(); try == 0 || time.Since(began) < limit; try++ {
		actual, simulated, err := s.perform(operation, try)
		switch {
		case err != nil:
			s.T.Fatalf("%v\nThe real node:%v\nThe simulated nodes:%v%v", err, actual, simulated[0], simulated[1])
		case !actual.isAmong(simulated):
			s.T.Fatalf("the real node shows what no simulated one does:%v\nThe simulated nodes:%v%v", actual, simulated[0], simulated[1])
		case operation.isRare:
			s.T.Logf("the simulated nodes:%v%v", simulated[0], simulated[1])
			return
		case unseen == nil:
			first, second := simulated[0].tracks(), simulated[1].tracks()
			unseen = slices.Concat(first[:], second[:])
		}
		shown, isMissing := actual.tracks(), false
		for i := range unseen {
			unseen[i] = unseen[i].without(shown[i%2])
			isMissing = isMissing || len(unseen[i].readings) > 0
		}
		if !isMissing {
			s.T.Logf("seen in %d tries:%v%v", try+1, simulated[0], simulated[1])
			return
		}
	}
	tell := s.T.Logf
	if isStrict {
		tell = s.T.Errorf
	}
	tell("in %d tries (COMPARE_TIME makes it more) the real node did not show this:%v", try, unseen)
}

// place is a kind of node on which an operation is carried out.
type place struct {
	kind string
	// tags maps the tags of images that have another name here.
	tags map[string]string
}

var (
	onReal      = place{kind: "real", tags: map[string]string{"never-ready": "unready"}}
	onSimulated = place{kind: "kwok"}
)

// perform carries out the operation on one pod of the real node and on two pods of simulated nodes, concurrently, and returns what was read of
// them.
func (s *space) perform(operation operation, try int) (*recording, []*recording, error) {
	ctx, cancel := context.WithTimeout(s.T.Context(), harness.Patience)
	defer cancel()
	var all sync.WaitGroup
	var failures [3]error
	recordings := []*recording{{}, {}, {}}
	for i, place := range []place{onReal, onSimulated, onSimulated} {
		actor := &actor{place: place, recording: recordings[i], ctx: ctx, space: s.Name, name: fmt.Sprintf("%s-%d-%d", place.kind, try, i)}
		all.Go(func() { failures[i] = actor.perform(operation) })
	}
	all.Wait()
	return recordings[0], recordings[1:], errors.Join(failures[:]...)
}

// actor carries out an operation on one pod and records the results.
type actor struct {
	place
	*recording
	ctx         context.Context
	space, name string
}

func (a *actor) perform(operation operation) error {
	pods := shared.kube.CoreV1().Pods(a.space)
	events, err := pods.Watch(a.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + a.name})
	if err != nil {
		return err
	}
	defer events.Stop()
	pod := a.pod()
	if operation.pod != nil {
		operation.pod(a, pod)
	}
	written, err := pods.Create(a.ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	// The next try needs the room. The recording is enough to investigate a failure.
	defer func() { _ = pods.Delete(context.Background(), a.name, metav1.DeleteOptions{}) }()
	starts := operation.starts
	if starts == nil {
		starts = serves
	}
	if err := a.follow(events, written, starts); err != nil {
		return fmt.Errorf("%s: start: %w", a.name, err)
	}
	for i, step := range operation.steps {
		if written, err = step.do(a); err == nil {
			err = a.follow(events, written, step.until)
		}
		if err != nil {
			return fmt.Errorf("%s: step %d: %w", a.name, i+1, err)
		}
	}
	return nil
}

// follow records until the reading satisfies a condition. Readings before the last write do not count; written is nil if the write was to another
// object.
func (a *actor) follow(events watch.Interface, written *corev1.Pod, until func(reading) bool) error {
	for {
		select {
		case <-a.ctx.Done():
			return errors.New("the pod did not reach the expected state in time")
		case event, open := <-events.ResultChan():
			pod, isPod := event.Object.(*corev1.Pod)
			if !open || !isPod {
				return fmt.Errorf("the watch has ended: %v", event.Object)
			}
			if event.Type == watch.Deleted {
				a.add(reading{gone: true})
			} else {
				a.read(pod)
			}
			if written != nil && pod.ResourceVersion == written.ResourceVersion {
				written = nil
			}
			if written == nil && len(a.readings) > 0 && until(a.last()) {
				a.ends = append(a.ends, len(a.readings)-1)
				return nil
			}
		}
	}
}

// pod returns the plain pod: one container of the web server without a probe, which exits with a code other than 0 when it is told to end.
func (a *actor) pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: a.name, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"type": a.kind}, TerminationGracePeriodSeconds: new(int64(5)),
			Tolerations: []corev1.Toleration{{Key: "kwok.x-k8s.io/node", Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "web", Image: "local/web:1", Env: []corev1.EnvVar{{Name: "EXIT_CODE", Value: "143"}},
			}},
		},
	}
}

// image returns the name of the image with a tag on this kind of node.
func (a *actor) image(tag string) string {
	if other, found := a.tags[tag]; found {
		tag = other
	}
	return "local/web:" + tag
}
