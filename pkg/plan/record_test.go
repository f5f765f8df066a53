package plan

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
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
		all := amounts(corev1.ResourceCPU, cpu, limit)
		all.Requests[corev1.ResourceMemory] = resource.MustParse(memory)
		return all
	}())
}

func TestRestartsWhenResized(t *testing.T) {
	const no, yes = corev1.NotRequired, corev1.RestartContainer
	limitOnly := func(limit string) func(*corev1.PodTemplateSpec) { return needs(amounts(corev1.ResourceCPU, "", limit)) }
	tests := map[string]struct {
		from, to *corev1.PodTemplateSpec
		want     bool
	}{
		"nothing is said":                     {from: templateWith(sized("1", "1Gi", "")), to: templateWith(sized("2", "2Gi", ""))},
		"CPU, for which it is not":            {from: templateWith(sized("1", "1Gi", "2")), to: templateWith(sized("2", "1Gi", "2"), policies(no, yes))},
		"a limit of CPU, for which it is not": {from: templateWith(sized("1", "1Gi", "2")), to: templateWith(sized("1", "1Gi", "3"), policies(no, yes))},
		"memory, for which it is":             {from: templateWith(sized("1", "1Gi", "")), to: templateWith(sized("1", "2Gi", ""), policies(no, yes)), want: true},
		"CPU, for which it is":                {from: templateWith(sized("1", "1Gi", "")), to: templateWith(sized("2", "1Gi", ""), policies(yes, no)), want: true},
		"a limit of CPU, for which it is":     {from: templateWith(sized("1", "1Gi", "2")), to: templateWith(sized("1", "1Gi", "3"), policies(yes, no)), want: true},
		"memory, for which it is not":         {from: templateWith(sized("1", "1Gi", "")), to: templateWith(sized("1", "2Gi", ""), policies(yes, no))},
		"the same in other words":             {from: templateWith(sized("1", "1Gi", "")), to: templateWith(sized("1000m", "1024Mi", ""), policies(yes, yes))},
		"a limit that was requested in full":  {from: templateWith(limitOnly("1")), to: templateWith(needs(amounts(corev1.ResourceCPU, "1", "1")), policies(yes, yes))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := restartsWhenResized(test.from.Spec.Containers[0].Resources, &test.to.Spec.Containers[0]); got != test.want {
				t.Errorf("restarts: %v", got)
			}
		})
	}
}

// changeTo changes a pod from one revision to another, with all the requests that it takes.
func changeTo(t *testing.T, p *corev1.Pod, from, to *Revision) {
	t.Helper()
	step := InPlace{Pod: p, Step: StepChange, From: from, To: to}
	for _, patch := range []func() ([]byte, error){
		func() ([]byte, error) { return step.BeginPatch(now) }, step.ResizePatch,
		func() ([]byte, error) { return step.Patch(manager(3), now) },
	} {
		data, err := patch()
		if err != nil {
			t.Fatal(err)
		}
		if data != nil {
			applyPatch(p, data)
		}
	}
}

// What a change in place has to wait for, and what is a crash: the pod is changed once or more often, then its node says how the
// container is.
func TestExpectations(t *testing.T) {
	const no, yes = corev1.NotRequired, corev1.RestartContainer
	newImage := func(name string) func(*corev1.PodTemplateSpec) {
		return app(func(c *corev1.Container) { c.Image = name })
	}
	of := func(name string, change ...func(*corev1.PodTemplateSpec)) *Revision {
		return &Revision{Name: "web-" + name, Hash: name, template: templateWith(append(change, policies(no, yes))...)}
	}
	one := of("one", sized("1", "1Gi", ""))
	image := of("image", sized("1", "1Gi", ""), newImage("app:2"))
	cpu := of("cpu", sized("2", "1Gi", ""))
	memory := of("memory", sized("1", "2Gi", ""))
	both := of("both", sized("1", "2Gi", ""), newImage("app:2"))
	labels := of("labels", sized("1", "1Gi", ""), func(t *corev1.PodTemplateSpec) { t.Labels = nil })
	// follow lets the node restart the container, with an image.
	follow := func(id string, restarts int32) func(*corev1.Pod) { return runs("docker.io/library/x", id, restarts) }
	imageOnly := func(p *corev1.Pod) {
		follow("id-2", 3)(p)
		resizing(corev1.PodResizePending, corev1.PodReasonDeferred)(p)
	}
	noMemory := func(p *corev1.Pod) {
		follow("id-2", 3)(p)
		dropCondition(p, corev1.PodResizePending)
	}
	tests := map[string]struct {
		through []*Revision
		// between is what the node says after the first change.
		between func(*corev1.Pod)
		end     func(*corev1.Pod)
		waits   bool
		crashes int32
	}{
		"an image, nothing yet":                 {through: []*Revision{one, image}, end: follow("id-1", 2), waits: true},
		"an image":                              {through: []*Revision{one, image}, end: follow("id-2", 3)},
		"another name of the same image":        {through: []*Revision{one, image}, end: follow("id-1", 3)},
		"an image, and a crash":                 {through: []*Revision{one, image}, end: follow("id-2", 4), crashes: 1},
		"CPU, without a restart":                {through: []*Revision{one, cpu}, end: follow("id-1", 2)},
		"CPU, and a crash":                      {through: []*Revision{one, cpu}, end: follow("id-1", 3), crashes: 1},
		"memory, nothing yet":                   {through: []*Revision{one, memory}, end: follow("id-1", 2), waits: true},
		"memory, with a restart":                {through: []*Revision{one, memory}, end: follow("id-1", 3)},
		"memory and image, together":            {through: []*Revision{one, both}, end: follow("id-2", 3)},
		"memory and image, one after the other": {through: []*Revision{one, both}, end: follow("id-2", 4)},
		"memory and image, and a crash":         {through: []*Revision{one, both}, end: follow("id-2", 5), crashes: 1},
		"labels: restarts from before are old":  {through: []*Revision{one, labels}, end: follow("id-1", 2)},

		"an image that is taken back at once":               {through: []*Revision{one, image, one}, end: follow("id-1", 2)},
		"an image that is taken back half way":              {through: []*Revision{one, image, one}, end: follow("id-2", 3), waits: true},
		"an image that is taken back in two steps":          {through: []*Revision{one, image, one}, end: follow("id-1", 4)},
		"an image that is taken back later":                 {through: []*Revision{one, image, one}, between: follow("id-2", 3), end: follow("id-2", 3), waits: true},
		"memory that is taken back at once":                 {through: []*Revision{one, memory, one}, end: follow("id-1", 2)},
		"memory that is taken back in two steps":            {through: []*Revision{one, memory, one}, end: follow("id-1", 4)},
		"memory that is taken back later":                   {through: []*Revision{one, memory, one}, between: follow("id-1", 3), end: follow("id-1", 3), waits: true},
		"memory that is taken back when the image has come": {through: []*Revision{one, both, image}, between: imageOnly, end: noMemory},
		"back and forth":                                    {through: []*Revision{one, image, one, image}, between: follow("id-1", 2), end: follow("id-2", 3)},
		"labels after an image that is taken back":          {through: []*Revision{one, image, one, labels}, end: follow("id-1", 2)},
		"another image after that":                          {through: []*Revision{one, image, one, both}, end: follow("id-1", 2), waits: true},
		"labels after an image":                             {through: []*Revision{one, image, labels}, end: follow("id-1", 2)},
		"CPU after an image, nothing yet":                   {through: []*Revision{one, image, both}, end: follow("id-1", 2), waits: true},
		"memory after an image, both followed":              {through: []*Revision{one, image, both}, end: follow("id-2", 4)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := pod(3, labelled(v1.LabelRevision, one.Hash), runs("app:1", "id-1", 2))
			p.Spec = *one.Template().Spec.DeepCopy()
			for i, to := range test.through[1:] {
				changeTo(t, p, test.through[i], to)
				if i == 0 && test.between != nil {
					test.between(p)
				}
			}
			test.end(p)
			if got := isChanging(p); got != test.waits {
				t.Errorf("waits: %v; %s", got, p.Annotations[v1.AnnotationInPlace])
			}
			if got := crashes(p, &p.Status.ContainerStatuses[0]); got != test.crashes {
				t.Errorf("%d crashes; %s", got, p.Annotations[v1.AnnotationInPlace])
			}
		})
	}
}

// memoryOf is a PodManager of one pod that asks for so much CPU and memory. Memory takes a restart.
func memoryOf(cpu, memory string, change ...func(*v1.PodManager)) *v1.PodManager {
	m := manager(1, inPlace(v1.InPlaceOnly, 0), limits("0", "1"), func(m *v1.PodManager) {
		m.Spec.Image = ""
		m.Spec.Template = templateWith(sized(cpu, memory, ""), policies(corev1.NotRequired, corev1.RestartContainer))
	})
	for _, c := range change {
		c(m)
	}
	return m
}

// interrupted is a pod whose change from one PodManager's template to another's has ended after so many requests; its node may
// have followed them.
func interrupted(before, after *v1.PodManager, requests int, followed bool) *corev1.Pod {
	p := pod(0, runs("app:1", "id-1", 0), labelled(v1.LabelRevision, revisionFor(before).Hash))
	p.Spec.Containers = before.Spec.Template.DeepCopy().Spec.Containers
	p.Generation, p.Status.ObservedGeneration = 1, 1
	step := InPlace{Pod: p, Step: StepChange, From: revisionFor(before), To: revisionFor(after)}
	begin, _ := step.BeginPatch(now)
	applyPatch(p, begin)
	if requests == 2 {
		resize, _ := step.ResizePatch()
		applyPatch(p, resize)
		if followed {
			runs("app:1", "id-1", 1)(p)
			p.Status.ObservedGeneration = p.Generation
		}
	}
	return p
}

// A resize takes three requests. Whoever does it may die after the first or the second, and the spec may be another one when
// the next comes: in the end the pod is what its label says, and nothing is waited for that does not come.
func TestInterruptedResize(t *testing.T) {
	before, after := memoryOf("1", "1Gi"), memoryOf("1", "2Gi")
	tests := map[string]struct {
		manager *v1.PodManager
		want    string
		// restarts is how often the container may be restarted for that, at the most.
		restarts int32
	}{
		"it is completed":               {manager: after, want: "Change 0", restarts: 1},
		"the spec was put back":         {manager: memoryOf("1", "1Gi"), want: "Restore 0", restarts: 2},
		"the spec is a third one":       {manager: memoryOf("3", "1Gi"), want: "Change 0", restarts: 2},
		"the rollout is paused":         {manager: memoryOf("1", "2Gi", paused), want: "Restore 0", restarts: 2},
		"the partition was raised":      {manager: memoryOf("1", "2Gi", partition("1")), want: "Restore 0", restarts: 2},
		"pods are no longer changed so": {manager: memoryOf("1", "1Gi", inPlace(v1.RecreatePods, 0)), want: "Restore 0", restarts: 2},
		"another one has to come first": {manager: memoryOf("1", "2Gi", limits("1", "0")), want: "+1 new"},
	}
	for name, test := range tests {
		for _, at := range []struct {
			requests int
			followed bool
		}{{1, false}, {2, false}, {2, true}} {
			t.Run(fmt.Sprintf("%s, after %d requests, followed %v", name, at.requests, at.followed), func(t *testing.T) {
				p := interrupted(before, after, at.requests, at.followed)
				o := observe(test.manager, p)
				if base := stored(before, 1); base.Name != o.Revisions[0].Name {
					o.Revisions = append(o.Revisions, base)
					o.Manager.Status.CurrentRevision = base.Name
				}
				plan, want := Make(o), test.want
				if test.restarts == 0 && at.requests == 2 && !at.followed {
					want += ", Restore 0" // it does not serve anyway
				}
				if got := movesOf(plan); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
				if test.restarts > 0 {
					checkCompleted(t, plan.Change[0], test.manager, test.restarts)
				}
			})
		}
	}
}

// checkCompleted makes a change, lets the node follow, and looks whether the pod is what its revision says.
func checkCompleted(t *testing.T, step InPlace, m *v1.PodManager, restarts int32) {
	t.Helper()
	p := step.Pod
	resize, err := step.ResizePatch()
	if err != nil || resize == nil {
		t.Fatalf("nothing is resized: %v", err)
	}
	patch, err := step.Patch(m, now)
	if err != nil {
		t.Fatal(err)
	}
	applyPatch(p, resize)
	applyPatch(p, patch)
	p.Status.ObservedGeneration = p.Generation
	if restarts == 1 { // a node that has not restarted it is to do so
		runs("app:1", "id-1", 1)(p)
	}
	got, want := p.Spec.Containers[0].Resources, step.To.Template().Spec.Containers[0].Resources
	if !equality.Semantic.DeepEqual(got, want) || p.Labels[v1.LabelRevision] != step.To.Hash || hasBegun(p) {
		t.Errorf("it has %v and revision %s, which says %v", got, p.Labels[v1.LabelRevision], want)
	}
	if isChanging(p) {
		t.Errorf("it waits for something that does not come: %s", p.Annotations[v1.AnnotationInPlace])
	}
	for count := range restarts + 2 {
		runs("app:1", "id-1", count)(p)
		if failed := hasFailed(p); failed != (count > restarts) {
			t.Errorf("%d restarts, at most %d are for the change, count as a failure: %v", count, restarts, failed)
		}
	}
}

// A refused change is not tried again, also where CPU and memory had gone through before: they are restored.
func TestRefusedAfterResize(t *testing.T) {
	from, to := &Revision{Hash: "one", template: templateWith()}, &Revision{Hash: "two", template: templateWith(needs(amounts("cpu", "2", "")))}
	p := pod(3, labelled(v1.LabelRevision, "one"))
	p.Spec = *from.template.Spec.DeepCopy()
	step := InPlace{Pod: p, Step: StepChange, From: from, To: to}
	patch, err := step.RefusalPatch("no", true)
	if err != nil {
		t.Fatal(err)
	}
	applyPatch(p, patch)
	if !hasBegun(p) || refusalOf(p, "two") != "no" {
		t.Fatalf("begun %v, refused %q", hasBegun(p), refusalOf(p, "two"))
	}
	if patch, err = (InPlace{Pod: p, Step: StepRestore, From: from, To: from}).Patch(manager(3), now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	applyPatch(p, patch)
	if hasBegun(p) || refusalOf(p, "two") != "no" || p.Labels[v1.LabelRevision] != "one" {
		t.Errorf("restored: begun %v, refused %q, revision %s", hasBegun(p), refusalOf(p, "two"), p.Labels[v1.LabelRevision])
	}
}
