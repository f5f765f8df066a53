package inplace_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// policies are those of a container, for CPU and for memory.
func policies(cpu, memory corev1.ResourceResizeRestartPolicy) func(*corev1.PodTemplateSpec) {
	return app(func(c *corev1.Container) {
		c.ResizePolicy = []corev1.ContainerResizePolicy{
			{ResourceName: corev1.ResourceCPU, RestartPolicy: cpu}, {ResourceName: corev1.ResourceMemory, RestartPolicy: memory},
		}
	})
}

// sized are requests of CPU and memory, and a limit of CPU if there is one.
func sized(cpu, memory, limit string) func(*corev1.PodTemplateSpec) {
	return needs(func() corev1.ResourceRequirements {
		all := Amounts(corev1.ResourceCPU, cpu, limit)
		all.Requests[corev1.ResourceMemory] = resource.MustParse(memory)
		return all
	}())
}

func TestRestartsWhenResized(t *testing.T) {
	const no, yes = corev1.NotRequired, corev1.RestartContainer
	limitOnly := func(limit string) func(*corev1.PodTemplateSpec) { return needs(Amounts(corev1.ResourceCPU, "", limit)) }
	tests := map[string]struct {
		from, to *corev1.PodTemplateSpec
		want     bool
	}{
		"nothing is said":                     {from: TemplateWith(sized("1", "1Gi", "")), to: TemplateWith(sized("2", "2Gi", ""))},
		"CPU, for which it is not":            {from: TemplateWith(sized("1", "1Gi", "2")), to: TemplateWith(sized("2", "1Gi", "2"), policies(no, yes))},
		"a limit of CPU, for which it is not": {from: TemplateWith(sized("1", "1Gi", "2")), to: TemplateWith(sized("1", "1Gi", "3"), policies(no, yes))},
		"memory, for which it is":             {from: TemplateWith(sized("1", "1Gi", "")), to: TemplateWith(sized("1", "2Gi", ""), policies(no, yes)), want: true},
		"CPU, for which it is":                {from: TemplateWith(sized("1", "1Gi", "")), to: TemplateWith(sized("2", "1Gi", ""), policies(yes, no)), want: true},
		"a limit of CPU, for which it is":     {from: TemplateWith(sized("1", "1Gi", "2")), to: TemplateWith(sized("1", "1Gi", "3"), policies(yes, no)), want: true},
		"memory, for which it is not":         {from: TemplateWith(sized("1", "1Gi", "")), to: TemplateWith(sized("1", "2Gi", ""), policies(yes, no))},
		"the same in other words":             {from: TemplateWith(sized("1", "1Gi", "")), to: TemplateWith(sized("1000m", "1024Mi", ""), policies(yes, yes))},
		"a limit that was requested in full":  {from: TemplateWith(limitOnly("1")), to: TemplateWith(needs(Amounts(corev1.ResourceCPU, "1", "1")), policies(yes, yes))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := RestartsWhenResized(test.from.Spec.Containers[0].Resources, &test.to.Spec.Containers[0]); got != test.want {
				t.Errorf("restarts: %v", got)
			}
		})
	}
}

// changeTo changes a pod from one revision to another, with all the requests that it takes.
func changeTo(t *testing.T, p *corev1.Pod, from, to *history.Revision) {
	t.Helper()
	step := Update{Pod: p, Step: StepUpdate, From: from, To: to}
	for _, patch := range []func() ([]byte, error){
		func() ([]byte, error) { return step.BeginPatch(Now) }, step.ResizePatch,
		func() ([]byte, error) { return step.Patch(Manager(3), Now) },
	} {
		data, err := patch()
		if err != nil {
			t.Fatal(err)
		}
		if data != nil {
			ApplyPatch(p, data)
		}
	}
}

// What an update in place has to wait for, and what is a crash: the pod is changed once or more often, then its node says how the
// container is.
func TestExpectations(t *testing.T) {
	const no, yes = corev1.NotRequired, corev1.RestartContainer
	newImage := func(name string) func(*corev1.PodTemplateSpec) {
		return app(func(c *corev1.Container) { c.Image = name })
	}
	of := func(name string, change ...func(*corev1.PodTemplateSpec)) *history.Revision {
		return RevisionWith(name, TemplateWith(append(change, policies(no, yes))...))
	}
	one := of("one", sized("1", "1Gi", ""))
	image := of("image", sized("1", "1Gi", ""), newImage("app:2"))
	cpu := of("cpu", sized("2", "1Gi", ""))
	memory := of("memory", sized("1", "2Gi", ""))
	both := of("both", sized("1", "2Gi", ""), newImage("app:2"))
	more := of("more", sized("2", "2Gi", ""))
	labels := of("labels", sized("1", "1Gi", ""), func(t *corev1.PodTemplateSpec) { t.Labels = nil })
	// follow lets the node restart the container, with an image.
	follow := func(id string, restarts int32) func(*corev1.Pod) { return Runs("docker.io/library/x", id, restarts) }
	after := func(each ...func(*corev1.Pod)) []func(*corev1.Pod) { return each }
	silence := func(*corev1.Pod) {}
	imageOnly := func(p *corev1.Pod) {
		follow("id-2", 3)(p)
		Resizing(corev1.PodResizePending, corev1.PodReasonDeferred)(p)
	}
	noMemory := func(p *corev1.Pod) {
		follow("id-2", 3)(p)
		DropCondition(p, corev1.PodResizePending)
	}
	// hampered is a node that has followed before, and fails to give the memory that the container is to have now.
	hampered := func(id string, restarts int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			follow(id, restarts)(p)
			SetCondition(p, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, Reason: corev1.PodReasonError})
		}
	}
	// has is a node that has all that the container is to have.
	has := func(id string, restarts int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			follow(id, restarts)(p)
			DropCondition(p, corev1.PodResizeInProgress)
			p.Status.ObservedGeneration = p.Generation
		}
	}
	// behind is a node that has not seen the last change.
	behind := func(id string, restarts int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			follow(id, restarts)(p)
			p.Status.ObservedGeneration = p.Generation - 1
		}
	}
	tests := map[string]struct {
		through []*history.Revision
		// byHand is how the pod was made, if not from the first of them.
		byHand func(*corev1.PodTemplateSpec)
		// between is what the node says after each change but the last.
		between []func(*corev1.Pod)
		end     func(*corev1.Pod)
		waits   bool
		crashes int32
	}{
		"an image, nothing yet":                 {through: []*history.Revision{one, image}, end: follow("id-1", 2), waits: true},
		"an image":                              {through: []*history.Revision{one, image}, end: follow("id-2", 3)},
		"another name of the same image":        {through: []*history.Revision{one, image}, end: follow("id-1", 3)},
		"an image, and a crash":                 {through: []*history.Revision{one, image}, end: follow("id-2", 4), crashes: 1},
		"CPU, without a restart":                {through: []*history.Revision{one, cpu}, end: follow("id-1", 2)},
		"CPU, and a crash":                      {through: []*history.Revision{one, cpu}, end: follow("id-1", 3), crashes: 1},
		"memory, nothing yet":                   {through: []*history.Revision{one, memory}, end: follow("id-1", 2), waits: true},
		"memory, with a restart":                {through: []*history.Revision{one, memory}, end: follow("id-1", 3)},
		"memory and image, together":            {through: []*history.Revision{one, both}, end: follow("id-2", 3)},
		"memory and image, one after the other": {through: []*history.Revision{one, both}, end: follow("id-2", 4)},
		"memory and image, and a crash":         {through: []*history.Revision{one, both}, end: follow("id-2", 5), crashes: 1},
		"labels: restarts from before are old":  {through: []*history.Revision{one, labels}, end: follow("id-1", 2)},

		"an image that is taken back at once":               {through: []*history.Revision{one, image, one}, end: follow("id-1", 2)},
		"an image that is taken back half way":              {through: []*history.Revision{one, image, one}, end: follow("id-2", 3), waits: true},
		"an image that is taken back in two steps":          {through: []*history.Revision{one, image, one}, end: follow("id-1", 4)},
		"an image that is taken back later":                 {through: []*history.Revision{one, image, one}, between: after(follow("id-2", 3)), end: follow("id-2", 3), waits: true},
		"memory that is taken back at once":                 {through: []*history.Revision{one, memory, one}, end: follow("id-1", 2)},
		"memory that is taken back in two steps":            {through: []*history.Revision{one, memory, one}, end: follow("id-1", 4)},
		"memory that is taken back later":                   {through: []*history.Revision{one, memory, one}, between: after(follow("id-1", 3)), end: follow("id-1", 3), waits: true},
		"memory that is taken back when the image has come": {through: []*history.Revision{one, both, image}, between: after(imageOnly), end: noMemory},
		"back and forth":                                    {through: []*history.Revision{one, image, one, image}, between: after(follow("id-1", 2)), end: follow("id-2", 3)},
		"labels after an image that is taken back":          {through: []*history.Revision{one, image, one, labels}, end: follow("id-1", 2)},
		"another image after that":                          {through: []*history.Revision{one, image, one, both}, end: follow("id-1", 2), waits: true},
		"labels after an image":                             {through: []*history.Revision{one, image, labels}, end: follow("id-1", 2)},
		"CPU after an image, nothing yet":                   {through: []*history.Revision{one, image, both}, end: follow("id-1", 2), waits: true},
		"memory after an image, both followed":              {through: []*history.Revision{one, image, both}, end: follow("id-2", 4)},

		"CPU, with memory that a pod made by hand has not": {through: []*history.Revision{one, cpu}, byHand: sized("1", "3Gi", ""), end: follow("id-1", 3)},
		"CPU, with memory that a pod made by hand has":     {through: []*history.Revision{one, cpu}, byHand: sized("1", "1Gi", ""), end: follow("id-1", 3), crashes: 1},
		"labels of a pod made by hand":                     {through: []*history.Revision{one, labels}, byHand: sized("1", "3Gi", ""), end: follow("id-1", 3), crashes: 1},

		"memory that is taken back, and the image's name stands for another one": {through: []*history.Revision{one, memory, one}, end: follow("id-9", 3)},
		"memory that is wanted again before it is taken back": {
			through: []*history.Revision{one, memory, one, memory}, between: after(silence, hampered("id-1", 3)), end: has("id-1", 3),
		},
		"memory that is wanted again before its node has seen that it is taken back": {
			through: []*history.Revision{one, memory, one, memory}, between: after(silence, behind("id-1", 3)), end: has("id-1", 3),
		},
		"memory that is wanted again after an image, before it is taken back": {
			through: []*history.Revision{one, memory, one, image, both}, between: after(silence, hampered("id-1", 3), hampered("id-2", 4)), end: has("id-2", 4),
		},
		"an image after memory that is not taken back yet": {
			through: []*history.Revision{one, memory, one, image}, between: after(silence, hampered("id-1", 3)), end: has("id-1", 3), waits: true,
		},
		"an image when memory is taken back that may have come": {
			through: []*history.Revision{one, memory, image}, between: after(behind("id-1", 3)), end: has("id-2", 5),
		},
		"an image when memory is taken back that may have come, and a crash": {
			through: []*history.Revision{one, memory, image}, between: after(behind("id-1", 3)), end: has("id-2", 7), crashes: 1, // the first may have been one before
		},
		"CPU after a restart for memory that is not told to be over": {
			through: []*history.Revision{one, memory, more}, between: after(hampered("id-1", 3)), end: has("id-1", 3),
		},
		"another name of the image that is wanted again when it is taken back": {
			through: []*history.Revision{one, image, one, image, one}, between: after(has("id-1", 3), silence, behind("id-1", 4)), end: has("id-1", 4),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := Pod(3, Labelled(v1.LabelRevision, one.Hash), Runs("app:1", "id-1", 2))
			p.Spec, p.Generation = *one.Template().Spec.DeepCopy(), 1
			if test.byHand != nil {
				delete(p.Labels, v1.LabelRevision)
				p.Spec = TemplateWith(test.byHand, policies(no, yes)).Spec
			}
			for i, to := range test.through[1:] {
				changeTo(t, p, test.through[i], to)
				if i < len(test.between) {
					test.between[i](p)
				}
			}
			test.end(p)
			if got := IsUpdating(p); got != test.waits {
				t.Errorf("waits: %v; %s", got, p.Annotations[v1.AnnotationInPlace])
			}
			if got := Crashes(p, &p.Status.ContainerStatuses[0]); got != test.crashes {
				t.Errorf("%d crashes; %s", got, p.Annotations[v1.AnnotationInPlace])
			}
		})
	}
}
