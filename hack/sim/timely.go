package sim

import (
	"net/http"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// aftermath is how long a fault may have effects after it has ended.
	aftermath = time.Minute
	// observedWithin is how long it may take until a user's edit is observed while there are no faults.
	observedWithin = 8 * time.Second
	// heardWithin is how long the event of an action may take.
	heardWithin = 2 * time.Minute
)

// stopping is the fault of a process that is told to stop: its PodManagers wait for the next process, but no event is lost.
const stopping = "stopping"

// timely tracks what is due, and the faults that may delay it.
type timely struct {
	// troubles has the time at which the faults in a namespace end. The key "" stands for all namespaces, and the key stopping for processes that are
	// told to stop.
	troubles map[string]time.Time
	// heard has the time at which an event last reported the creation of a pod. If there were more pods than the event names, the key is the namespace.
	heard map[string]time.Time
}

func newTimely() timely { return timely{map[string]time.Time{}, map[string]time.Time{}} }

// trouble records a fault in a namespace, or in all of them for "".
func (j *judge) trouble(where string, until time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if until.After(j.timely.troubles[where]) {
		j.timely.troubles[where] = until
	}
}

// isTroubled reports whether there has been a fault since a time.
func (t *timely) isTroubled(since time.Time, where ...string) bool {
	for _, place := range where {
		if until, found := t.troubles[place]; found && !until.Before(since) {
			return true
		}
	}
	return false
}

// expectObserved expects the controller to observe a user's edit soon. The caller holds the lock.
func (j *judge) expectObserved(known *managed, manager *v1.PodManager) {
	edited := time.Now()
	j.c.running.Go(func() {
		if !pause(j.c.ctx, observedWithin) {
			return
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		if known.isGone || known.latest == nil || known.latest.DeletionTimestamp != nil || known.latest.Status.ObservedGeneration >= manager.Generation ||
			j.timely.isTroubled(edited.Add(-aftermath), "", stopping, manager.Namespace) {
			return
		}
		j.violate("%s: generation %d is not observed after %v, although there was no fault since, nor in the %v before", known.key, manager.Generation,
			observedWithin, aftermath)
	})
}

// answered handles the answer that a process gets.
func (j *judge) answered(by *line, r *apiserver.Request, status int) {
	switch {
	case r.Resource == nil || r.Verb != "create" || r.Subresource != "":
	case r.Resource.Name == "events" && (status == http.StatusCreated || status == http.StatusConflict):
		// An event's name contains the time. In a simulation, time stands still while a process acts, so two events may get the same name, and the API
		// server refuses the second one.
		j.hearEvent(r)
	case r.Resource.Name == "pods" && status == http.StatusCreated:
		j.expectEvent(by, r)
	}
}

// expectEvent expects an event about a pod that a process has created, if the process got the answer.
func (j *judge) expectEvent(by *line, r *apiserver.Request) {
	began, pod := time.Now(), r.Namespace+nameIn(r)
	j.c.running.Go(func() {
		if !pause(j.c.ctx, heardWithin) {
			return
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		isHeard := !j.timely.heard[pod].Before(began) || !j.timely.heard[r.Namespace].Before(began)
		if isHeard || j.wasRewound || j.timely.isTroubled(began.Add(-aftermath), "") {
			return
		}
		j.violate("no event reports that %s has created %s", by.name, pod)
	})
}

// hearEvent handles an event.
func (j *judge) hearEvent(r *apiserver.Request) {
	event, isEvent := r.Sent().(*eventsv1.Event)
	if !isEvent {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	namespace := event.Regarding.Namespace
	j.pace.hear(namespace+"/"+event.Regarding.Name, event.Note)
	if event.Reason != v1.EventCreated {
		return
	}
	for _, word := range strings.FieldsFunc(event.Note, func(r rune) bool { return strings.ContainsRune(" ,:", r) }) {
		j.timely.heard[namespace+"/"+word] = time.Now()
	}
	if strings.HasSuffix(event.Note, " more") {
		j.timely.heard[namespace] = time.Now()
	}
}

// hearConditions handles the conditions of a status. The caller holds the lock.
func (j *judge) hearConditions(key string, conditions []metav1.Condition) {
	for _, condition := range conditions {
		j.pace.hear(key, condition.Message)
	}
}
