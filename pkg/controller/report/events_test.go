package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/syncstate"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

var web = cache.ObjectName{Namespace: "ns", Name: "web"}

// quota returns the outcome of a sync in which a quota refuses to let a pod be created. Each sync finds another version of the PodManager, because
// the sync before it has written the status.
func quota(version, pod, used int) *reconcile.Outcome {
	done := &reconcile.Outcome{Manager: plantest.Manager(3)}
	done.Manager.ResourceVersion = fmt.Sprint(version)
	done.AddFailure(requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden, Message: fmt.Sprintf(
		`creating pod web-%d: pods "web-%[1]d" is forbidden: exceeded quota: small, requested: pods=1, used: pods=%d, limited: pods=3`, pod, used)}, nil)
	return done
}

// held returns the outcome of a later sync that sends no request, because creates are in backoff, and reports the failure again.
func held(done *reconcile.Outcome) *reconcile.Outcome {
	return &reconcile.Outcome{Manager: done.Manager, Failure: done.Failure}
}

// spy records the events that are sent to client-go: the version of the object, and a part of the note.
type spy struct{ sent []string }

func (s *spy) Eventf(regarding, _ runtime.Object, _, reason, _, _ string, args ...any) {
	_, rest, _ := strings.Cut(fmt.Sprint(args...), "forbidden: ")
	s.sent = append(s.sent, fmt.Sprintf("%s %s: %.14s", regarding.(*corev1.ObjectReference).ResourceVersion, reason, rest))
}

// If a refusal is repeated, all its events are about the same version of the object, so that client-go merges and counts them. The message may name
// another pod or other amounts each time. A different refusal is another event, and so is the same refusal after a success.
func TestRefusalIsOneEvent(t *testing.T) {
	security := func(version int) *reconcile.Outcome {
		done := quota(version, 0, 0)
		done.Failure.Message = `pods "web-0" is forbidden: violates PodSecurity`
		return done
	}
	deletion := func(version int) *reconcile.Outcome {
		done := quota(version, 0, 0)
		done.Failure.Condition = v1.ReasonFailedDelete
		return done
	}
	recreated := quota(20, 3, 3)
	recreated.Manager.UID = "another"
	success := &reconcile.Outcome{Manager: plantest.Manager(3)}
	tests := map[string]struct {
		syncs []*reconcile.Outcome
		want  string
	}{
		"once":                       {[]*reconcile.Outcome{quota(10, 3, 3)}, "10 FailedCreate: exceeded quota"},
		"again and again":            {[]*reconcile.Outcome{quota(10, 3, 3), quota(11, 3, 3), quota(12, 3, 3)}, "10 FailedCreate: exceeded quota|10 FailedCreate: exceeded quota|10 FailedCreate: exceeded quota"},
		"for other pods and amounts": {[]*reconcile.Outcome{quota(10, 3, 3), quota(11, 4, 2), quota(12, 17, 3)}, "10 FailedCreate: exceeded quota|10 FailedCreate: exceeded quota|10 FailedCreate: exceeded quota"},
		"in backoff":                 {[]*reconcile.Outcome{quota(10, 3, 3), held(quota(11, 3, 3)), held(quota(12, 3, 3))}, "10 FailedCreate: exceeded quota"},
		"in backoff, after a restart of the controller": {[]*reconcile.Outcome{held(quota(10, 3, 3))}, "10 FailedCreate: exceeded quota"},
		"another one": {[]*reconcile.Outcome{quota(10, 3, 3), security(11), security(12)}, "10 FailedCreate: exceeded quota|11 FailedCreate: violates PodSe|11 FailedCreate: violates PodSe"},
		"two in turn": {[]*reconcile.Outcome{quota(10, 3, 3), security(11), quota(12, 3, 3), deletion(13), security(14), deletion(15)},
			"10 FailedCreate: exceeded quota|11 FailedCreate: violates PodSe|10 FailedCreate: exceeded quota|13 FailedDelete: exceeded quota|11 FailedCreate: violates PodSe|13 FailedDelete: exceeded quota"},
		"after a success": {[]*reconcile.Outcome{quota(10, 3, 3), success, quota(12, 3, 3)}, "10 FailedCreate: exceeded quota|12 FailedCreate: exceeded quota"},
		"of a new object": {[]*reconcile.Outcome{quota(10, 3, 3), recreated}, "10 FailedCreate: exceeded quota|20 FailedCreate: exceeded quota"},
		"nothing to tell": {[]*reconcile.Outcome{success}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			sent := &spy{}
			r := &Reporter{Deps: reconcile.Deps{States: syncstate.New()}, recorder: &recorder{EventRecorder: sent}}
			for _, done := range test.syncs {
				r.reportFailure(ctx, web, done)
			}
			if got := strings.Join(sent.sent, "|"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// notes records the notes of events that are sent to client-go.
type notes []string

func (n *notes) Eventf(_, _ runtime.Object, _, _, _, _ string, args ...any) {
	*n = append(*n, fmt.Sprint(args...))
}

// The event about disrupted pods says why the first of them was disrupted, and counts the others.
func TestDisruptedPods(t *testing.T) {
	var creations []plan.Creation
	done := &reconcile.Outcome{Manager: plantest.Manager(3)}
	for i, want := range []string{
		"Replaced pod web-0: web-0 was disrupted: Preempting",
		"Replaced 2 pods: web-0, web-1: web-0 was disrupted: Preempting; so was 1 more",
		"Replaced 3 pods: web-0, web-1, web-2: web-0 was disrupted: Preempting; so were 2 more",
	} {
		preempted := plantest.Pod(i, plantest.Phase(corev1.PodFailed), func(p *corev1.Pod) { p.Status.Reason = "Preempting" })
		creations = append(creations, plan.Creation{Index: 3 + i, Failed: preempted})
		done.Created = append(done.Created, plantest.Pod(3+i))
		var sent notes
		r := &Reporter{recorder: &recorder{EventRecorder: &sent}}
		r.reportDisruptions(creations, done)
		if !slices.Equal(sent, notes{want}) {
			t.Errorf("got %q, want %q", sent, want)
		}
	}
}

// An event about pods that are updated in place reads as a sentence, however many pods there are.
func TestUpdatedPods(t *testing.T) {
	tests := map[string]struct {
		step inplace.Step
		pods int
		want string
	}{
		"one pod":                {inplace.StepUpdate, 1, "Updated in place: pod web-0"},
		"several pods":           {inplace.StepUpdate, 3, "Updated in place: 3 pods: web-0, web-1, web-2"},
		"one pod out of service": {inplace.StepDrain, 1, "Took out of service for an update in place: pod web-0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			done := &reconcile.Outcome{Manager: plantest.Manager(3), Updated: map[inplace.Step][]*corev1.Pod{}}
			for i := range test.pods {
				done.Updated[test.step] = append(done.Updated[test.step], plantest.Pod(i))
			}
			var sent notes
			r := &Reporter{Deps: reconcile.Deps{States: syncstate.New()}, recorder: &recorder{EventRecorder: &sent}}
			r.reportEvents(ctx, web, plan.Plan{}, done)
			if !slices.Equal(sent, notes{test.want}) {
				t.Errorf("got %q, want %q", sent, test.want)
			}
		})
	}
}

// written is an API server that records the writes of events.
type written struct{ calls chan string }

func (w written) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	w.calls <- "create " + event.Note
	return event, nil
}

func (w written) Update(context.Context, *eventsv1.Event) (*eventsv1.Event, error) { panic("not used") }

func (w written) Patch(_ context.Context, event *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	w.calls <- fmt.Sprintf("count %d of %s", event.Series.Count, event.Note)
	return event, nil
}

// client-go turns the events of a refusal that does not change into one event with a series.
func TestRefusalIsCounted(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	server := written{make(chan string)}
	recorder, err := newRecorder(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.stop()
	r := &Reporter{Deps: reconcile.Deps{States: syncstate.New()}, recorder: recorder}
	first := quota(10, 3, 3)
	for _, step := range []struct {
		done *reconcile.Outcome
		want string
	}{
		{first, "create " + first.Failure.Message},
		{quota(11, 4, 2), "count 2 of " + first.Failure.Message},
	} {
		r.reportFailure(ctx, web, step.done)
		if got := <-server.calls; got != step.want {
			t.Fatalf("got %s\nwant %s", got, step.want)
		}
	}
}
