package scenarios

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

const (
	// refusalTime is how long pods are refused. mostDoomed is the largest number of refused creates in that time, mostDoomedLater that in its
	// second half: the time between two tries has to grow. (On a busy machine it is long in any case.) mostEvents is the largest number of
	// writes of events.
	refusalTime     = 10 * time.Second
	mostDoomed      = 20
	mostDoomedLater = 4
	mostEvents      = 20
	// toldTime is how long it may take until the status says why there are no pods.
	toldTime = 30 * time.Second
	// standstill is the longest time without a new pod after the refusal. It may be somewhat longer than the refusal: a controller that
	// doubles the time between two tries waits no longer than that.
	standstill = 15 * time.Second
)

// refusal is a rule by which the API server refuses pods.
type refusal struct {
	name string
	// words are a part of the API server's message.
	words string
	// allowed is how many pods the rule admits.
	allowed int
	impose  func(a scene) (lift func())
}

func quota(a scene) {
	replicas, allowed := 500, 5+a.Random.IntN(100)
	if a.Short {
		replicas, allowed = 60, 5
	}
	a.Start()
	a.refuse(replicas, refusal{name: "quota", words: "exceeded quota", allowed: allowed, impose: func(a scene) func() {
		return a.imposeQuota(a.Namespace, allowed)
	}})
	a.StayQuiet()
	a.Judge()
}

func admission(a scene) {
	a.Start()
	for _, r := range []refusal{
		{name: "security", words: "violates PodSecurity", impose: scene.imposePodSecurity},
		{name: "policy", words: "no pods today", impose: scene.imposePolicy},
	} {
		a.refuse(20, r)
	}
	a.StayQuiet()
	a.Judge()
}

// refuse creates an owner whose pods are refused for a while, and checks how many requests the controller makes, what the status says,
// and that all pods are created afterwards.
func (a scene) refuse(replicas int, r refusal) {
	lift := r.impose(a)
	defer lift()
	log, began := a.AuditFromNow(), time.Now()
	a.Create(r.name, replicas, arena.OwnerOptions{})
	a.expect("I5", r.name, "the condition ReplicaFailure to say why there are no pods", toldTime, func() (string, bool) {
		message := a.condition(r.name, "ReplicaFailure")
		return message, strings.Contains(message, r.words)
	})
	lab.Pause(a.Ctx, time.Until(began.Add(refusalTime/2)))
	later := a.AuditFromNow()
	lab.Pause(a.Ctx, time.Until(began.Add(refusalTime)))
	a.boundRefusals(r, log)
	if doomed, _ := a.countRefusals(later); doomed > mostDoomedLater {
		a.Violate(faults.Violation{Invariant: "I3", Object: r.name + " later creates",
			What: fmt.Sprintf("%s: %d refused creates in the second half of %v, more than %d", r.name, doomed, refusalTime, mostDoomedLater)})
	}
	lift()
	lifted := time.Now()
	a.expectGrowth(r.name, replicas, max(standstill, lifted.Sub(began)+standstill/3))
	a.awaitCalm()
	a.Run.Converged(time.Since(lifted))
	if message := a.condition(r.name, "ReplicaFailure"); message != "" {
		a.Violate(faults.Violation{Invariant: "I5", Object: r.name, What: r.name + " has all pods, and still says: " + message})
	}
}

// boundRefusals checks how many creates were refused. Batches that double may waste as many requests as succeeded before, and each
// admitted pod may cause an event.
func (a scene) boundRefusals(r refusal, log *audit.Log) {
	doomed, events := a.countRefusals(log)
	a.Logf("%s: %d refused creates, %d writes of events in %v", r.name, doomed, events, refusalTime)
	if most := mostDoomed + r.allowed; doomed > most {
		a.Violate(faults.Violation{Invariant: "I3", Object: r.name + " creates",
			What: fmt.Sprintf("%s: %d refused creates in %v, more than %d", r.name, doomed, refusalTime, most)})
	}
	if most := mostEvents + r.allowed; events > most {
		a.Violate(faults.Violation{Invariant: "I3", Object: r.name + " events",
			What: fmt.Sprintf("%s: %d writes of events in %v, more than %d", r.name, events, refusalTime, most)})
	}
}

// countRefusals counts the refused creates, and the writes of events, since a time.
func (a scene) countRefusals(since *audit.Log) (doomed, events int) {
	for _, request := range a.NextWrites(since) {
		switch {
		case request.ObjectRef.Resource == "events":
			events++
		case request.What() == "create pods" && request.ResponseStatus.Code >= http.StatusBadRequest:
			doomed++
		}
	}
	return doomed, events
}

// expectGrowth waits until an owner has all its pods. The creates may take long, but the controller must not stand still.
func (a scene) expectGrowth(name string, replicas int, limit time.Duration) {
	began, most, since := time.Now(), 0, time.Now()
	for most < replicas {
		if n := len(a.PodsOf(name)); n > most {
			most, since = n, time.Now()
		}
		if a.IsOver(since, limit) {
			a.Violate(faults.Violation{Invariant: "I3", Object: name + " growth",
				What: fmt.Sprintf("%s has %d of %d pods, and no new one for %v although nothing refuses pods any more", name, most, replicas, limit)})
			return
		}
		if !lab.Pause(a.Ctx, 200*time.Millisecond) {
			return
		}
	}
	a.Logf("%s has all pods %v after the refusal", name, time.Since(began).Round(time.Millisecond))
}

// unsuccessful are the requests that were answered with an error, except for conflicts with somebody who was faster.
func unsuccessful(requests []audit.Request) []audit.Request {
	return slices.DeleteFunc(requests, func(r audit.Request) bool {
		code := r.ResponseStatus.Code
		return code < http.StatusBadRequest || code == http.StatusNotFound || code == http.StatusConflict
	})
}

// conditions are the messages of an owner's conditions, by type.
func (a scene) conditions(name string) map[string]string {
	var found map[string]string
	a.Insist(func() error {
		owners, err := a.Contender.Owners(a.Ctx, a.Namespace)
		for _, o := range owners {
			if o.Name == name {
				found = o.Conditions
			}
		}
		return err
	})
	return found
}

// condition is the message of a condition; empty if there is none.
func (a scene) condition(name, kind string) string { return a.conditions(name)[kind] }

// expect polls until a condition holds. If it does not hold in time, expect records a violation, and the run goes on.
func (a scene) expect(invariant, object, what string, limit time.Duration, holds func() (seen string, ok bool)) bool {
	for began := time.Now(); ; {
		seen, ok := holds()
		if ok {
			return true
		}
		if a.IsOver(began, limit) || !lab.Pause(a.Ctx, 100*time.Millisecond) {
			a.Violate(faults.Violation{Invariant: invariant, Object: object, What: fmt.Sprintf("%s: waited %v for %s; seen: %s", object, limit, what, seen)})
			return false
		}
	}
}
