package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/world"
)

// start returns the initial state of the simulation and notes on its assumptions. The PodManager is the live one with the new spec.
func start(live snapshot.Snapshot, wanted *v1.PodManager, o Options) (world.Start, []string, error) {
	begin := world.Start{
		Manager: withStatus(live.Manager, wanted), Now: live.Now.Truncate(time.Second), // conditions have a resolution of one second
		Pods: slices.Concat(live.Pods, live.Orphans), Revisions: live.Stored,
	}
	var notes []string
	if live.Manager == nil {
		if len(live.Orphans) > 0 {
			notes = append(notes, names(live.Orphans)+" without a controller, and will be adopted")
		}
		return begin, notes, nil
	}
	// The controller keeps the first revision in memory and stores it later.
	begin.Remembered = []*history.Revision{live.Revisions().Update}
	if !live.Reads("controllerrevisions") || !live.Reads("pods") {
		notes = append(notes, "you may not read "+strings.Join(live.Missing, " and ")+
			" in this namespace, so the simulation derives them from spec and status, and assumes that such pods have been ready for long; "+
			"the role view gives the right")
		if err := assume(live, &begin); err != nil {
			return begin, nil, err
		}
	}
	return begin, append(notes, troubles(begin, o)...), nil
}

// withStatus returns the PodManager to simulate: the wanted spec with the status and identity of the live object.
func withStatus(live, wanted *v1.PodManager) *v1.PodManager {
	manager := wanted.DeepCopy()
	if live == nil {
		// The API server assigns a new UID on each dry run, and times may depend on the UID.
		manager.UID, manager.Generation, manager.Status = types.UID("simulated-"+manager.Name), 1, v1.PodManagerStatus{ObservedGeneration: -1}
		return manager
	}
	manager.UID, manager.Generation, manager.Status = live.UID, live.Generation, *live.Status.DeepCopy()
	manager.Namespace, manager.Finalizers, manager.DeletionTimestamp = live.Namespace, live.Finalizers, live.DeletionTimestamp
	if !sameSpec(live, wanted) {
		manager.Generation++
	}
	return manager
}

// assume fills in missing pods or revisions from the status. The PodManager must be at rest: otherwise the state of its pods and their revisions
// would be guesses.
func assume(live snapshot.Snapshot, begin *world.Start) error {
	status := &live.Manager.Status
	if !meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) || status.ObservedGeneration != live.Manager.Generation ||
		status.UpdatedReplicas != status.Replicas {
		return fmt.Errorf("%s is not Ready with all pods updated, so a simulation needs %s, which you may not read in namespace %s; %s",
			live.Manager.Name, strings.Join(live.Missing, " and "), live.Manager.Namespace, rights.ListRevisions.Advice(live.User, live.Manager.Namespace))
	}
	known := live.Revisions()
	if known.Update.Name != status.UpdateRevision {
		return fmt.Errorf("the revision of the pods is not known without reading %s; %s", strings.Join(live.Missing, " and "),
			rights.ListRevisions.Advice(live.User, live.Manager.Namespace))
	}
	if !live.Reads("controllerrevisions") && status.CurrentRevision == status.UpdateRevision {
		begin.Revisions = append(begin.Revisions, known.Update.ControllerRevision(live.Manager, 1))
	}
	if !live.Reads("pods") {
		for index := range int(status.Replicas) {
			begin.Pods = append(begin.Pods, assumedPod(live, known.Update, index))
		}
	}
	return nil
}

// assumedPod returns a pod that has been ready for an hour.
func assumedPod(live snapshot.Snapshot, revision *history.Revision, index int) *corev1.Pod {
	name, known := live.Manager.Name, live.Manager.Status.PodNames
	switch last := len(known) - 1; {
	case index <= last:
		index = podstate.IndexOf(name, known[index])
	case last >= 0: // the status names only the first hundred
		index += podstate.IndexOf(name, known[last]) - last
	}
	pod := plan.NewPod(live.Manager, plan.Creation{Index: index, Revision: revision})
	then := metav1.NewTime(live.Now.Add(-time.Hour).Truncate(time.Second))
	pod.UID, pod.Generation, pod.CreationTimestamp = types.UID("assumed-"+pod.Name), 1, then
	pod.Spec.NodeName = fmt.Sprintf("node-of-%s", pod.Name)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &then, ObservedGeneration: 1}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: then}}
	for _, gate := range pod.Spec.ReadinessGates {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: gate.ConditionType, Status: corev1.ConditionTrue, LastTransitionTime: then})
	}
	return pod
}

// troubles returns notes about pods that are not healthy now and are assumed to stay so.
func troubles(begin world.Start, o Options) []string {
	var unwell, ending []*corev1.Pod
	for _, pod := range begin.Pods {
		switch {
		case pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0:
			ending = append(ending, pod)
		case pod.DeletionTimestamp != nil || podstate.IsFinished(pod):
		case world.WillStayUnready(pod, o.ReadyAfter, begin.Now):
			unwell = append(unwell, pod)
		}
	}
	var notes []string
	if len(unwell) > 0 {
		notes = append(notes, names(unwell)+" not ready now, and assumed to stay so until replaced or changed")
	}
	if len(ending) > 0 {
		notes = append(notes, names(ending)+" kept by finalizers, and assumed to stay terminating")
	}
	return notes
}

// names returns the names of pods with a verb: "web-0 is", or "web-0, web-1 and 3 more are".
func names(pods []*corev1.Pod) string {
	list := make([]string, 0, len(pods))
	for _, pod := range pods {
		list = append(list, pod.Name)
	}
	slices.SortFunc(list, podstate.ByIndex)
	if len(list) == 1 {
		return list[0] + " is"
	}
	return enumerate(list) + " are"
}
