package plan

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// world is a cluster with one PodManager, in as much detail as the planner sees: an API server that may fail, nodes
// (property_node_test.go), and people (property_people_test.go).
type world struct {
	*rand.Rand
	now       time.Time
	manager   *v1.PodManager
	pods      []*corev1.Pod
	revisions []*appsv1.ControllerRevision
	holds     map[HoldKey]Hold
	// remembered is what the last plan asked for, as long as nobody restarts the controller.
	remembered []*Revision
	// restarted tells that somebody has.
	restarted bool
	// nodes has what the node of each pod runs, which its status may not tell yet.
	nodes map[types.UID]*onItsNode
	// templates are all that the spec has had.
	templates []*corev1.PodTemplateSpec
	// oldNodes do not tell which generation of a pod they have seen.
	oldNodes bool
	// resizePolicy is that of all templates: another one would be in the way of changes in place.
	resizePolicy []corev1.ContainerResizePolicy
	// calm means that nothing fails any more.
	calm bool
	// made counts pods, for their UIDs.
	made int
	// again is when the last sync asked for the next one.
	again LookAgain
	// tell gets a line for each step; nil to save the time.
	tell func(format string, args ...any)
}

func (w *world) chance(p float64) bool { return w.Float64() < p }

// fails tells whether a request is to fail.
func (w *world) fails(p float64) bool { return !w.calm && w.chance(p) }

func (w *world) stamp() metav1.Time { return metav1.NewTime(w.now.Truncate(time.Second)) }

func (w *world) say(format string, args ...any) {
	if w.tell != nil {
		w.tell(format, args...)
	}
}

func (w *world) observe() Observed {
	o := Observed{Manager: w.manager, Revisions: w.revisions, Holds: w.holds, Remembered: w.remembered, Now: w.now}
	named := make(map[string]*corev1.Pod, len(w.pods))
	for _, p := range w.pods {
		named[p.Name] = p
		if metav1.IsControlledBy(p, w.manager) {
			o.Pods = append(o.Pods, p)
		} else if p.Labels[v1.LabelManager] == w.manager.Name {
			o.Orphans = append(o.Orphans, p)
		}
	}
	o.PodNamed = func(name string) *corev1.Pod { return named[name] }
	return o
}

// sync does what the controller does. It tells whether anything came of it.
func (w *world) sync(check func(Observed, Plan) error) (busy bool, err error) {
	o := w.observe()
	plan := Make(o)
	if w.tell != nil { // it takes a while
		w.say("%s", describe(w, plan))
	}
	if err := check(o, plan); err != nil {
		return false, err
	}
	failure := w.apply(plan)
	status, again := Status(Report{
		Manager: w.manager, Plan: plan, Pods: w.observe().Pods, Changed: !plan.Empty(), Failure: failure, Now: w.now,
	})
	if err := w.checkCurrent(&status); err != nil {
		return false, err
	}
	w.again = plan.Again.Sooner(again)
	for i := range status.Conditions { // as they come back from the API server
		status.Conditions[i].LastTransitionTime.Time = status.Conditions[i].LastTransitionTime.Truncate(time.Second)
	}
	differs := StatusDiffers(&w.manager.Status, &status)
	if differs && !w.fails(0.2) {
		w.manager = w.manager.DeepCopy()
		w.manager.Status = status
		w.say("  status %s: %s, current %s, failed %s", reasonOf(&status, v1.ConditionReady), messageOf(&status, v1.ConditionReady),
			status.CurrentRevision, status.FailedRevision)
	}
	return differs || !plan.Empty(), nil
}

// apply carries out a plan as far as it goes, in the order of the controller.
func (w *world) apply(plan Plan) *Failure {
	failure := plan.Held
	if plan.AddFinalizer || plan.RemoveFinalizer {
		w.manager = w.manager.DeepCopy()
		w.manager.Finalizers = nil
		if plan.AddFinalizer {
			w.manager.Finalizers = []string{v1.Finalizer}
		}
	}
	w.remembered = plan.Remember
	if w.fails(0.03) {
		w.remembered, w.restarted = nil, true // another process goes on
	}
	for _, store := range plan.Store {
		if w.fails(0.1) {
			return &Failure{Condition: v1.ReasonFailedStore, Message: "no answer"}
		}
		w.revisions = slices.DeleteFunc(slices.Clone(w.revisions), func(r *appsv1.ControllerRevision) bool { return r.Name == store.Revision.Name })
		w.revisions = append(w.revisions, store.Revision)
		store.Done(store.Revision)
	}
	for _, p := range plan.Release {
		if MustOpenFirst(p) {
			w.change(InPlace{Pod: p, Step: StepOpen})
		}
		p.OwnerReferences = nil
	}
	for _, p := range plan.Adopt {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.manager, v1.GroupVersionKind)}
	}
	for _, change := range plan.Change {
		if w.fails(0.1) {
			failure = &Failure{Condition: v1.ReasonFailedChange, Message: "no answer"}
			continue
		}
		w.change(change)
	}
	deleted := true
	for _, deletion := range plan.Delete {
		if w.fails(0.05) {
			failure, deleted = &Failure{Condition: v1.ReasonFailedDelete, Message: "no answer"}, false
			continue
		}
		w.remove(deletion.Pod)
	}
	if deleted {
		for _, creation := range plan.Create {
			if refused := w.create(creation); refused != nil {
				failure = refused
				break
			}
		}
	}
	w.revisions = slices.DeleteFunc(slices.Clone(w.revisions), func(r *appsv1.ControllerRevision) bool { return slices.Contains(plan.Drop, r) })
	return failure
}

// create makes a pod, unless that fails. A refusal holds up the next try, as the controller's memory does.
func (w *world) create(creation Creation) *Failure {
	hold := createHold(creation.Revision)
	if w.fails(0.08) {
		failure := Failed(v1.ReasonFailedCreate, errors.New("no answer"))
		if w.chance(0.5) {
			failure = Failed(v1.ReasonFailedCreate, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("quota")))
			w.holds[hold] = Hold{Until: w.now.Add(time.Duration(1+w.IntN(20)) * time.Second), Failure: failure}
		}
		w.say("  create of %d failed: %s", creation.Index, failure.Message)
		return &failure
	}
	delete(w.holds, hold)
	w.nodes[w.add(NewPod(w.manager, creation)).UID].guilty = creation.FailuresBefore > creation.DisruptionsBefore
	return nil
}

// add puts a new pod into the cluster.
func (w *world) add(p *corev1.Pod) *corev1.Pod {
	w.made++
	p.UID = types.UID("uid-" + strconv.Itoa(w.made))
	p.CreationTimestamp = w.stamp()
	p.Generation = 1
	p.Status.Phase = corev1.PodPending
	w.pods = append(w.pods, p)
	w.nodes[p.UID] = &onItsNode{}
	return p
}

// remove sends a pod away. One that has no node is gone at once.
func (w *world) remove(p *corev1.Pod) {
	if p.DeletionTimestamp == nil {
		p.DeletionTimestamp = &metav1.Time{Time: w.stamp().Time}
	}
	if p.Spec.NodeName == "" {
		w.forget(p)
	}
}

func (w *world) forget(p *corev1.Pod) {
	w.pods = without(w.pods, p)
	delete(w.nodes, p.UID)
}

// podPatch is what patches of pods have in them.
type podPatch struct {
	Metadata struct{ Labels, Annotations map[string]*string }
	Spec     struct {
		Containers []struct {
			Name, Image string
			Resources   *corev1.ResourceRequirements
		}
	}
	Status struct {
		Conditions []corev1.PodCondition
	}
}

// change applies the patches of a step, or refuses them.
func (w *world) change(change InPlace) {
	var patches [][]byte
	isNew, isFull := false, false // whether it begins, and whether it is all of a change
	collect := func(patch []byte, err error) {
		if err != nil {
			panic(err)
		}
		if patch != nil {
			patches = append(patches, patch)
		}
	}
	switch {
	case change.TurnsTheGate():
		collect(change.GatePatch(w.now))
	case change.Step == StepChange && w.manager.PodUpdatePolicy() == v1.InPlaceIfPossible && w.fails(0.05):
		// The resize may have gone through before.
		resized := w.chance(0.5) && len(change.Change().Resources) > 0
		w.say("  change of %s refused, resized: %v", change.Pod.Name, resized)
		collect(change.BeginPatch(w.now))
		if resized {
			collect(change.ResizePatch())
		}
		collect(change.RefusalPatch("no such thing", resized))
	default:
		collect(change.BeginPatch(w.now))
		isNew = len(patches) == 1
		collect(change.ResizePatch())
		collect(change.Patch(w.manager, w.now))
		isFull = true
	}
	for i, data := range patches {
		if i > 0 && w.fails(0.2) {
			w.say("  change of %s: interrupted after %d of %d patches", change.Pod.Name, i, len(patches))
			return
		}
		applyPatch(change.Pod, data)
		if isNew || isFull && i == len(patches)-1 {
			w.nodes[change.Pod.UID].changed = w.stamp().Time
		}
	}
}

// applyPatch changes a pod as the API server would.
func applyPatch(p *corev1.Pod, data []byte) {
	var patch podPatch
	if err := json.Unmarshal(data, &patch); err != nil {
		panic(err)
	}
	merge(&p.Labels, patch.Metadata.Labels)
	merge(&p.Annotations, patch.Metadata.Annotations)
	before := p.Spec.DeepCopy()
	for _, container := range patch.Spec.Containers {
		for i := range p.Spec.Containers {
			if own := &p.Spec.Containers[i]; own.Name == container.Name {
				if container.Image != "" {
					own.Image = container.Image
				}
				if container.Resources != nil {
					own.Resources = *container.Resources
				}
			}
		}
	}
	if !equality.Semantic.DeepEqual(before, &p.Spec) {
		p.Generation++
	}
	for _, c := range patch.Status.Conditions {
		setCondition(p, c)
	}
}

func merge(into *map[string]string, changes map[string]*string) {
	for key, value := range changes {
		if value == nil {
			delete(*into, key)
			continue
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[key] = *value
	}
}
