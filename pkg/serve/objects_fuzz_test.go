package serve

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Whatever a status contains, Prometheus reads the same texts and numbers, and a line never becomes two.
func FuzzWriteObjects(f *testing.F) {
	f.Add("team-a", "web", "web-5d9c", "Ready", "True", "RollingOut", int64(7), int32(3))
	f.Add("a\n", `b"`, `c\`, "", "", `"} 1`+"\n# HELP x y\n", int64(-1), int32(-1))
	f.Add(`\n`, `\\"`, "\x00\r\t", "é", "ß", "\u2028", int64(0), int32(0))
	f.Fuzz(func(t *testing.T, namespace, name, revision, kind, status, reason string, generation int64, replicas int32) {
		for _, text := range []string{namespace, name, revision, kind, status, reason} {
			if !utf8.ValidString(text) { // the API server stores valid UTF-8 only
				return
			}
		}
		m := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: generation}}
		m.Status.UpdateRevision, m.Status.Replicas = revision, replicas
		m.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason}}
		var out bytes.Buffer
		if err := writeObjects(&out, []*v1.PodManager{m}); err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, out.Bytes())
		}
		if len(families) != len(objectFamilies)+2 {
			t.Errorf("%d metric families, want %d, in\n%s", len(families), len(objectFamilies)+2, out.Bytes())
		}
		for family, labels := range map[string]map[string]string{
			"info":             {"namespace": namespace, "podmanager": name, "update_revision": revision},
			"status_condition": {"namespace": namespace, "podmanager": name, "condition": kind, "status": strings.ToLower(status), "reason": reason},
		} {
			series := families["kube_podmanager_"+family].GetMetric()
			if len(series) != 1 || len(series[0].GetLabel()) != len(labels) {
				t.Fatalf("the metric %s has the series %v, want one with %d labels", family, series, len(labels))
			}
			for _, label := range series[0].GetLabel() {
				if want := labels[label.GetName()]; label.GetValue() != want {
					t.Errorf("%s is read as %q, want %q", label.GetName(), label.GetValue(), want)
				}
			}
		}
		if got := families["kube_podmanager_status_replicas"].GetMetric()[0].GetGauge().GetValue(); got != float64(replicas) {
			t.Errorf("read %v replicas, want %d", got, replicas)
		}
	})
}
