//go:build e2e

package chart

import (
	"strings"
	"testing"
)

// The schema refuses typos and values that cannot work, and reports where they are.
func TestRefusedValues(t *testing.T) {
	for value, want := range map[string]string{
		"replicacount=3":                          "'replicacount' not allowed",
		"image.tagg=v1":                           "'tagg' not allowed",
		"image.tag=a b":                           "/image/tag",
		"image.digest=sha256:12":                  "/image/digest",
		"image.pullPolicy=Sometimes":              "/image/pullPolicy",
		"replicaCount=-1":                         "/replicaCount",
		"replicaCount=2.5":                        "/replicaCount",
		"shards=-1":                               "/shards",
		"shards=257":                              "/shards",
		"shards=many":                             "/shards",
		"flags.workers=many":                      "/flags/workers",
		"flags.resync=5":                          "/flags/resync",
		"flags.loggingFormat=xml":                 "/flags/loggingFormat",
		"namespaces={Team_A}":                     "/namespaces/0",
		"namespaces={a,a}":                        "/namespaces",
		"extraArgs={v=2}":                         "/extraArgs/0",
		"resources.limits.memory=1 GB":            "/resources/limits/memory",
		"resources.limit.memory=1Gi":              "'limit' not allowed",
		"podDisruptionBudget.maxUnavailable=half": "/podDisruptionBudget/maxUnavailable",
		"metrics.serviceMonitor.interval=often":   "/metrics/serviceMonitor/interval",
		"metrics.prometheusRule.enable=true":      "'enable' not allowed",
		"metrics.dashboard.labels.a=1":            "/metrics/dashboard/labels/a", // a label must be a string
		"crds.kept=true":                          "'kept' not allowed",
		"webhook.failurePolicy=Maybe":             "/webhook/failurePolicy",
		"webhook.timeoutSeconds=31":               "/webhook/timeoutSeconds",
		"webhook.certificateLifetime=soon":        "/webhook/certificateLifetime",
		"webhook.certManager.issuer=a":            "'issuer' not allowed",
		"webhook.deployment.replicas=3":           "'replicas' not allowed",
		"webhook.deployment.extraArgs={v=2}":      "/webhook/deployment/extraArgs/0",
		"admissionPolicy=false":                   "/admissionPolicy",
		"admissionPolicy.enable=false":            "'enable' not allowed",

		"networkPolicy.webhookFrom[0]=everyone":           "/networkPolicy/webhookFrom",
		"webhook.deployment.resources.limits.memory=1 GB": "/resources/limits/memory",
		"commonLabels.a=1":                                "/commonLabels/a",
		"extraEnv[0].value=a":                             "missing property 'name'",
		"extraVolumeMounts[0].name=a":                     "missing property 'mountPath'",
		"extraVolumes={tmp}":                              "/extraVolumes/0",
		"hostNetwork=maybe":                               "/hostNetwork",
		"livenessProbe.httpGet.path=/":                    "'httpGet' not allowed",
		"livenessProbe.periodSeconds=0":                   "/livenessProbe/periodSeconds",
		"livenessProbe.successThreshold=2":                "'successThreshold' not allowed", // must be 1
		"readinessProbe.terminationGracePeriodSeconds=1":  "'terminationGracePeriodSeconds' not allowed",
		"podSecurityContext=root":                         "/podSecurityContext",
		"securityContext=root":                            "/securityContext",
		"networkPolicy.apiServerPorts={0}":                "/networkPolicy/apiServerPorts/0",
		"metrics.prometheusRule.runbookURL=../README.md":  "/metrics/prometheusRule/runbookURL",
	} {
		out, err := tryHelm(t, "template", "podmanager", shared.chart, withImage, "--set", value)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("--set %s: got %v\n%s\nwant a refusal that has %q", value, err, firstLines(out), want)
		}
	}
}

// Two values that contradict each other are refused with a message that names both, and says what to do. Each value alone is accepted.
func TestConflictingValues(t *testing.T) {
	const apart = "webhook.enabled=true,webhook.deployment.enabled=true,"
	for values, want := range map[string]string{
		"image.repository=":                                                       "image.repository is not set: name the image with its registry",
		"flags.leaderElect=false":                                                 "replicaCount is 2, and more than one replica needs flags.leaderElect",
		"flags.leaderElect=false,replicaCount=1,shards=8":                         "shards needs flags.leaderElect",
		"flags.leaderElect=false,replicaCount=1":                                  "",
		"webhook.enabled=true,namespaces={a}":                                     "webhook.enabled needs rights in the whole cluster",
		"namespaces={a},metrics.serviceMonitor.enabled=true":                      "metrics.serviceMonitor.enabled does not work with namespaces",
		"namespaces={a},metrics.serviceMonitor.enabled=true,metrics.secure=false": "",
		"namespaces={a},metrics.serviceMonitor.enabled=true,rbac.create=false":    "", // another user grants the permissions
		"metrics.serviceMonitor.enabled=true":                                     "",
		"webhook.clientCA.secret=a,webhook.clientCA.configMap=b":                  "webhook.clientCA.configMap and webhook.clientCA.secret are both set",
		apart + "webhook.deployment.serviceAccountName=podmanager-controller":     "webhook.deployment.serviceAccountName names the controller's ServiceAccount",
		`commonLabels.app\.kubernetes\.io/name=a`:                                 "commonLabels has app.kubernetes.io/name, which the chart sets itself",
		`commonLabels.rbac\.authorization\.k8s\.io/aggregate-to-view=a`:           "commonLabels has rbac.authorization.k8s.io/aggregate-to-view",
		`commonLabels.app\.kubernetes\.io/part-of=a`:                              "",
		`podLabels.app\.kubernetes\.io/component=a`:                               "podLabels has app.kubernetes.io/component, by which the Deployment finds its pods",
		"extraEnv[0].name=POD_NAMESPACE":                                          "extraEnv has POD_NAMESPACE, which the chart sets itself",
	} {
		out, err := tryHelm(t, "template", "podmanager", shared.chart, withImage, "--set", values)
		switch {
		case want == "" && err != nil:
			t.Errorf("--set %s is refused: %v", values, err)
		case want != "" && (err == nil || !strings.Contains(out, want)):
			t.Errorf("--set %s: got %v\n%s\nwant a refusal that has %q", values, err, firstLines(out), want)
		}
	}
	// All refusals are reported at once.
	out, err := tryHelm(t, "template", "podmanager", shared.chart, "--set", "flags.leaderElect=false,shards=8")
	if err == nil || !strings.Contains(out, "image.repository is not set") || !strings.Contains(out, "replicaCount is 2") || !strings.Contains(out, "shards needs") {
		t.Errorf("got %v\n%s\nwant three refusals", err, firstLines(out))
	}
}

// If an earlier release has left a conversion webhook in the CRD, a release without webhooks is refused with a message on what to do first.
func TestConversionLeftBehind(t *testing.T) {
	const crd = "podmanagers.apps.mycompany.com"
	patch := func(kind, change string) {
		t.Helper()
		kubectl(t, "", "patch", "crd", crd, "--type", kind, "-p", change)
	}
	kubectl(t, "", "apply", "--server-side", "--force-conflicts", "-f", "artifacts/crd.yaml")
	try := func() (string, error) {
		return tryHelm(t, "install", "podmanager", shared.chart, withImage, "--namespace", systemSpace, "--dry-run=server", "--take-ownership")
	}
	patch("merge", `{"spec": {"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://192.0.2.1/"}}}}}`)
	remove := func() { patch("json", `[{"op": "remove", "path": "/spec/conversion"}]`) }
	const want = `kubectl patch crd podmanagers.apps.mycompany.com --type json -p '[{"op": "remove", "path": "/spec/conversion"}]'`
	out, err := try()
	remove()
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("got %v\n%s\nwant a refusal that says %s", err, firstLines(out), want)
	}
	if out, err := try(); err != nil {
		t.Errorf("after the removal of the conversion: %v\n%s", err, firstLines(out))
	}
}

func firstLines(text string) string {
	return strings.Join(strings.SplitN(text, "\n", 6)[:min(5, strings.Count(text, "\n"))], "\n")
}
