package world

import (
	"errors"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

var errNoAnswer = errors.New("no answer")

// Apply carries out a plan in the same order as the controller, until a request fails that the rest of the plan depends on.
func (w *World) Apply(decided plan.Plan) *requeue.Failure {
	if decided.AddFinalizer || decided.RemoveFinalizer {
		w.Manager = w.Manager.DeepCopy()
		w.Manager.Finalizers = nil
		if decided.AddFinalizer {
			w.Manager.Finalizers = []string{v1.Finalizer}
		}
	}
	w.updateHash, w.remembered = decided.Revisions.Update.Hash, decided.Remember
	if w.fails(0.03) {
		w.remembered = nil // another controller remembers nothing
		w.logf("  another controller takes over")
	}
	if !w.storeRevisions(decided.Store) {
		failure := requeue.Failed(v1.ReasonFailedStore, errNoAnswer)
		return &failure
	}
	for _, p := range decided.Release {
		if inplace.GateBlocksTraffic(p) {
			w.updatePod(inplace.Update{Pod: p, Step: inplace.StepOpen})
		}
		p.OwnerReferences = nil
	}
	for _, p := range decided.Adopt {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.Manager, v1.GroupVersionKind)}
	}
	failure := decided.Blocked
	for _, change := range decided.Update {
		if w.fails(0.1) {
			failed := requeue.Failed(v1.ReasonFailedInPlaceUpdate, errNoAnswer)
			failure = &failed
			continue
		}
		w.updatePod(change)
	}
	for _, p := range slices.Concat(decided.Adopt, decided.Annotate) {
		if podstate.NeedsSafeToEvict(p) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, podstate.AnnotationSafeToEvict, "true")
		}
	}
	if refused := w.deleteAndCreate(decided); refused != nil {
		failure = refused
	}
	w.Revisions = slices.DeleteFunc(slices.Clone(w.Revisions), func(r *appsv1.ControllerRevision) bool { return slices.Contains(decided.Drop, r) })
	for _, marked := range decided.Mark {
		w.Revisions = append(slices.DeleteFunc(w.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == marked.Name }), marked)
	}
	return failure
}

// deleteAndCreate deletes pods, and creates pods only if no delete failed, because creates depend on the deletes.
func (w *World) deleteAndCreate(decided plan.Plan) (failure *requeue.Failure) {
	for _, deletion := range decided.Delete {
		if w.fails(0.05) {
			failed := requeue.Failed(v1.ReasonFailedDelete, errNoAnswer)
			failure = &failed
			continue
		}
		w.churn++
		w.deletePod(deletion.Pod)
		if deletion.Force {
			w.removePod(deletion.Pod)
		}
	}
	if failure != nil {
		return failure
	}
	for _, creation := range decided.Create {
		if refused := w.createPod(creation); refused != nil {
			return refused
		}
	}
	for _, creation := range decided.Create { // a backoff ends only if no create is refused
		delete(w.backoffs, plan.CreateBackoff(creation.Revision))
	}
	return nil
}

// storeRevisions stores revisions, and reports whether no request failed.
func (w *World) storeRevisions(stores []history.Store) bool {
	for i := range stores {
		if w.fails(0.1) {
			return false
		}
		w.putRevisions(stores[i : i+1])
	}
	return true
}

// putRevisions creates or replaces revisions.
func (w *World) putRevisions(stores []history.Store) {
	for _, store := range stores {
		w.Revisions = slices.DeleteFunc(slices.Clone(w.Revisions), func(r *appsv1.ControllerRevision) bool { return r.Name == store.Revision.Name })
		w.Revisions = append(w.Revisions, store.Revision)
		store.Done(store.Revision)
	}
}

// createPod creates a pod, unless the request fails. A refusal starts a backoff, as in the controller.
func (w *World) createPod(creation plan.Creation) *requeue.Failure {
	key := plan.CreateBackoff(creation.Revision)
	if refused := w.refuse(key, creation); refused != nil {
		return refused
	}
	if w.fails(0.08) {
		failure := requeue.Failed(v1.ReasonFailedCreate, errNoAnswer)
		if w.chance(0.5) {
			failure = requeue.Failed(v1.ReasonFailedCreate, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("quota")))
			w.backoffs[key] = requeue.Backoff{Until: w.Now.Add(time.Duration(1+w.dice.IntN(20)) * time.Second), Failure: failure}
		}
		w.logf("  create of %d failed: %s", creation.Index, failure.Message)
		return &failure
	}
	w.churn++
	w.templateByHash[creation.Revision.Hash] = creation.Revision.Template()
	p := w.addPod(plan.NewPod(w.Manager, creation))
	w.inheritBlame(p, creation)
	w.decideFate(p)
	return nil
}

// addPod adds a new pod to the cluster.
func (w *World) addPod(p *corev1.Pod) *corev1.Pod {
	w.podCount++
	p.UID = types.UID("uid-" + strconv.Itoa(w.podCount))
	p.CreationTimestamp = w.now()
	p.Generation = 1
	p.Status.Phase = corev1.PodPending
	w.Pods = append(w.Pods, p)
	w.hidden[p.UID] = &hiddenState{State: w.Nodes.Add(p)}
	return p
}

// deletePod makes a pod terminate. A pod without a node is gone at once.
func (w *World) deletePod(p *corev1.Pod) {
	w.loseBlame(p)
	if p.DeletionTimestamp == nil {
		p.DeletionTimestamp = &metav1.Time{Time: w.now().Time}
		w.hidden[p.UID].stuck = w.fails(0.03)
		w.scheduleEnd(p)
	}
	if p.Spec.NodeName == "" {
		w.removePod(p)
	}
}

func (w *World) removePod(p *corev1.Pod) {
	w.Pods = slices.DeleteFunc(slices.Clone(w.Pods), func(other *corev1.Pod) bool { return other == p })
	delete(w.hidden, p.UID)
	w.Nodes.Remove(p)
	w.noteRoom()
}

// request is a step of an update in place as the API server gets it: patches, one after the other.
type request struct {
	inplace.Update
	patches [][]byte
	// isNew is set if the first patch writes the present time to the pod, isRefused if the API server refuses the step, isComplete if the step
	// completes the update.
	isNew, isRefused, isComplete bool
}

// updatePod applies the patches of a step of an update in place, or refuses them.
func (w *World) updatePod(change inplace.Update) {
	if change.IsGateStep() {
		ApplyPatch(change.Pod, must(change.GatePatch(w.Now)))
		return
	}
	defer w.loseBlameOnceUpdated(change.Pod)()
	r, hidden := w.requestFor(change), w.hidden[change.Pod.UID]
	if !w.send(r) {
		return
	}
	switch {
	case change.Step == inplace.StepResize && !r.isRefused:
		hidden.interrupt()
	case r.isRefused:
		if hidden.refused = change.To.Hash; len(r.patches) == 3 {
			hidden.interrupt()
		}
	}
}

// requestFor returns the patches of a step, and decides at random whether the API server refuses it.
func (w *World) requestFor(change inplace.Update) request {
	patches := [][]byte{must(change.BeginPatch(w.Now))}
	isRefused := change.Step != inplace.StepRestore && w.fails(0.05)
	refusal := requeue.Failure{Reason: v1.ReasonForbidden, Message: "quota"}
	if w.Manager.PodUpdatePolicy() != v1.InPlaceOnly && w.chance(0.5) { // otherwise only an edit would help
		refusal = requeue.Failure{Reason: v1.ReasonInvalidPod, Message: "no such thing"}
	}
	switch {
	case isRefused:
		// The resize may have succeeded before.
		resized := w.chance(0.5) && len(change.Diff().Resources) > 0
		w.logf("  change of %s refused, resized: %v", change.Pod.Name, resized)
		if resized {
			patches = append(patches, must(change.ResizePatch()))
		}
		patches = append(patches, must(change.RefusalPatch(refusal, resized, w.Now)))
	case change.Step == inplace.StepResize:
		patches = append(patches, must(change.ResizePatch()))
	default:
		patches = append(patches, must(change.ResizePatch()), must(change.Patch(w.Manager, w.Now)))
	}
	isNew := patches[0] != nil
	patches = slices.DeleteFunc(patches, func(patch []byte) bool { return patch == nil })
	return request{change, patches, isNew, isRefused, !isRefused && change.Step != inplace.StepResize}
}

// send applies the patches of a request until one fails, and reports whether all were applied.
func (w *World) send(r request) bool {
	hidden := w.hidden[r.Pod.UID]
	for i, data := range r.patches {
		if i > 0 && w.fails(0.2) {
			w.logf("  change of %s: interrupted after %d of %d patches", r.Pod.Name, i, len(r.patches))
			hidden.interrupt()
			if r.isNew {
				hidden.updatedAt = w.now().Time
			}
			return false
		}
		ApplyPatch(r.Pod, data)
		completes := i == len(r.patches)-1 && r.isComplete
		if completes {
			hidden.interrupted = false
			w.noteUpdate(r.Update)
		}
		if !r.isRefused && r.isNew || completes {
			hidden.updatedAt = w.now().Time
		}
	}
	return true
}

// interrupt records that an update was begun and not completed. The next one counts as a separate update.
func (h *hiddenState) interrupt() {
	if !h.interrupted {
		h.interrupted, h.updates = true, h.updates+1
	}
}

// noteUpdate records that a pod has another revision. The pod is no longer blamed: an earlier failure that continues does not count against the new
// revision until the pod fails again.
func (w *World) noteUpdate(change inplace.Update) {
	hidden := w.hidden[change.Pod.UID]
	w.templateByHash[change.To.Hash] = change.To.Template()
	hidden.updates++
	if change.Step == inplace.StepUpdate {
		hidden.revisionGeneration, hidden.blame, hidden.failedEarly = change.Pod.Generation, blame{}, false
		w.decideFate(change.Pod)
	}
}

func must(patch []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return patch
}
