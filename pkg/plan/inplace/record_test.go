package inplace_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// updateTo updates a pod in place from one revision to another, with all requests.
func updateTo(t *testing.T, p *corev1.Pod, from, to *history.Revision) {
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

// A pod is updated in place once or several times, then the kubelet reports the container's status. The test checks whether the pod is still
// updating, and which restarts count as crashes.
func TestExpectations(t *testing.T) {
	const no, yes = corev1.NotRequired, corev1.RestartContainer
	newImage := func(name string) func(*corev1.PodTemplateSpec) {
		return App(func(c *corev1.Container) { c.Image = name })
	}
	of := func(name string, change ...func(*corev1.PodTemplateSpec)) *history.Revision {
		return RevisionWith(name, TemplateWith(append(change, Policies(no, yes))...))
	}
	base := of("one", Sized("1", "1Gi", ""))
	image := of("image", Sized("1", "1Gi", ""), newImage("app:2"))
	cpu := of("cpu", Sized("2", "1Gi", ""))
	memory := of("memory", Sized("1", "2Gi", ""))
	memoryAndImage := of("both", Sized("1", "2Gi", ""), newImage("app:2"))
	cpuAndMemory := of("more", Sized("2", "2Gi", ""))
	labels := of("labels", Sized("1", "1Gi", ""), func(t *corev1.PodTemplateSpec) { t.Labels = nil })
	// reports simulates a kubelet that reports this image ID and restart count.
	reports := func(id string, restarts int32) func(*corev1.Pod) { return Runs("docker.io/library/x", id, restarts) }
	each := func(reports ...func(*corev1.Pod)) []func(*corev1.Pod) { return reports }
	noReport := func(*corev1.Pod) {}
	resizeDeferred := func(p *corev1.Pod) {
		reports("id-2", 3)(p)
		Resizing(corev1.PodResizePending, corev1.PodReasonDeferred)(p)
	}
	resizeDropped := func(p *corev1.Pod) {
		reports("id-2", 3)(p)
		DropCondition(p, corev1.PodResizePending)
	}
	// resizeFails simulates a kubelet that has carried out all updates except the last, and fails to resize the container for that one.
	resizeFails := func(id string, restarts int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			reports(id, restarts)(p)
			SetCondition(p, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, Reason: corev1.PodReasonError})
		}
	}
	// done simulates a kubelet that has carried out all updates.
	done := func(id string, restarts int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			reports(id, restarts)(p)
			DropCondition(p, corev1.PodResizeInProgress)
			p.Status.ObservedGeneration = p.Generation
		}
	}
	tests := map[string]struct {
		// revisions are the revisions that the pod goes through; it is created from the first.
		revisions []*history.Revision
		// between is what the kubelet reports after each update except the last, end what it reports at the end.
		between  []func(*corev1.Pod)
		end      func(*corev1.Pod)
		updating bool
		crashes  int32
	}{
		"an image, nothing yet":                   {revisions: []*history.Revision{base, image}, end: reports("id-1", 2), updating: true},
		"an image":                                {revisions: []*history.Revision{base, image}, end: reports("id-2", 3)},
		"another name of the same image":          {revisions: []*history.Revision{base, image}, end: reports("id-1", 3)},
		"an image, and a crash":                   {revisions: []*history.Revision{base, image}, end: reports("id-2", 4), crashes: 1},
		"CPU, without a restart":                  {revisions: []*history.Revision{base, cpu}, end: reports("id-1", 2)},
		"CPU, and a crash":                        {revisions: []*history.Revision{base, cpu}, end: reports("id-1", 3), crashes: 1},
		"memory, nothing yet":                     {revisions: []*history.Revision{base, memory}, end: reports("id-1", 2), updating: true},
		"memory, with a restart":                  {revisions: []*history.Revision{base, memory}, end: reports("id-1", 3)},
		"memory and image, one restart":           {revisions: []*history.Revision{base, memoryAndImage}, end: reports("id-2", 3)},
		"memory and image, two restarts":          {revisions: []*history.Revision{base, memoryAndImage}, end: reports("id-2", 4)},
		"memory and image, and a crash":           {revisions: []*history.Revision{base, memoryAndImage}, end: reports("id-2", 5), crashes: 1},
		"labels: earlier restarts are no crashes": {revisions: []*history.Revision{base, labels}, end: reports("id-1", 2)},

		"a reverted image, never started":                      {revisions: []*history.Revision{base, image, base}, end: reports("id-1", 2)},
		"a reverted image, still running":                      {revisions: []*history.Revision{base, image, base}, end: reports("id-2", 3), updating: true},
		"a reverted image, started and reverted":               {revisions: []*history.Revision{base, image, base}, end: reports("id-1", 4)},
		"an image, reverted once it runs":                      {revisions: []*history.Revision{base, image, base}, between: each(reports("id-2", 3)), end: reports("id-2", 3), updating: true},
		"reverted memory, never resized":                       {revisions: []*history.Revision{base, memory, base}, end: reports("id-1", 2)},
		"reverted memory, resized and reverted":                {revisions: []*history.Revision{base, memory, base}, end: reports("id-1", 4)},
		"memory, reverted once it is resized":                  {revisions: []*history.Revision{base, memory, base}, between: each(reports("id-1", 3)), end: reports("id-1", 3), updating: true},
		"memory with an image, reverted once the image runs":   {revisions: []*history.Revision{base, memoryAndImage, image}, between: each(resizeDeferred), end: resizeDropped},
		"an image, reverted and wanted again":                  {revisions: []*history.Revision{base, image, base, image}, between: each(reports("id-1", 2)), end: reports("id-2", 3)},
		"labels after a reverted image":                        {revisions: []*history.Revision{base, image, base, labels}, end: reports("id-1", 2)},
		"memory and image after a reverted image, nothing yet": {revisions: []*history.Revision{base, image, base, memoryAndImage}, end: reports("id-1", 2), updating: true},
		"labels after an image":                                {revisions: []*history.Revision{base, image, labels}, end: reports("id-1", 2)},
		"memory after an image, nothing yet":                   {revisions: []*history.Revision{base, image, memoryAndImage}, end: reports("id-1", 2), updating: true},
		"memory after an image, two restarts":                  {revisions: []*history.Revision{base, image, memoryAndImage}, end: reports("id-2", 4)},

		"reverted memory, and the image's tag has moved": {revisions: []*history.Revision{base, memory, base}, end: reports("id-9", 3)},
		"memory wanted again before the kubelet has reverted it": {
			revisions: []*history.Revision{base, memory, base, memory}, between: each(noReport, resizeFails("id-1", 3)), end: done("id-1", 3),
		},
		"memory wanted again after an image, before the kubelet has reverted it": {
			revisions: []*history.Revision{base, memory, base, image, memoryAndImage}, between: each(noReport, resizeFails("id-1", 3), resizeFails("id-2", 4)), end: done("id-2", 4),
		},
		"an image before the kubelet has reverted memory": {
			revisions: []*history.Revision{base, memory, base, image}, between: each(noReport, resizeFails("id-1", 3)), end: done("id-1", 3), updating: true,
		},
		"CPU after a restart for memory, while the resize is reported to fail": {
			revisions: []*history.Revision{base, memory, cpuAndMemory}, between: each(resizeFails("id-1", 3)), end: done("id-1", 3),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := Pod(3, Labelled(v1.LabelRevision, base.Hash), Runs("app:1", "id-1", 2))
			p.Spec, p.Generation = *base.Template().Spec.DeepCopy(), 1
			for i, to := range test.revisions[1:] {
				updateTo(t, p, test.revisions[i], to)
				if i < len(test.between) {
					test.between[i](p)
				}
			}
			test.end(p)
			if got := IsUpdating(p); got != test.updating {
				t.Errorf("updating: %v; %s", got, p.Annotations[v1.AnnotationInPlace])
			}
			if got := Crashes(p, &p.Status.ContainerStatuses[0]); got != test.crashes {
				t.Errorf("%d crashes; %s", got, p.Annotations[v1.AnnotationInPlace])
			}
		})
	}
}

// A pod is updated from a missing image to another one and back. Only the observed generation shows whether the kubelet has tried the other image in
// between. A kubelet that does not report it may still report the trouble from before the updates, which does not count against the revision.
func TestReturnToMissingImage(t *testing.T) {
	for name, test := range map[string]struct {
		observed int64
		want     bool
	}{
		"a kubelet that reports no observed generation": {observed: 0},
		"a kubelet that reports it":                     {observed: 3, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pod(0, Container(Waiting("ErrImagePull", `Back-off pulling image "missing:1"`), corev1.ContainerState{}))
			image := func(name string) func(*corev1.PodTemplateSpec) {
				return App(func(c *corev1.Container) { c.Image = name })
			}
			missing, other := RevisionWith("one", TemplateWith(image("missing:1"))), RevisionWith("two", TemplateWith(image("app:2")))
			p.Spec.Containers = missing.Template().DeepCopy().Spec.Containers
			p.Labels[v1.LabelRevision] = "one"
			p.Status.ObservedGeneration = min(1, test.observed)
			updateTo(t, p, missing, other)
			updateTo(t, p, other, missing)
			p.Status.ObservedGeneration = test.observed
			if got := HasOwnTrouble(p, &p.Status.ContainerStatuses[0]); got != test.want {
				t.Errorf("own trouble: %v, %s", got, p.Annotations[v1.AnnotationInPlace])
			}
		})
	}
}

// Earlier versions of the controller recorded several updates together, and this version can read such records. Earlier versions can read the records
// of this version, too: a restart that may never happen is marked as optional there.
func TestRecordsOfOtherVersions(t *testing.T) {
	revision := RevisionWith("one", TemplateWith(Sized("1", "1Gi", ""), Policies(corev1.NotRequired, corev1.RestartContainer)))
	tests := map[string]struct {
		before   string
		updating bool
		crashes  int32
	}{
		"an image":                           {before: `{"imageID":"id-0","restarts":2,"from":"app:0","generation":2}`},
		"an image, not yet":                  {before: `{"imageID":"id-1","restarts":3,"from":"app:0","generation":2}`, updating: true},
		"an image that admission has mapped": {before: `{"imageID":"id-1","restarts":3,"from":"app:1","generation":2}`},
		"a reverted image":                   {before: `{"imageID":"id-1","restarts":3,"from":"app:2","generation":1,"optional":true}`},
		"a reverted image that still runs":   {before: `{"imageID":"id-2","restarts":3,"from":"app:2","generation":1,"optional":true}`, updating: true},
		"one of several resizes":             {before: `{"imageID":"id-1","restarts":3,"had":{},"generation":1,"optional":true}`},
		"memory, not yet":                    {before: `{"imageID":"id-1","restarts":3,"had":{"requests":{"cpu":"1","memory":"2Gi"}},"generation":2}`, updating: true},
		"crashes since":                      {before: `{"imageID":"id-0","from":"app:0","generation":1}`, crashes: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := Pod(3, Labelled(v1.LabelRevision, "one"), Runs("app:1", "id-1", 3), Annotated(v1.AnnotationInPlace, `{"revision":"one","containers":{"app":`+test.before+`}}`))
			p.Spec, p.Generation, p.Status.ObservedGeneration = *revision.Template().Spec.DeepCopy(), 3, 3
			if got := IsUpdating(p); got != test.updating {
				t.Errorf("updating: %v", got)
			}
			if got := Crashes(p, &p.Status.ContainerStatuses[0]); got != test.crashes {
				t.Errorf("%d crashes", got)
			}
		})
	}
	p := Pod(3, Labelled(v1.LabelRevision, "one"), Runs("app:1", "id-1", 3))
	p.Spec, p.Generation = *revision.Template().Spec.DeepCopy(), 1
	other := RevisionWith("two", TemplateWith(Sized("1", "1Gi", ""), Policies(corev1.NotRequired, corev1.RestartContainer), App(func(c *corev1.Container) { c.Image = "app:2" })))
	updateTo(t, p, revision, other)
	updateTo(t, p, other, revision)
	const want = `{"revision":"one","at":"2026-01-02T03:04:05Z","containers":{"app":{"imageID":"id-1","restarts":3,"from":"app:2","generation":1,"optional":true}}}`
	if got := p.Annotations[v1.AnnotationInPlace]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The Record of a pod with 100 containers and long image names counts while an update of all of them is under way, which holds two states of each.
func TestRecordOfLargePod(t *testing.T) {
	const count, repository = 100, "registry.example.com/a-group-of-teams/team/application/a-component-with-a-long-name"
	template := func(tag string) *corev1.PodTemplateSpec {
		template := TemplateWith(Sized(tag, "1Gi", ""))
		app := template.Spec.Containers[0]
		template.Spec.Containers = nil
		for i := range count {
			app.Name, app.Image = fmt.Sprintf("a-container-with-a-long-name-%03d", i), repository+":v1.2.3-with-a-long-suffix-"+tag
			template.Spec.Containers = append(template.Spec.Containers, *app.DeepCopy())
		}
		return template
	}
	revisions := map[string]*history.Revision{}
	for _, tag := range []string{"1", "2", "3"} {
		revisions[tag] = RevisionWith(tag, template(tag))
	}
	p := Pod(3, Labelled(v1.LabelRevision, "1"))
	p.Spec, p.Generation = *revisions["1"].Template().Spec.DeepCopy(), 1
	for _, container := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, ImageID: repository + "@sha256:" + strings.Repeat("0", 64),
		})
	}
	updateTo(t, p, revisions["1"], revisions["2"])
	begin, err := (Update{Pod: p, Step: StepUpdate, From: revisions["2"], To: revisions["3"]}).BeginPatch(Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, begin)
	if length := len(p.Annotations[v1.AnnotationInPlace]); length < 32<<10 || !IsInterrupted(p) || len(CompletedRecord(p).Containers) != count {
		t.Errorf("the record has %d bytes: begun %v, %d containers", length, IsInterrupted(p), len(CompletedRecord(p).Containers))
	}
}

// Every client that may write a pod may write its Record. One that is too expensive to decode, or longer than any of ours, is none: the first of these
// quantities would take seconds, with nine digits minutes and gigabytes.
func TestRecordsOfOtherClients(t *testing.T) {
	const hash = "7d85"
	record := func(amount, trouble string) string {
		return `{"revision":"` + hash + `","containers":{"app":{"trouble":"` + trouble + `","had":{"limits":{"cpu":"` + amount + `"}}}}}`
	}
	for name, test := range map[string]struct {
		text   string
		isOurs bool
	}{
		"ours":                  {record("100m", ""), true},
		"an expensive quantity": {record("1e-5000000", ""), false},
		"too long":              {record("100m", strings.Repeat("x", 128<<10)), false},
	} {
		pod := Pod(0, Labelled(v1.LabelRevision, hash), Annotated(v1.AnnotationInPlace, test.text))
		if got := CompletedRecord(pod).Revision == hash; got != test.isOurs {
			t.Errorf("%s: the record counts: %v, want %v", name, got, test.isOurs)
		}
	}
}
