package inplace_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// Restarts count as crashes only beyond those that the container had before the update, and those that the update explains.
func TestCrashesAfterUpdate(t *testing.T) {
	const revision = "77"
	for name, test := range map[string]struct {
		record   string
		restarts int32
		want     int32
	}{
		"no update":                           {restarts: 2, want: 2},
		"another container, restarted before": {record: `{"revision":"77","others":{"app":{"restarts":2}}}`, restarts: 2},
		"and once since":                      {record: `{"revision":"77","others":{"app":{"restarts":2}}}`, restarts: 3, want: 1},
		"it was in a crash loop":              {record: `{"revision":"77","others":{"app":{"restarts":2,"trouble":"Crash"}}}`, restarts: 3},
		"and has crashed since":               {record: `{"revision":"77","others":{"app":{"restarts":2,"trouble":"Crash"}}}`, restarts: 4, want: 1},
		"this container, restarted":           {record: `{"revision":"77","containers":{"app":{"from":"app:1","restarts":2,"generation":1}}}`, restarts: 3},
		"and has crashed":                     {record: `{"revision":"77","containers":{"app":{"from":"app:1","restarts":2,"generation":1}}}`, restarts: 4, want: 1},
		"a resize before it was not finished": {record: `{"revision":"77","containers":{"app":{"from":"app:1","had":{},"restarts":2,"generation":1}}}`, restarts: 4},
		"and has crashed, too":                {record: `{"revision":"77","containers":{"app":{"from":"app:1","had":{},"restarts":2,"generation":1}}}`, restarts: 5, want: 1},
		"only limits were known":              {record: `{"revision":"77","containers":{"app":{"from":"app:1","had":{"limits":{"cpu":"1"}},"restarts":2,"generation":1}}}`, restarts: 4, want: 1},
		"requests and limits were known":      {record: `{"revision":"77","containers":{"app":{"from":"app:1","had":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}},"restarts":2,"generation":1}}}`, restarts: 4, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			pod := Pod(0, Labelled(v1.LabelRevision, revision), Annotated(v1.AnnotationInPlace, test.record))
			pod.Generation = 2
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: test.restarts}}
			if got := Crashes(pod, &pod.Status.ContainerStatuses[0]); got != test.want {
				t.Errorf("%d crashes, want %d", got, test.want)
			}
		})
	}
}
