package apiserver

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// setPodDefaults sets the defaults that the API server and its built-in admission plugins set in every pod.
func setPodDefaults(pod *corev1.Pod) {
	spec := &pod.Spec
	setDefault(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setDefault(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setDefault(&spec.SchedulerName, corev1.DefaultSchedulerName)
	setDefault(&spec.SecurityContext, &corev1.PodSecurityContext{})
	setDefault(&spec.TerminationGracePeriodSeconds, ptr.To[int64](corev1.DefaultTerminationGracePeriodSeconds))
	setDefault(&spec.EnableServiceLinks, ptr.To(corev1.DefaultEnableServiceLinks))
	setDefault(&spec.Priority, ptr.To[int32](0))
	setDefault(&spec.PreemptionPolicy, ptr.To(corev1.PreemptLowerPriority))
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			setContainerDefaults(&containers[i])
		}
	}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		addToleration(spec, taint)
	}
}

func setDefault[T comparable](field *T, value T) {
	var none T
	if *field == none {
		*field = value
	}
}

func setContainerDefaults(c *corev1.Container) {
	policy := corev1.PullIfNotPresent
	if name := c.Image[strings.LastIndex(c.Image, "/")+1:]; strings.HasSuffix(name, ":latest") || !strings.ContainsAny(name, ":@") {
		policy = corev1.PullAlways
	}
	setDefault(&c.ImagePullPolicy, policy)
	setDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		setDefault(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil {
			setProbeDefaults(probe)
		}
	}
	for name, limit := range c.Resources.Limits {
		if _, found := c.Resources.Requests[name]; !found {
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Requests[name] = limit.DeepCopy()
		}
	}
}

func setProbeDefaults(p *corev1.Probe) {
	setDefault(&p.TimeoutSeconds, 1)
	setDefault(&p.PeriodSeconds, 10)
	setDefault(&p.SuccessThreshold, 1)
	setDefault(&p.FailureThreshold, 3)
	if p.HTTPGet != nil {
		setDefault(&p.HTTPGet.Path, "/")
		setDefault(&p.HTTPGet.Scheme, corev1.URISchemeHTTP)
	}
}

// addToleration lets a pod stay on a node with this taint for five minutes, unless the pod already tolerates it.
func addToleration(spec *corev1.PodSpec, taint string) {
	for _, t := range spec.Tolerations {
		if (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return
		}
	}
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
		Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300),
	})
}
