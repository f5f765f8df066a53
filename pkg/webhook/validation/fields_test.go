package validation

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// specFields lists all fields of a PodManagerSpec, with a change for each, and whether the change affects pods.
var specFields = map[string]struct {
	change     func(*v1.PodManagerSpec)
	makesOther bool
}{
	"image":                   {func(s *v1.PodManagerSpec) { s.Image = "other" }, true},
	"template":                {func(s *v1.PodManagerSpec) { s.Template = &corev1.PodTemplateSpec{} }, true},
	"restartAt":               {func(s *v1.PodManagerSpec) { s.RestartAt = &metav1.Time{Time: time.Unix(1, 0)} }, true},
	"replicas":                {func(s *v1.PodManagerSpec) { s.Replicas = ptr.To[int32](9) }, false},
	"minReadySeconds":         {func(s *v1.PodManagerSpec) { s.MinReadySeconds = 9 }, false},
	"failurePolicy":           {func(s *v1.PodManagerSpec) { s.FailurePolicy.OnFailure = v1.RollbackOnFailure }, false},
	"paused":                  {func(s *v1.PodManagerSpec) { s.Paused = true }, false},
	"progressDeadlineSeconds": {func(s *v1.PodManagerSpec) { s.ProgressDeadlineSeconds = ptr.To[int32](9) }, false},
	"revisionHistoryLimit":    {func(s *v1.PodManagerSpec) { s.RevisionHistoryLimit = ptr.To[int32](9) }, false},
	"scaleDown":               {func(s *v1.PodManagerSpec) { s.ScaleDown = &v1.ScaleDown{MaxTerminating: ptr.To(intstr.FromInt32(9))} }, false},
	"podReplacementPolicy":    {func(s *v1.PodManagerSpec) { s.PodReplacementPolicy = v1.TerminationComplete }, false},
	"disruption":              {func(s *v1.PodManagerSpec) { s.Disruption = &v1.Disruption{OnDrain: v1.ReplaceDrain} }, false},
	"failedPodsHistoryLimit":  {func(s *v1.PodManagerSpec) { s.FailedPodsHistoryLimit = ptr.To[int32](9) }, false},

	"updateStrategy.type":                                    {func(s *v1.PodManagerSpec) { s.UpdateStrategy.Type = v1.RecreateStrategy }, true},
	"updateStrategy.rollingUpdate.maxSurge":                  {rolling(func(r *v1.RollingUpdate) { r.MaxSurge = ptr.To(intstr.FromInt32(9)) }), false},
	"updateStrategy.rollingUpdate.maxUnavailable":            {rolling(func(r *v1.RollingUpdate) { r.MaxUnavailable = ptr.To(intstr.FromInt32(9)) }), false},
	"updateStrategy.rollingUpdate.partition":                 {rolling(func(r *v1.RollingUpdate) { r.Partition = ptr.To(intstr.FromInt32(9)) }), false},
	"updateStrategy.rollingUpdate.podUpdatePolicy":           {rolling(func(r *v1.RollingUpdate) { r.PodUpdatePolicy = v1.RecreatePods }), true},
	"updateStrategy.rollingUpdate.inPlaceGracePeriodSeconds": {rolling(func(r *v1.RollingUpdate) { r.InPlaceGracePeriodSeconds = 0 }), true},
}

func rolling(change func(*v1.RollingUpdate)) func(*v1.PodManagerSpec) {
	return func(s *v1.PodManagerSpec) { change(s.UpdateStrategy.RollingUpdate) }
}

// A field is tried if it affects the pod, and only then. A new field must be added to specFields.
func TestEveryFieldIsClassified(t *testing.T) {
	names := fieldNames(reflect.TypeFor[v1.PodManagerSpec](), "", "updateStrategy", "updateStrategy.rollingUpdate")
	if told := slices.Sorted(maps.Keys(specFields)); !slices.Equal(names, told) {
		t.Fatalf("the fields of a PodManagerSpec are\n%q, but specFields has\n%q", names, told)
	}
	base := v1.PodManager{Spec: v1.PodManagerSpec{Image: "a", UpdateStrategy: v1.UpdateStrategy{RollingUpdate: &v1.RollingUpdate{
		PodUpdatePolicy: v1.InPlaceIfPossible, InPlaceGracePeriodSeconds: 1, // so that pods have the readiness gate
	}}}}
	handler := handlerWith(t, &api{})
	for name, field := range specFields {
		changed := base.DeepCopy()
		field.change(&changed.Spec)
		if equality.Semantic.DeepEqual(base.Spec, changed.Spec) {
			t.Errorf("the change of %s in specFields changes nothing", name)
		}
		if other := !equality.Semantic.DeepEqual(handler.podToTry(&base), handler.podToTry(changed)); other != field.makesOther {
			t.Errorf("a change of %s makes another pod: %t, want %t", name, other, field.makesOther)
		}
	}
}

// fieldNames returns the fields of a type, sorted. Opened fields are replaced by the fields inside them.
func fieldNames(kind reflect.Type, prefix string, opened ...string) []string {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	var names []string
	for field := range kind.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name = prefix + name; slices.Contains(opened, name) {
			names = append(names, fieldNames(field.Type, name+".", opened...)...)
		} else {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
