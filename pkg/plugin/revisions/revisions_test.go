package revisions_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/revisions"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// stored returns a PodManager whose current template has the image present. Its stored revisions have the given images, oldest first.
func stored(present, current string, images ...string) snapshot.Snapshot {
	m := Manager(3, Image(present))
	var list []*appsv1.ControllerRevision
	for i, image := range images {
		revision := Stored(Manager(3, Image(image)), int64(i+1))
		if revision.Annotations = map[string]string{}; image == "bad" {
			m.Status.FailedRevision = revision.Name
			revision.Annotations[v1.AnnotationChangeCause] = "a try"
		}
		if image == current {
			m.Status.CurrentRevision = revision.Name
		}
		revision.CreationTimestamp = metav1.NewTime(Now.Add(-1e9 * 60))
		list = append(list, revision)
	}
	return snapshot.New(m, Pods3(), list, nil, Now)
}

// failed marks the revisions of these images as failed, and good as good, as the controller does.
func failed(s snapshot.Snapshot, images ...string) snapshot.Snapshot {
	return marked(s, v1.AnnotationFailed, images)
}

func good(s snapshot.Snapshot, images ...string) snapshot.Snapshot {
	return marked(s, v1.AnnotationGood, images)
}

func marked(s snapshot.Snapshot, mark string, images []string) snapshot.Snapshot {
	for _, revision := range s.History() {
		for _, stored := range s.Stored {
			if stored.Name == revision.Name && slices.Contains(images, snapshot.Images(revision.Template)) {
				stored.Annotations[mark] = "true"
			}
		}
	}
	return s
}

func TestPrevious(t *testing.T) {
	tests := map[string]struct {
		snapshot snapshot.Snapshot
		want     string
	}{
		"a rollout that has ended":     {good(stored("c", "c", "a", "b", "c"), "a", "b", "c"), "b"},
		"one under way":                {good(stored("c", "b", "a", "b", "c"), "a"), "b"},
		"two that have failed in turn": {stored("d", "a", "a", "bad", "d"), "a"},
		"one that is not stored yet":   {stored("c", "b", "a", "b"), "b"},
		"undone, and done again":       {good(stored("b", "b", "c", "a", "b"), "a", "c"), "a"},
		"the one before has failed":    {failed(good(stored("c", "c", "a", "b", "c"), "a"), "b"), "a"},
		"it was good before it failed": {failed(good(stored("c", "c", "a", "b", "c"), "a", "b"), "b"), "a"},
		"undone, after it has failed":  {failed(stored("b", "b", "a", "c", "b"), "a", "c"), ""},
		"undone, before it was judged": {stored("b", "b", "a", "c", "b"), ""},
		"the one before that was good": {good(stored("b", "b", "a", "c", "b"), "a"), "a"},
		"the only other has failed":    {stored("a", "a", "bad", "a"), ""},
		"none is good, one has failed": {failed(stored("c", "", "a", "b", "c"), "b"), ""},
		"the good one is marked":       {failed(good(stored("c", "b", "a", "b", "c"), "a"), "b"), "a"},
		"the status is lost":           {good(stored("c", "", "a", "b", "c"), "a"), "a"},
		"nothing else":                 {stored("a", "a", "a"), ""},
		"nothing at all":               {stored("a", ""), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := revisions.Previous(test.snapshot)
			if images := snapshot.Images(got.Template); images != test.want || (err != nil) != (test.want == "") {
				t.Errorf("got %q, %v; want %q", images, err, test.want)
			}
			if hint := "'kubectl pm history web -n ns' shows its revisions"; err != nil && !strings.Contains(err.Error(), hint) {
				t.Errorf("got %v, want %s", err, hint)
			}
			hasOthers := len(test.snapshot.Stored) > 1
			if hint := "'kubectl pm undo web --to-revision REVISION -n ns'"; err != nil && strings.Contains(err.Error(), hint) != hasOthers {
				t.Errorf("got %v; the hint %s is for a PodManager with other revisions", err, hint)
			}
		})
	}
}

// If undo does not choose, it says between which revisions the user can.
func TestNoneHasProvenItself(t *testing.T) {
	_, err := revisions.Previous(failed(stored("c", "c", "a", "b", "c"), "a"))
	const want = "no other revision of web has proven itself; there are revision 2 (not completed), revision 1 (failed); "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Without revisions as arguments, diff compares with the revision that undo returns to. If there is none, it does not speak of a return.
func TestBaseline(t *testing.T) {
	if got, err := revisions.Baseline(stored("c", "b", "a", "b", "c")); err != nil || snapshot.Images(got.Template) != "b" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := revisions.Baseline(failed(stored("c", "b", "b", "c"), "b")); err != nil || snapshot.Images(got.Template) != "b" {
		t.Errorf("the only other revision has failed: got %v, %v", got, err)
	}
	_, err := revisions.Baseline(stored("a", "a", "a"))
	const want = "web has no other revision to compare the present template with ('kubectl pm history web -n ns' shows its revisions); " +
		"to compare it with a manifest, run 'kubectl pm diff web -f FILE -n ns'"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestChoose(t *testing.T) {
	s := stored("b", "b", "a", "b")
	for _, wanted := range []string{"1", s.Stored[0].Name, s.Stored[0].Labels[v1.LabelRevision]} {
		if got, err := revisions.Choose(s, wanted); err != nil || snapshot.Images(got.Template) != "a" {
			t.Errorf("%s: got %v, %v", wanted, got, err)
		}
	}
	for _, wanted := range []string{"3", "0", "-1", "latest"} {
		if _, err := revisions.Choose(s, wanted); err == nil || !strings.Contains(err.Error(), "there are 2, 1 (see kubectl pm history web -n ns)") {
			t.Errorf("%s: %v", wanted, err)
		}
	}
}

func TestHistory(t *testing.T) {
	s := failed(stored("bad", "nginx", "old", "nginx", "bad"), "old")
	got := text.Join(revisions.History(s, text.Style{}))
	for _, revision := range s.History() {
		got = strings.ReplaceAll(got, revision.Hash, "HASH")
	}
	want := "REVISION HASH AGE STATE PODS IMAGES CHANGE-CAUSE|3 HASH 60s new, failed 0 bad a try|2 HASH 60s current 3 nginx <none>|1 HASH 60s failed 0 old <none>|"
	if got = strings.ReplaceAll(got, "\n", "|"); strings.Join(strings.Fields(got), " ") != want {
		t.Errorf("got %s", got)
	}
}

// A failed pod that is kept for inspection does not count as a pod of its revision.
func TestHistoryCountsPods(t *testing.T) {
	s := stored("nginx", "nginx", "nginx")
	s = snapshot.New(s.Manager, []*corev1.Pod{Pod(0, Phase(corev1.PodFailed)), Pod(1)}, s.Stored, nil, Now)
	if got := text.Join(revisions.History(s, text.Style{})); !strings.Contains(strings.Join(strings.Fields(got), " "), "current 1 nginx") {
		t.Errorf("got\n%s", got)
	}
}

// history shows which rollouts have halted and which were given up.
func TestIncompleteRollouts(t *testing.T) {
	s := stored("halted", "nginx", "first", "given-up", "nginx", "halted")
	s.Stored[0].Annotations[v1.AnnotationGood] = "2026-01-01T00:00:00Z"
	s.Manager.Status.UpdateRevision = s.Stored[3].Name
	s.Manager.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonHalted}}
	table := text.Join(revisions.History(s, text.Style{}))
	got := strings.Join(strings.Fields(table), " ")
	for _, want := range []string{"60s new, halted 0 halted", "60s current 3 nginx", "60s not completed 0 given-up", "60s 0 first"} {
		if !strings.Contains(got, want) {
			t.Errorf("history lacks %q:\n%s", want, table)
		}
	}
}

// template returns a pod template with two containers.
func template(changes ...func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	cpu := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"tier": "front"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "app", Image: "app:1", Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, Resources: corev1.ResourceRequirements{Requests: cpu}},
			{Name: "log", Image: "log:1", Args: []string{"-v"}},
		}},
	}
	for _, change := range changes {
		change(t)
	}
	return t
}

// A difference in the template changes no pod if all pods have the other template already.
func TestDiffForPods(t *testing.T) {
	other := Pod(3, OfImage("b"), func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-web" })
	leaving := Pod(4, OfImage("b"), Terminating, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-web" })
	const replaced, stay = "Pods are replaced: podUpdatePolicy is Recreate.", "No pod changes: all pods have revision 1 already."
	tests := map[string]struct {
		pods    []*corev1.Pod
		missing []string
		want    string
	}{
		"all have it":           {pods: Pods3(), want: stay},
		"all that stay have it": {pods: append(Pods3(), leaving), want: stay},
		"one does not":          {pods: append(Pods3(), other), want: replaced},
		"there are none":        {want: replaced},
		"not known":             {missing: []string{"pods"}, want: replaced},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := stored("b", "nginx", "nginx", "b")
			s = snapshot.New(s.Manager, test.pods, s.Stored, test.missing, Now)
			to, err := revisions.Previous(s)
			if err != nil {
				t.Fatal(err)
			}
			got := revisions.Undo(s, to)
			if lines := got.Lines(text.Style{}); got.Summary() != test.want || strings.Contains(lines[2], "new pod") != (test.want == replaced) {
				t.Errorf("got %q", lines)
			}
			// A manifest with the template of that revision leads to the same.
			wanted := s.Manager.DeepCopy()
			wanted.Spec.Image = "nginx"
			if got := revisions.Wanted(s, wanted, "web.yaml"); got.Summary() != test.want || got.To != "web.yaml" {
				t.Errorf("with a manifest: got %q", got.Lines(text.Style{}))
			}
		})
	}
}

// During a pause, no pod is replaced, but a pod above replicas is deleted.
func TestDiffInPause(t *testing.T) {
	s := stored("b", "nginx", "nginx", "b")
	s.Manager.Spec.Paused = true
	s = snapshot.New(s.Manager, append(Pods3(), Pod(3, OfImage("b"), NotReady)), s.Stored, nil, Now)
	to, err := revisions.Previous(s)
	if err != nil {
		t.Fatal(err)
	}
	got := revisions.Undo(s, to)
	const want = "Surplus pods are deleted, and no other pod changes: all that stay have revision 1 already."
	if got.Summary() != want || got.Fields[0].How != "no new pod" {
		t.Errorf("got %q", got.Lines(text.Style{}))
	}
}

// With OnDelete, only a user replaces pods, whatever differs.
func TestDiffOnDelete(t *testing.T) {
	const want = "Pods stay as they are until you delete them: the update strategy is OnDelete."
	image := func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "app:2" }
	for name, change := range map[string]func(*corev1.PodTemplateSpec){
		"an image":   image,
		"a variable": func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Env[1].Value = "3" },
		"both":       func(t *corev1.PodTemplateSpec) { image(t); t.Spec.Containers[0].Env[1].Value = "3" },
	} {
		got := revisions.Diff(Manager(3, Strategy(v1.OnDeleteStrategy)), template(), template(change), "A", "B")
		isOther := func(field revisions.Change) bool { return field.How != revisions.NewPod }
		if got.Summary() != want || slices.ContainsFunc(got.Fields, isOther) {
			t.Errorf("%s: got %q", name, got.Lines(text.Style{}))
		}
	}
	// Recreate replaces the pods.
	got := revisions.Diff(Manager(3, Strategy(v1.RecreateStrategy)), template(), template(image), "A", "B")
	if got.Summary() != "Pods are replaced: the update strategy is Recreate." {
		t.Errorf("Recreate: got %q", got.Summary())
	}
}

// undo of a restart replaces the pods once more, although the user has not asked for another restart.
func TestUndoOfARestart(t *testing.T) {
	before, after := Manager(3), Manager(3, func(m *v1.PodManager) { m.Spec.RestartAt = &metav1.Time{Time: Now} })
	s := snapshot.New(after, nil, []*appsv1.ControllerRevision{Stored(before, 1), Stored(after, 2)}, nil, Now)
	after.Status.CurrentRevision = s.Stored[0].Name
	to, err := revisions.Previous(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := revisions.Undo(s, to).Summary(), "Pods are replaced: the time of the restart differs."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDiff(t *testing.T) {
	image := func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "app:2" }
	cpu := func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("200m")
	}
	restart := func(t *corev1.PodTemplateSpec) {
		t.Annotations = map[string]string{v1.AnnotationRestartedAt: "2026-01-02T03:04:05Z"}
	}
	variable := func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Env[1].Value = "3" }
	tests := map[string]struct {
		change func(*corev1.PodTemplateSpec)
		policy v1.PodUpdatePolicy
		want   string
	}{
		"nothing":           {func(*corev1.PodTemplateSpec) {}, v1.InPlaceIfPossible, "A and B have the same template."},
		"an image":          {image, v1.InPlaceIfPossible, "spec.containers[app].image app:1 app:2 in place, restarts app | Pods are updated in place, which restarts app."},
		"not in place":      {image, v1.RecreatePods, "spec.containers[app].image app:1 app:2 new pod | Pods are replaced: podUpdatePolicy is Recreate."},
		"CPU, not in place": {cpu, v1.RecreatePods, "spec.containers[app].resources.requests.cpu 100m 200m new pod | Pods are replaced: podUpdatePolicy is Recreate."},
		"one field needs a new pod": {func(t *corev1.PodTemplateSpec) { image(t); variable(t) }, v1.InPlaceIfPossible,
			"spec.containers[app].env[B].value 2 3 new pod | spec.containers[app].image app:1 app:2 with the new pod | " +
				"Pods are replaced: template.spec.containers[0].env[1].value differs."},
		"one field needs a new pod, by any means": {func(t *corev1.PodTemplateSpec) { image(t); variable(t) }, v1.RecreatePods,
			"spec.containers[app].env[B].value 2 3 new pod | spec.containers[app].image app:1 app:2 with the new pod | " +
				"Pods are replaced: template.spec.containers[0].env[1].value differs."},
		"only in place": {func(t *corev1.PodTemplateSpec) { image(t); variable(t) }, v1.InPlaceOnly,
			"spec.containers[app].env[B].value 2 3 new pod | spec.containers[app].image app:1 app:2 with the new pod | " +
				"Pods stay as they are: podUpdatePolicy is InPlaceOnly, and template.spec.containers[0].env[1].value differs."},
		"CPU": {cpu, v1.InPlaceOnly, "spec.containers[app].resources.requests.cpu 100m 200m resize | Pods are resized in place, if their node has room."},
		"image and CPU": {func(t *corev1.PodTemplateSpec) { image(t); cpu(t) }, v1.InPlaceOnly,
			"spec.containers[app].image app:1 app:2 in place, restarts app | spec.containers[app].resources.requests.cpu 100m 200m resize | " +
				"Pods are updated and resized in place, which restarts app."},
		"a label": {func(t *corev1.PodTemplateSpec) { t.Labels["tier"] = "back" }, v1.InPlaceOnly,
			"metadata.labels.tier front back in place | Pods are updated in place, without a restart."},
		"the first annotation": {func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"a": "x"} }, v1.InPlaceOnly,
			"metadata.annotations.a <none> x in place | Pods are updated in place, without a restart."},
		"all labels gone": {func(t *corev1.PodTemplateSpec) { t.Labels = nil }, v1.InPlaceOnly,
			"metadata.labels.tier front <none> in place | Pods are updated in place, without a restart."},
		"a variable": {variable, v1.InPlaceIfPossible,
			"spec.containers[app].env[B].value 2 3 new pod | Pods are replaced: template.spec.containers[0].env[1].value differs."},
		"a variable less": {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Env = t.Spec.Containers[0].Env[1:] }, v1.InPlaceIfPossible,
			`spec.containers[app].env[A] {"name":"A","value":"1"} <none> new pod | Pods are replaced: template.spec.containers[0].env differs.`},
		"another order": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Env[0], t.Spec.Containers[0].Env[1] = t.Spec.Containers[0].Env[1], t.Spec.Containers[0].Env[0]
		}, v1.InPlaceIfPossible,
			`spec.containers[app].env [{"name":"A","value":"1"},{"name":"B","value":"2"}] [{"name":"B","value":"2"},{"name":"A","value":"1"}] new pod | ` +
				"Pods are replaced: template.spec.containers[0].env[0].name differs."},
		"a container more": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "new", Image: "new:1"})
		}, v1.InPlaceIfPossible,
			`spec.containers[new] <none> {"image":"new:1","name":"new","resources":{}} new pod | Pods are replaced: template.spec.containers differs.`},
		"a restart": {restart, v1.InPlaceIfPossible,
			"metadata.annotations.kubectl.kubernetes.io/restartedAt <none> 2026-01-02T03:04:05Z new pod | Pods are replaced: the time of the restart differs."},
		"a restart, only in place": {restart, v1.InPlaceOnly,
			"metadata.annotations.kubectl.kubernetes.io/restartedAt <none> 2026-01-02T03:04:05Z new pod | " +
				"Pods stay as they are: podUpdatePolicy is InPlaceOnly, and the time of the restart differs."},
		"an image after a restart": {func(t *corev1.PodTemplateSpec) { image(t); restart(t) }, v1.RecreatePods,
			"spec.containers[app].image app:1 app:2 new pod | metadata.annotations.kubectl.kubernetes.io/restartedAt <none> 2026-01-02T03:04:05Z new pod | " +
				"Pods are replaced: podUpdatePolicy is Recreate."},
		"a variable after a restart": {func(t *corev1.PodTemplateSpec) { variable(t); restart(t) }, v1.InPlaceIfPossible,
			"spec.containers[app].env[B].value 2 3 new pod | metadata.annotations.kubectl.kubernetes.io/restartedAt <none> 2026-01-02T03:04:05Z new pod | " +
				"Pods are replaced: template.spec.containers[0].env[1].value differs."},
		"an image after a restart, in place": {func(t *corev1.PodTemplateSpec) { image(t); restart(t) }, v1.InPlaceIfPossible,
			"spec.containers[app].image app:1 app:2 with the new pod | metadata.annotations.kubectl.kubernetes.io/restartedAt <none> 2026-01-02T03:04:05Z new pod | " +
				"Pods are replaced: spec.containers[app].image differs, and so does restartAt, which needs new pods."},
		"an argument": {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].Args = []string{"-q", "-x"} }, v1.InPlaceIfPossible,
			`spec.containers[log].args ["-v"] ["-q","-x"] new pod | Pods are replaced: template.spec.containers[1].args differs.`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lines := revisions.Diff(Manager(3, InPlace(test.policy, 0)), template(), template(test.change), "A", "B").Lines(text.Style{})
			if len(lines) > 2 {
				lines = lines[2:] // skip the titles
			}
			for i := range lines {
				lines[i] = strings.Join(strings.Fields(lines[i]), " ")
			}
			got := strings.Join(lines, " | ")
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if strings.Contains(got, "in place") && strings.Contains(got, "replaced") {
				t.Errorf("pods cannot be both updated in place and replaced: %s", got)
			}
		})
	}
}
