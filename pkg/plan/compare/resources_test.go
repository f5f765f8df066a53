package compare_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	. "github.com/mycompany/podmanager/pkg/plan/compare"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

func TestRestartAmounts(t *testing.T) {
	const no, yes = corev1.NotRequired, corev1.RestartContainer
	limitOnly := func(limit string) func(*corev1.PodTemplateSpec) { return Needs(Amounts(corev1.ResourceCPU, "", limit)) }
	tests := map[string]struct {
		from, to *corev1.PodTemplateSpec
		want     bool
	}{
		"no policy":                               {from: TemplateWith(Sized("1", "1Gi", "")), to: TemplateWith(Sized("2", "2Gi", ""))},
		"CPU, NotRequired":                        {from: TemplateWith(Sized("1", "1Gi", "2")), to: TemplateWith(Sized("2", "1Gi", "2"), Policies(no, yes))},
		"a CPU limit, NotRequired":                {from: TemplateWith(Sized("1", "1Gi", "2")), to: TemplateWith(Sized("1", "1Gi", "3"), Policies(no, yes))},
		"memory, RestartContainer":                {from: TemplateWith(Sized("1", "1Gi", "")), to: TemplateWith(Sized("1", "2Gi", ""), Policies(no, yes)), want: true},
		"CPU, RestartContainer":                   {from: TemplateWith(Sized("1", "1Gi", "")), to: TemplateWith(Sized("2", "1Gi", ""), Policies(yes, no)), want: true},
		"a CPU limit, RestartContainer":           {from: TemplateWith(Sized("1", "1Gi", "2")), to: TemplateWith(Sized("1", "1Gi", "3"), Policies(yes, no)), want: true},
		"memory, NotRequired":                     {from: TemplateWith(Sized("1", "1Gi", "")), to: TemplateWith(Sized("1", "2Gi", ""), Policies(yes, no))},
		"the same amounts in other units":         {from: TemplateWith(Sized("1", "1Gi", "")), to: TemplateWith(Sized("1000m", "1024Mi", ""), Policies(yes, yes))},
		"a request that was the limit by default": {from: TemplateWith(limitOnly("1")), to: TemplateWith(Needs(Amounts(corev1.ResourceCPU, "1", "1")), Policies(yes, yes))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			had, to := test.from.Spec.Containers[0].Resources, test.to.Spec.Containers[0]
			if got := HasOtherAmounts(to.Resources, RestartAmounts(had, to.ResizePolicy)); got != test.want {
				t.Errorf("restarts: %v", got)
			}
		})
	}
}

func TestQoS(t *testing.T) {
	both := func(request, limit string) corev1.ResourceRequirements {
		all := Amounts("cpu", request, limit)
		memory := Amounts("memory", request, limit)
		if request != "" {
			all.Requests["memory"] = memory.Requests["memory"]
		}
		if limit != "" {
			all.Limits["memory"] = memory.Limits["memory"]
		}
		return all
	}
	tests := map[string]struct {
		containers []corev1.ResourceRequirements
		want       corev1.PodQOSClass
	}{
		"nothing asked for":        {containers: []corev1.ResourceRequirements{{}}, want: corev1.PodQOSBestEffort},
		"only other resources":     {containers: []corev1.ResourceRequirements{Amounts("example.com/gpu", "1", "1")}, want: corev1.PodQOSBestEffort},
		"limits equal requests":    {containers: []corev1.ResourceRequirements{both("1", "1")}, want: corev1.PodQOSGuaranteed},
		"limits alone":             {containers: []corev1.ResourceRequirements{both("", "1")}, want: corev1.PodQOSGuaranteed},
		"less requested":           {containers: []corev1.ResourceRequirements{both("1", "2")}, want: corev1.PodQOSBurstable},
		"requests alone":           {containers: []corev1.ResourceRequirements{both("1", "")}, want: corev1.PodQOSBurstable},
		"CPU alone":                {containers: []corev1.ResourceRequirements{Amounts("cpu", "1", "1")}, want: corev1.PodQOSBurstable},
		"one container without":    {containers: []corev1.ResourceRequirements{both("1", "1"), {}}, want: corev1.PodQOSBurstable},
		"each container by itself": {containers: []corev1.ResourceRequirements{both("1", "1"), both("2", "2")}, want: corev1.PodQOSGuaranteed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := &corev1.PodSpec{}
			for i, resources := range test.containers {
				container := corev1.Container{Resources: resources}
				if i == 1 { // init containers count, too
					spec.InitContainers = append(spec.InitContainers, container)
					continue
				}
				spec.Containers = append(spec.Containers, container)
			}
			if got := QosOf(spec); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
