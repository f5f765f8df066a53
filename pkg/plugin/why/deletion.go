package why

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// mostTerminating is the number of terminating pods that an answer names.
const mostTerminating = 3

func hasFinalizer(s snapshot.Snapshot, name string) bool {
	return slices.Contains(s.Manager.Finalizers, name)
}

// deletionCause returns the cause for a PodManager that is being deleted: its pods keep it, or only its finalizers.
func deletionCause(s snapshot.Snapshot) cause {
	isLastPodGone := s.Reads("pods") && len(s.Pods) == 0
	isForPods := hasFinalizer(s, metav1.FinalizerDeleteDependents) || hasFinalizer(s, v1.Finalizer) && s.Manager.PacesScaleDown()
	switch {
	case hasFinalizer(s, metav1.FinalizerOrphanDependents):
		return cause{"The PodManager is being deleted, and waits until the garbage collector has released its pods", listPods}
	case len(s.Manager.Finalizers) > 0 && (isLastPodGone || !isForPods):
		return cause{"The PodManager is being deleted, and waits for its finalizers", whoKeepsIt}
	default:
		return causeOf(v1.ReasonTerminating)
	}
}

// whoKeepsIt suggests commands for finalizers that do not wait for pods: is the controller running, what else belongs to the PodManager, and which
// client has set the finalizer?
func whoKeepsIt(s snapshot.Snapshot, a Answer) (commands []string) {
	for _, finalizer := range s.Manager.Finalizers {
		switch finalizer {
		case v1.Finalizer:
			commands = append(commands, verb("check")(s, a)...)
		case metav1.FinalizerDeleteDependents:
			commands = append(commands, "kubectl get controllerrevisions -l "+v1.LabelManager+"="+s.Manager.Name)
		default:
			show := "kubectl get pm " + s.Manager.Name + " -o yaml --show-managed-fields"
			if !slices.Contains(commands, show) {
				commands = append(commands, show)
			}
		}
	}
	return commands
}

// addDeletion adds what a PodManager that is being deleted waits for: its finalizers, and the pods that still exist.
func (a *Answer) addDeletion(s snapshot.Snapshot) {
	if s.Manager.DeletionTimestamp == nil {
		return
	}
	for _, finalizer := range s.Manager.Finalizers {
		a.say("finalizer %s: %s", finalizer, untilRemoved(s, finalizer))
	}
	active, finished, terminating := podstate.Split(s.Pods)
	for i, pod := range terminating {
		if i == mostTerminating {
			a.say("further terminating pods: %d", len(terminating)-i)
			break
		}
		kept := ""
		if len(pod.Finalizers) > 0 {
			kept = "; finalizers: " + strings.Join(pod.Finalizers, ", ")
		}
		if isSaid := slices.ContainsFunc(a.Evidence, func(said string) bool { return strings.HasPrefix(said, "pod "+pod.Name+": ") }); !isSaid {
			a.say("pod %s: terminating, %s%s", pod.Name, s.StateOf(pod, nil).Detail, kept)
		}
	}
	switch left := len(active) + len(finished); {
	case left == 0:
	case hasFinalizer(s, metav1.FinalizerOrphanDependents):
		a.say("pods that are not released yet: %d", left)
	default:
		a.say("pods that are not terminating yet: %d", left)
	}
}

// untilRemoved says which client removes a finalizer, and when.
func untilRemoved(s snapshot.Snapshot, finalizer string) string {
	switch {
	case finalizer == v1.Finalizer && s.Manager.PacesScaleDown() && !hasFinalizer(s, metav1.FinalizerOrphanDependents):
		return "the controller removes it when all pods are gone"
	case finalizer == v1.Finalizer:
		return "the controller removes it when all pods are back in their Services"
	case finalizer == metav1.FinalizerDeleteDependents:
		return "the garbage collector removes it when all pods and revisions are gone"
	case finalizer == metav1.FinalizerOrphanDependents:
		return "the garbage collector removes it when no pod and no revision has this owner any more"
	default:
		return "the client that has set it has to remove it"
	}
}
