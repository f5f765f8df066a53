package plan

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// change is the step from one template to another, applied to a pod of the first.
func changed(t *testing.T, p *corev1.Pod, from, to *Revision) {
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
				changed(t, p, test.through[i], to)
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

// A resize takes three requests. Whoever does it may die after the first or the second, and the spec may be another one when
// the next comes: in the end the pod is what its label says, and nothing is waited for that does not come.
func TestInterruptedResize(t *testing.T) {
	template := func(cpu, memory string) func(*v1.PodManager) {
		return func(m *v1.PodManager) {
			m.Spec.Image = ""
			m.Spec.Template = templateWith(sized(cpu, memory, ""), policies(corev1.NotRequired, corev1.RestartContainer))
		}
	}
	old, wanted, third := template("1", "1Gi"), template("1", "2Gi"), template("3", "1Gi")
	policy, one := inPlace(v1.InPlaceOnly, 0), limits("0", "1")
	for _, after := range []int{1, 2} { // requests
		for _, followed := range []bool{false, true} {
			for name, test := range map[string]struct {
				spec func(*v1.PodManager)
				also func(*v1.PodManager)
				want string
			}{
				"it is completed":                {spec: wanted, want: "Change 0"},
				"the spec was put back":          {spec: old, want: "Restore 0"},
				"the spec is a third one":        {spec: third, want: "Change 0"},
				"the rollout is paused":          {spec: wanted, also: paused, want: "Restore 0"},
				"the partition was raised":       {spec: wanted, also: partition("1"), want: "Restore 0"},
				"pods are no longer changed so":  {spec: old, also: inPlace(v1.RecreatePods, 0), want: "Restore 0"},
				"the budget is spent on another": {spec: wanted, also: limits("1", "0"), want: "+1 new"},
			} {
				t.Run(name, func(t *testing.T) {
					before := manager(1, old, policy, one)
					p := NewPod(before, Creation{Revision: revisionFor(before)})
					ready := pod(0, runs("app:1", "id-1", 0))
					p.UID, p.CreationTimestamp, p.Status, p.Generation, p.Spec.NodeName = ready.UID, ready.CreationTimestamp, ready.Status, 1, "node"
					p.Status.ObservedGeneration = 1
					step := InPlace{Pod: p, Step: StepChange, From: revisionFor(before), To: revisionFor(manager(1, wanted, policy, one))}
					begin, _ := step.BeginPatch(now)
					applyPatch(p, begin)
					if resize, _ := step.ResizePatch(); after == 2 {
						applyPatch(p, resize)
					}
					if followed && after == 2 {
						runs("app:1", "id-1", 1)(p)
						p.Status.ObservedGeneration = p.Generation
					}

					m := manager(1, test.spec, policy, one)
					if test.also != nil {
						test.also(m)
					}
					o := observe(m, p)
					o.Revisions = append(o.Revisions, stored(before, 1))
					m.Status.CurrentRevision = o.Revisions[1].Name
					if o.Revisions[0].Name == o.Revisions[1].Name {
						o.Revisions = o.Revisions[:1]
					}
					plan := Make(o)
					if got := movesOf(plan); got != test.want && !(after == 2 && !followed && test.want == "+1 new") {
						t.Fatalf("after %d requests, followed %v: got %q, want %q", after, followed, got, test.want)
					}
					if len(plan.Change) == 0 {
						return
					}
					// Now it goes through, and the node follows.
					done := plan.Change[0]
					resize, err := done.ResizePatch()
					if err != nil || resize == nil {
						t.Fatalf("nothing is resized: %v", err)
					}
					applyPatch(p, resize)
					patch, err := done.Patch(m, now)
					if err != nil {
						t.Fatal(err)
					}
					applyPatch(p, patch)
					p.Status.ObservedGeneration = p.Generation
					if got, want := p.Spec.Containers[0].Resources, done.To.Template().Spec.Containers[0].Resources; string(asJSON(got)) != string(asJSON(want)) ||
						p.Labels[v1.LabelRevision] != done.To.Hash || hasBegun(p) {
						t.Errorf("it has %s and revision %s, which says %s", asJSON(got), p.Labels[v1.LabelRevision], asJSON(want))
					}
					if done.Step == StepChange && test.want == "Change 0" && name == "it is completed" {
						runs("app:1", "id-1", 1)(p)
					}
					if isChanging(p) {
						t.Errorf("it waits for something that does not come: %s", p.Annotations[v1.AnnotationInPlace])
					}
					for _, restarts := range []int32{1, 2} {
						runs("app:1", "id-1", restarts)(p)
						if name != "the spec is a third one" && restarts == 1 && hasFailed(p) {
							t.Errorf("%d restarts count as a failure", restarts)
						}
					}
				})
			}
		}
	}
}

func asJSON(value any) []byte {
	data, _ := json.Marshal(value)
	return data
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
