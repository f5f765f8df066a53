package inplace_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Any client that may edit a pod may write its record. Whatever the record contains, Crashes returns at least zero and at most the number of
// restarts, the next update replaces the record, and repeated refusals do not make it longer.
func FuzzRecord(f *testing.F) {
	f.Add(`{"revision":"5d9c","at":"2026-01-02T03:04:00Z","containers":{"app":{"imageID":"id","restarts":1,"from":"nginx"}}}`, int32(2), int64(3), int64(3), "id")
	f.Add(`{"revision":"x","begun":true,"containers":{"app":{"had":{"requests":{"cpu":"1"}}}},"before":{"revision":"5d9c"}}`, int32(0), int64(2), int64(1), "")
	f.Add(`{"refused":"no","retryAt":"2026-01-02T04:04:00Z","before":{"refused":"no","before":{"before":{}}}}`, int32(1), int64(1), int64(0), "id")
	f.Add(`{"containers":{"app":{"restarts":2147483647,"generation":-9223372036854775808,"trouble":"Crash"}},"others":{"app":{"restarts":-2147483648}}}`,
		int32(2147483647), int64(9223372036854775807), int64(5), "id")
	f.Add(`{"at":"9999-12-31T23:59:59Z","begun":true,"others":{"app":{"trouble":"Crash"}}}`, int32(1), int64(1), int64(1), "")
	f.Add(`{"revision":"x","others":{"app":{"restarts":-3}}}`, int32(2), int64(1), int64(1), "id")
	f.Add(`{"revision":"x","containers":{"app":{"restarts":2147483647}}}`, int32(2), int64(2147483647), int64(0), "id")
	f.Add(`[]`, int32(-1), int64(-1), int64(-1), "id")
	f.Fuzz(func(t *testing.T, record string, restarts int32, generation, observed int64, imageID string) {
		for _, hash := range []string{RevisionFor(Manager(0)).Hash, "", "x"} {
			pod := Pod(0, Labelled(v1.LabelRevision, hash), Annotated(v1.AnnotationInPlace, record))
			pod.Generation, pod.Status.ObservedGeneration = generation, observed
			pod.Spec.Containers[0].StartupProbe = &corev1.Probe{PeriodSeconds: 10}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: restarts, ImageID: imageID,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			checkRecord(t, pod)
			checkPatches(t, pod)
		}
	})
}

func checkRecord(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	status := &pod.Status.ContainerStatuses[0]
	if crashes := Crashes(pod, status); crashes < 0 || crashes > max(0, status.RestartCount) {
		t.Errorf("%d crashes in %d restarts", crashes, status.RestartCount)
	}
	if got, want := AllCrashes(pod), Crashes(pod, status); got != want {
		t.Errorf("%d crashes in all, %d of the one container", got, want)
	}
	if wait, known := UntilRetry(pod, Now); wait < 0 || known && RefusalOf(pod, "no revision") != "" {
		t.Errorf("retry in %v", wait)
	}
	if wait := StatusTrustDelay(pod, Now); wait < 0 {
		t.Errorf("the status is trusted in %v", wait)
	}
	if IsUpdating(pod) && pod.Annotations[v1.AnnotationInPlace] == "" {
		t.Error("a pod without a record counts as being updated")
	}
	HasOwnTrouble(pod, status)
	IsResizeStuck(pod)
	MayRestart(pod)
	UpdatedAt(pod)
}

// checkPatches checks that the next update replaces the record by one that reads back as written, and that a second refusal adds nothing to the
// first.
func checkPatches(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	to := RevisionFor(Manager(0, Image("v2")))
	update := Update{Pod: pod, Step: StepUpdate, From: RevisionFor(Manager(0)), To: to}
	patch, err := update.Patch(Manager(0), Now)
	if err != nil {
		t.Fatal(err)
	}
	updated := patched(t, pod, patch)
	updated.Labels[v1.LabelRevision] = to.Hash
	if last := CompletedRecord(updated); last.Revision != to.Hash || !last.At.Equal(Now) || last.Begun || last.Refused != "" || last.Before != nil {
		t.Errorf("the record became %+v", last)
	}
	refusal := requeue.Failure{Reason: v1.ReasonForbidden, Message: "quota"}
	var lengths []int
	for range 3 {
		patch, err := update.RefusalPatch(refusal, false, Now)
		if err != nil {
			t.Fatal(err)
		}
		update.Pod = patched(t, update.Pod, patch)
		if RefusalOf(update.Pod, to.Hash) != "quota" {
			t.Fatalf("the refusal is %q", RefusalOf(update.Pod, to.Hash))
		}
		if wait, known := UntilRetry(update.Pod, Now); !known || wait <= 0 || wait > time.Hour {
			t.Errorf("retry in %v", wait)
		}
		lengths = append(lengths, len(update.Pod.Annotations[v1.AnnotationInPlace]))
	}
	if lengths[2] > lengths[1] {
		t.Errorf("the record grows: %v", lengths)
	}
}

// patched returns the pod with the annotations of a patch.
func patched(t *testing.T, pod *corev1.Pod, patch []byte) *corev1.Pod {
	t.Helper()
	var change struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal(patch, &change); err != nil {
		t.Fatalf("%v: %s", err, patch)
	}
	pod = pod.DeepCopy()
	for key, value := range change.Metadata.Annotations {
		pod.Annotations[key] = value
	}
	return pod
}
