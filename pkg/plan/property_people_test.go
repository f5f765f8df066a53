package plan

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// newWorld is a random beginning.
func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), now: now, holds: map[HoldKey]Hold{}, nodes: map[types.UID]*onItsNode{}}
	w.manager = manager(0)
	w.oldNodes = w.chance(0.2)
	for _, name := range resizable {
		if w.chance(0.5) {
			w.resizePolicy = append(w.resizePolicy, corev1.ContainerResizePolicy{
				ResourceName: name, RestartPolicy: pick(w, corev1.NotRequired, corev1.RestartContainer),
			})
		}
	}
	w.manager.Spec = w.randomSpec()
	w.templates = append(w.templates, w.manager.Spec.Template)
	if w.chance(0.8) {
		w.populate()
	}
	return w
}

func pick[T any](w *world, choices ...T) T { return choices[w.IntN(len(choices))] }

func (w *world) randomSpec() v1.PodManagerSpec {
	spec := v1.PodManagerSpec{
		Replicas:                ptr.To(w.size()),
		MinReadySeconds:         pick[int32](w, 0, 0, 0, 5, 30),
		Paused:                  w.chance(0.1),
		ProgressDeadlineSeconds: ptr.To(pick[int32](w, 60, 600)),
		RevisionHistoryLimit:    ptr.To(pick[int32](w, 0, 1, 10)),
		PodReplacementPolicy:    pick(w, v1.TerminationStarted, v1.TerminationStarted, v1.TerminationComplete),
		FailedPodsHistoryLimit:  ptr.To(pick[int32](w, 0, 1, 2)),
		FailurePolicy: v1.FailurePolicy{
			OnFailure:          pick(w, v1.ContinueOnFailure, v1.HaltOnFailure, v1.HaltOnFailure, v1.RollbackOnFailure),
			MaxFailedPods:      ptr.To(pick(w, intstr.FromInt32(1), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("30%"))),
			GracePeriodSeconds: ptr.To(pick[int32](w, 0, 30)),
		},
	}
	if w.chance(0.3) {
		spec.ScaleDown = &v1.ScaleDown{MaxTerminating: ptr.To(pick(w, intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("30%")))}
	}
	spec.UpdateStrategy.Type = pick(w, v1.RollingUpdateStrategy, v1.RollingUpdateStrategy, v1.RollingUpdateStrategy,
		v1.RollingUpdateStrategy, v1.RecreateStrategy, v1.OnDeleteStrategy)
	if spec.UpdateStrategy.Type == v1.RollingUpdateStrategy {
		spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{
			MaxSurge: w.budget(), MaxUnavailable: w.budget(), Partition: w.partition(),
			PodUpdatePolicy:           pick(w, v1.RecreatePods, v1.RecreatePods, v1.InPlaceIfPossible, v1.InPlaceOnly),
			InPlaceGracePeriodSeconds: pick[int32](w, 0, 0, 10),
		}
	}
	// What may be in the template depends on how pods are changed.
	w.manager.Spec = spec
	spec.Template = w.randomTemplate()
	return spec
}

func (w *world) size() int32 {
	switch {
	case w.chance(0.005):
		return 200
	case w.chance(0.3):
		return w.Int32N(31)
	default:
		return w.Int32N(8)
	}
}

func (w *world) budget() *intstr.IntOrString {
	value := intstr.FromInt32(w.Int32N(4))
	if w.chance(0.5) {
		value = intstr.FromString(pick(w, "0%", "1%", "25%", "34%", "50%", "100%"))
	}
	return &value
}

func (w *world) partition() *intstr.IntOrString {
	value := intstr.FromInt32(0)
	if w.chance(0.3) {
		value = pick(w, intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("50%"), intstr.FromString("100%"))
	}
	return &value
}

// randomTemplate differs from others in one or more ways, not all of which can be had in place.
func (w *world) randomTemplate() *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"note": strconv.Itoa(w.IntN(2))}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: pick(w, "app:1", "app:2", "app:3", "app:4", "app:5", badImage),
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse(strconv.Itoa(1 + w.IntN(2))),
				corev1.ResourceMemory: resource.MustParse(pick(w, "1Gi", "1Gi", "2Gi")),
			}},
			ResizePolicy: w.resizePolicy,
		}}},
	}
	if w.manager.PodUpdatePolicy() != v1.InPlaceOnly && w.chance(0.3) {
		template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", Value: strconv.Itoa(w.IntN(3))}}
	}
	return template
}

// populate lets a PodManager have been there for long: with pods, of several revisions, in all states.
func (w *world) populate() {
	var known []*Revision
	for number := range int64(1 + w.IntN(3)) {
		old := w.manager.DeepCopy()
		if number > 0 || w.chance(0.5) {
			old.Spec.Template = w.randomTemplate()
		}
		object := stored(old, number+1)
		if !slices.ContainsFunc(known, func(r *Revision) bool { return r.Name == object.Name }) {
			w.templates = append(w.templates, old.Spec.Template)
			w.revisions = append(w.revisions, object)
			known = append(known, &Revision{Name: object.Name, Hash: object.Labels[v1.LabelRevision], stored: object})
		}
	}
	if good := known[w.IntN(len(known))]; w.chance(0.8) && good.Template().Spec.Containers[0].Image != badImage {
		w.manager.Status.CurrentRevision = good.Name
	}
	for index := range int(w.size()) {
		p := w.add(NewPod(w.manager, Creation{Index: index, Revision: known[w.IntN(len(known))]}))
		p.CreationTimestamp = metav1.NewTime(now.Add(-time.Duration(w.IntN(7200)) * time.Second))
		if w.chance(0.05) && p.Spec.Containers[0].Image != badImage && w.manager.Status.CurrentRevision != "" {
			delete(p.Labels, v1.LabelRevision) // adopted
			w.nodes[p.UID].byHand = true
		}
		if w.chance(0.05) {
			p.OwnerReferences = nil
		}
		for range w.IntN(4) {
			if step := w.next(p); step != nil && p.DeletionTimestamp == nil {
				step()
			}
		}
		if w.chance(0.2) {
			w.befall(p)
		}
		w.now = w.now.Add(time.Duration(w.IntN(10)) * time.Second)
	}
}

// befall lets something happen to a pod.
func (w *world) befall(p *corev1.Pod) {
	if p.DeletionTimestamp != nil || hasEnded(p) {
		return
	}
	what := w.IntN(14)
	w.say("%s: event %d", p.Name, what)
	switch {
	case what < 2:
		w.remove(p)
	case what == 2:
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationDelete, "true")
	case what == 3 && w.chance(0.3):
		p.Labels[v1.LabelManager] = "debug"
	case p.Spec.NodeName == "":
	case what < 6:
		w.crash(p)
	case what < 8:
		w.end(p)
	case what < 10:
		w.evict(p)
	default:
		w.setReady(p, false)
	}
}

// edit lets the user change the spec.
func (w *world) edit() {
	w.manager = w.manager.DeepCopy()
	w.manager.Generation++
	w.holds = map[HoldKey]Hold{} // a changed spec gets a fresh try
	spec := &w.manager.Spec
	switch what := w.IntN(11); {
	case what < 3:
		spec.Replicas = ptr.To(w.size())
		w.say("user: %d replicas", *spec.Replicas)
	case what < 6:
		spec.Template = w.randomTemplate()
		if w.chance(0.4) {
			spec.Template = w.templates[w.IntN(len(w.templates))]
		}
		w.templates = append(w.templates, spec.Template)
		w.say("user: template %s", stored(w.manager, 1).Name)
	case what < 8:
		spec.Paused = !spec.Paused
		w.say("user: paused %v", spec.Paused)
	case what == 8 && w.manager.PodUpdatePolicy() != v1.InPlaceOnly: // where it is refused
		spec.RestartAt = ptr.To(metav1.NewTime(w.now.Truncate(time.Minute)))
		w.say("user: restart at %v", spec.RestartAt)
	case spec.UpdateStrategy.RollingUpdate != nil:
		spec.UpdateStrategy.RollingUpdate.Partition = w.partition()
		w.say("user: partition %v", spec.UpdateStrategy.RollingUpdate.Partition)
	}
}

// happen lets time pass, and some of what could happen.
func (w *world) happen() {
	w.now = w.now.Add(pick(w, 0, 300*time.Millisecond, time.Second, 10*time.Second, time.Minute) * time.Duration(w.IntN(4)))
	eager := w.Float64()
	for _, p := range slices.Clone(w.pods) {
		if step := w.next(p); step != nil && w.chance(eager) {
			step()
		}
	}
	if len(w.pods) > 0 {
		for range w.IntN(3) {
			if w.chance(0.4) && len(w.pods) > 0 {
				w.befall(w.pods[w.IntN(len(w.pods))])
			}
		}
	}
	if w.chance(0.2) {
		w.edit()
	}
}
