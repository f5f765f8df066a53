//go:build e2e

package webhook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// wouldRefuse is what kubectl prints before the result of the apply, for a pod that the API server would refuse at the moment.
const wouldRefuse = "Warning: the API server would refuse the PodManager's pods now: "

// A pod that the API server refuses only for now is no reason to refuse a PodManager. kubectl prints a warning.
func testWarnings(t *testing.T) {
	const pod = `pods "web-0" is forbidden: `
	restricted := `violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false), ` +
		`unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]), ` +
		`runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), ` +
		`seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`
	tests := map[string]struct {
		prepare    func(s *space)
		spec, want string
	}{
		"a quota": {func(s *space) { s.quota("none", "pods=0") }, podWith("", ""),
			wouldRefuse + pod + "exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0"},
		"Pod Security": {func(s *space) { s.label("pod-security.kubernetes.io/enforce=restricted") }, podWith("", ""), wouldRefuse + pod + restricted},
		"Pod Security that only warns": {func(s *space) { s.label("pod-security.kubernetes.io/warn=restricted") }, podWith("", ""),
			"Warning: would " + strings.Replace(restricted, "violates", "violate", 1)},
		"a LimitRange": {func(s *space) { s.limitRange("max: {cpu: 1}") }, podWith("", "resources: {limits: {cpu: 2}}"),
			wouldRefuse + pod + "maximum cpu usage per Container is 1, but limit is 2"},
		"the default of a LimitRange": {func(s *space) { s.limitRange("default: {cpu: 1}") }, podWith("", "resources: {requests: {cpu: 2}}"),
			wouldRefuse + `Pod "web-0" is invalid: spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`},
		"a class that is missing": {func(*space) {}, podWith("priorityClassName: missing,", ""),
			wouldRefuse + pod + "no PriorityClass with name missing was found"},
		"an account that is missing": {func(*space) {}, podWith("serviceAccountName: missing,", ""),
			wouldRefuse + pod + `error looking up service account SPACE/missing: serviceaccount "missing" not found`},
		"another's policy": {func(s *space) { s.policy("no pods today") }, podWith("", ""),
			wouldRefuse + pod + "ValidatingAdmissionPolicy 'SPACE' with binding 'SPACE' denied request: no pods today"},
		"another's webhook": {func(s *space) { s.stubbornWebhook() }, podWith("", ""),
			wouldRefuse + `admission webhook "stubborn.example.com" denied the request: Pod "web-0" is invalid: no containers today`},
		"something that is allowed, and odd": {func(*space) {}, podWith("nodeSelector: {beta.kubernetes.io/os: linux},", ""),
			`Warning: spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			test.prepare(s)
			want := strings.ReplaceAll(test.want, "SPACE", s.name) + "\npodmanager.apps.mycompany.com/web created\n"
			harness.Await(t, "kubectl to print the warning", func() (any, bool) { // until the API server has seen what was prepared
				out, err := s.try(looked("v1", test.spec), "apply", "--dry-run=server", "-f", "-")
				return fmt.Sprintf("%s\nwant\n%s\nerror: %v", out, want, err), out == strings.Replace(want, "created\n", "created (server dry run)\n", 1)
			})
			s.expect(want, looked("v1", test.spec))
		})
	}
}

func (s *space) quota(name, hard string) {
	s.t.Helper()
	s.kubectl("create", "quota", name, "--hard="+hard)
	harness.Await(s.t, "the quota to be in force", func() (any, bool) {
		out := s.kubectl("get", "quota", name, "-o", "jsonpath={.status.hard}")
		return out, out != ""
	})
}

func (s *space) label(label string) {
	s.t.Helper()
	s.kubectl("label", "namespace", s.name, label)
}

func (s *space) limitRange(fields string) {
	s.t.Helper()
	s.mustCreate("apiVersion: v1\nkind: LimitRange\nmetadata: {name: limits}\nspec: {limits: [{type: Container, " + fields + "}]}\n")
}

// policy creates a policy that refuses all pods of the namespace.
func (s *space) policy(message string) {
	s.t.Helper()
	s.mustCreate(fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: "false", message: %[2]s}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, s.name, message))
	s.t.Cleanup(func() {
		for _, kind := range []string{"validatingadmissionpolicybinding", "validatingadmissionpolicy"} {
			_, _ = cluster.Kubectl(context.Background(), "delete", kind, s.name)
		}
	})
}

// stubbornWebhook is a foreign webhook that refuses all pods of the namespace with the API server's own wording.
func (s *space) stubbornWebhook() {
	s.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct{ Request struct{ UID, Name string } }
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			s.t.Error(err)
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"status":{"code":422,"reason":"Invalid",`+
			`"message":"Pod \"%s\" is invalid: no containers today","details":{"causes":[{"field":"spec.containers[0].name","message":"no containers today"}]}}}}`,
			review.Request.UID, review.Request.Name)
	}))
	s.t.Cleanup(server.Close)
	name := s.name + "-stubborn"
	s.mustCreate(fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %s}
webhooks:
- name: stubborn.example.com
  clientConfig: {url: %q, caBundle: %s}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  sideEffects: None
  admissionReviewVersions: [v1]
`, name, server.URL, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})), s.name))
	s.t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "delete", "validatingwebhookconfiguration", name)
	})
}

func (s *space) mustCreate(input string) {
	s.t.Helper()
	if _, err := s.try(input, "create", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
}
