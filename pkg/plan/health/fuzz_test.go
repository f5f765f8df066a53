package health_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/health"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// Any client that may edit a pod may write how many pods have failed before it, and which pods it replaces. The count still grows by one, and the
// backoff stays within its limit.
func FuzzRetries(f *testing.F) {
	f.Add("1", "0", "uid-web-0", int64(60))
	f.Add("-1", "x", "", int64(0))
	f.Add("9223372036854775807", "9223372036854775807", ",,", int64(3600))
	f.Add("2147483647", "2147483648", "2147483647", int64(-5))
	f.Fuzz(func(t *testing.T, failures, disruptions, replaced string, ago int64) {
		failed := FailedPod(0, time.Duration(max(ago%7200, -(ago%7200)))*time.Second, 0)
		failed.Annotations = map[string]string{v1.AnnotationFailuresBefore: failures, v1.AnnotationDisruptionsBefore: disruptions}
		active := Pod(1, Annotated(v1.AnnotationReplaces, replaced))
		revision := RevisionFor(Manager(3))
		found := FindRetries(revision, []*corev1.Pod{active}, []*corev1.Pod{failed}, Now)
		if all := len(found.Waiting) + len(found.Due); all > 1 || all == 0 && !strings.Contains(replaced, string(failed.UID)) {
			t.Fatalf("%d retries of one failed pod", all)
		}
		for _, retry := range append(found.Waiting, found.Due...) {
			if retry.Failures < 1 || retry.Failures < FailuresBefore(failed) && retry.Failures != 1 || retry.Disruptions < 0 {
				t.Errorf("%d failures after %q, %d disruptions after %q", retry.Failures, failures, retry.Disruptions, disruptions)
			}
			if wait := retry.Due.Sub(Now); wait > MaxBackOff {
				t.Errorf("the replacement waits for %v", wait)
			}
			// The replacement has to be recognized. Otherwise each sync would create another one.
			next := Pod(1)
			SetReplaces(next, []types.UID{"another", retry.Pod.UID})
			if again := FindRetries(revision, []*corev1.Pod{next}, []*corev1.Pod{failed}, Now); len(again.Waiting)+len(again.Due) > 0 {
				t.Errorf("a pod that was replaced after %d failures does not count as replaced", retry.Failures)
			}
		}
	})
}
