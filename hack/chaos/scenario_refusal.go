package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mycompany/podmanager/hack/faults"
	"github.com/mycompany/podmanager/hack/lab"
)

// ruleScenarios are about what the cluster does not allow, what ends, and what must not be there at all.
func ruleScenarios() []scenario {
	return []scenario{
		{name: "quota", about: "a quota lets only a few of many pods in, and is lifted after 10 s",
			short: true, do: quota},
		{name: "admission", about: "Pod Security, then an admission policy refuses all pods, and is lifted after 10 s", do: admission},
		{name: "failing-pods", about: "every pod fails as soon as it is ready, for a minute", do: failingPods},
		{name: "namespace-terminating", about: "the namespace is deleted in the middle of a scale-up", do: namespaceTerminating},
		{name: "finalizer", about: "the controller is killed before and after every write of a deletion: foreground, background and orphan",
			short: true, limit: 10 * time.Minute, do: deletionWithCrashes},
		{name: "etcd-restore", about: "etcd is put back to an older state, so that versions go back and are used again",
			alone: true, limit: 6 * time.Minute, do: etcdRestore},
		{name: "poison", about: "objects that cannot be decoded, and valid ones with extreme values, beside others that have to go on",
			alone: true, oursOnly: true, do: poison},
		{name: "every-field", about: "every field of the spec gets valid and invalid values, each followed by the way back",
			oursOnly: true, limit: 6 * time.Minute, do: everyField},
	}
}

const (
	// refusalTime is how long pods are refused. In that time there may be so many creates that are bound to fail, and
	// so many writes of events.
	refusalTime = 10 * time.Second
	mostDoomed  = 20
	mostEvents  = 20
	// standstill is how long no pod may come once the way is free.
	standstill = 15 * time.Second
)

// refusal is a rule that keeps pods from being made.
type refusal struct {
	name string
	// words are in what the API server says.
	words string
	// allowed is how many pods may be made all the same.
	allowed int
	impose  func(a *arena) (lift func())
}

func quota(a *arena) {
	replicas, allowed := 500, 5+a.random.IntN(100)
	if a.short {
		replicas, allowed = 60, 5
	}
	a.start()
	a.refuse(replicas, refusal{name: "quota", words: "exceeded quota", allowed: allowed, impose: func(a *arena) func() {
		return a.imposeQuota(a.namespace, allowed)
	}})
	a.stayQuiet()
	a.judge()
}

func admission(a *arena) {
	a.start()
	for _, r := range []refusal{
		{name: "security", words: "violates PodSecurity", impose: (*arena).imposePodSecurity},
		{name: "policy", words: "no pods today", impose: (*arena).imposePolicy},
	} {
		a.refuse(20, r)
	}
	a.stayQuiet()
	a.judge()
}

// refuse has pods wanted that are refused for a while, and looks what that costs, what is said about it, and what comes
// after.
func (a *arena) refuse(replicas int, r refusal) {
	lift := r.impose(a)
	defer lift()
	log, began := a.auditFromNow(), time.Now()
	a.create(r.name, replicas, ownerOptions{})
	a.expect("I5", r.name, "ReplicaFailure to say why there are no pods", refusalTime, func() (string, bool) {
		message := a.condition(r.name, "ReplicaFailure")
		return message, strings.Contains(message, r.words)
	})
	lab.Pause(a.ctx, time.Until(began.Add(refusalTime)))
	a.boundRefusals(r, log)
	lift()
	lifted := time.Now()
	a.expectGrowth(r.name, replicas)
	a.awaitCalm()
	a.run.converged(time.Since(lifted))
	if message := a.condition(r.name, "ReplicaFailure"); message != "" {
		a.violate(faults.Violation{Invariant: "I5", Object: r.name, What: r.name + " has all pods, and still says: " + message})
	}
}

// boundRefusals looks how many requests were made that could not succeed. Batches that double may waste as many as went
// through before, and each pod that was allowed may be worth an event.
func (a *arena) boundRefusals(r refusal, log *auditLog) {
	doomed, events := 0, 0
	for _, request := range a.writesSince(log) {
		switch {
		case request.ObjectRef.Resource == "events":
			events++
		case request.Verb == "create" && request.ObjectRef.Resource == "pods" && request.ResponseStatus.Code >= http.StatusBadRequest:
			doomed++
		}
	}
	a.logf("%s: %d doomed creates, %d writes of events in %v", r.name, doomed, events, refusalTime)
	if most := mostDoomed + r.allowed; doomed > most {
		a.violate(faults.Violation{Invariant: "I3", Object: r.name + " creates",
			What: fmt.Sprintf("%s: %d creates in %v that were bound to be refused, more than %d", r.name, doomed, refusalTime, most)})
	}
	if most := mostEvents + r.allowed; events > most {
		a.violate(faults.Violation{Invariant: "I3", Object: r.name + " events",
			What: fmt.Sprintf("%s: %d writes of events in %v, more than %d", r.name, events, refusalTime, most)})
	}
}

// expectGrowth waits until there are so many pods of an owner. However long the creates themselves take, there must be
// no standstill.
func (a *arena) expectGrowth(name string, replicas int) {
	began, most, since := time.Now(), 0, time.Now()
	for most < replicas {
		if n := a.podsOf(name); n > most {
			most, since = n, time.Now()
		}
		if time.Since(since) > standstill {
			a.violate(faults.Violation{Invariant: "I3", Object: name + " growth",
				What: fmt.Sprintf("%s has %d of %d pods, and no other has come for %v although nothing keeps it any more", name, most, replicas, standstill)})
			return
		}
		if !lab.Pause(a.ctx, 200*time.Millisecond) {
			return
		}
	}
	a.logf("%s has all pods %v after the way was free", name, time.Since(began).Round(time.Millisecond))
}

func (a *arena) podsOf(name string) int {
	count := 0
	for _, pod := range a.pods() {
		if pod.Labels[a.contender.selectorLabel()] == name {
			count++
		}
	}
	return count
}

func (a *arena) auditFromNow() *auditLog {
	log, err := auditNow(a.cluster.AuditLog)
	a.must(err)
	return log
}

func (a *arena) writesSince(log *auditLog) []request {
	writes, err := log.writes(a.contender.user(), a.namespace)
	a.must(err)
	return writes
}

// unsuccessful are the requests that were answered with an error, but for those that mean that somebody else was faster.
func unsuccessful(requests []request) []request {
	return slices.DeleteFunc(requests, func(r request) bool {
		code := r.ResponseStatus.Code
		return code < http.StatusBadRequest || code == http.StatusNotFound || code == http.StatusConflict
	})
}

// condition is the message of a condition that is true; empty if there is none.
func (a *arena) condition(name, kind string) string {
	path := fmt.Sprintf(`jsonpath={.status.conditions[?(@.type=="%s")].message}`, kind)
	out, err := a.cluster.Kubectl(a.ctx, "get", a.contender.resource(), name, "--namespace", a.namespace, "-o", path)
	a.must(err)
	return out
}

// expect polls until something holds. If it does not in time, that is a violation, and the run goes on.
func (a *arena) expect(invariant, object, what string, limit time.Duration, holds func() (seen string, ok bool)) bool {
	ctx, cancel := context.WithTimeout(a.ctx, limit)
	defer cancel()
	for {
		seen, ok := holds()
		if ok {
			return true
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			a.violate(faults.Violation{Invariant: invariant, Object: object, What: fmt.Sprintf("%s: waited %v for %s; seen: %s", object, limit, what, seen)})
			return false
		}
	}
}
