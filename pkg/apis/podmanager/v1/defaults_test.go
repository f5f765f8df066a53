package v1

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestFailureThreshold(t *testing.T) {
	tests := map[string]struct {
		limit    *intstr.IntOrString
		replicas int32
		want     int
	}{
		"nothing said":                  {nil, 10, 1},
		"a number":                      {ptr.To(intstr.FromInt32(4)), 10, 4},
		"more than there are":           {ptr.To(intstr.FromInt32(40)), 10, 40},
		"a percentage":                  {ptr.To(intstr.FromString("30%")), 10, 3},
		"rounded down":                  {ptr.To(intstr.FromString("50%")), 5, 2},
		"but not to none":               {ptr.To(intstr.FromString("1%")), 10, 1},
		"nor of no pods":                {ptr.To(intstr.FromString("100%")), 0, 1},
		"all":                           {ptr.To(intstr.FromString("100%")), 10, 10},
		"less than one, from before":    {ptr.To(intstr.FromInt32(0)), 10, 1},
		"what cannot be read, the same": {ptr.To(intstr.FromString("many")), 10, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := &PodManager{Spec: PodManagerSpec{Replicas: &test.replicas, FailurePolicy: FailurePolicy{FailureThreshold: test.limit}}}
			if got := m.FailureThreshold(); got != test.want {
				t.Errorf("%d pods have to fail, want %d", got, test.want)
			}
		})
	}
}

func TestPacesScaleDown(t *testing.T) {
	limit := func(value intstr.IntOrString) *ScaleDown { return &ScaleDown{MaxTerminating: &value} }
	tests := map[string]struct {
		scaleDown *ScaleDown
		want      bool
	}{
		"nothing said":         {nil, false},
		"no limit said":        {&ScaleDown{}, false},
		"all":                  {limit(intstr.FromString("100%")), false},
		"nearly all":           {limit(intstr.FromString("99%")), true},
		"one percent":          {limit(intstr.FromString("1%")), true},
		"one":                  {limit(intstr.FromInt32(1)), true},
		"more than there are":  {limit(intstr.FromInt32(1000)), true},
		"what cannot be read":  {limit(intstr.FromString("many")), false},
		"a number as text, so": {limit(intstr.FromString("2")), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := &PodManager{Spec: PodManagerSpec{Replicas: ptr.To[int32](3), ScaleDown: test.scaleDown}}
			if got := m.PacesScaleDown(); got != test.want {
				t.Errorf("paces: %v", got)
			}
		})
	}
}
