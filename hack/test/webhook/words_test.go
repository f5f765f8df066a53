//go:build e2e

package webhook

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// What kubectl prints on apply, with all of artifacts/webhook installed and served by one controller.
func TestWords(t *testing.T) {
	clean(t)
	h := start(t)
	serveAlpha(t, h)
	kubectl(t, manifest(t, h), "apply", "-f", "-")
	h.ready(t)
	awaitBundle(t)
	awaitCall(t, h)
	t.Run("refused", testRefusals)
	t.Run("warned", testWarnings)
	t.Run("v1alpha1", testAlpha)
	t.Run("certificate", func(t *testing.T) { h.tellsCertificate(t) })
}

// serveAlpha makes the API server serve v1alpha1, converted by a controller, until the test is over.
func serveAlpha(t *testing.T, h *hook) {
	t.Helper()
	patch, err := lab.AlphaPatch(map[string]any{"url": "https://" + h.address + "/convert"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := cluster.Kubectl(context.Background(), "replace", "-f", "artifacts/crd.yaml"); err != nil {
			t.Error(err)
		}
	})
	kubectl(t, "", "patch", "crd", crd, "--type", "json", "-p", patch)
}

// space is a test's namespace.
type space struct {
	t    *testing.T
	name string
}

// newSpace creates a namespace and waits for its ServiceAccount, without which the API server refuses pods.
func newSpace(t *testing.T) *space {
	t.Helper()
	made, err := cluster.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "webhook-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cluster.Kube.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	harness.Await(t, "the ServiceAccount default", func() (any, bool) {
		_, err := cluster.Kube.CoreV1().ServiceAccounts(made.Name).Get(t.Context(), "default", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err, err == nil
	})
	return &space{t, made.Name}
}

func (s *space) try(input string, arguments ...string) (string, error) {
	return cluster.KubectlWith(s.t.Context(), input, append(arguments, "--namespace", s.name)...)
}

func (s *space) kubectl(arguments ...string) string {
	s.t.Helper()
	return kubectl(s.t, "", append(arguments, "--namespace", s.name)...)
}

// expect applies a manifest and checks the exact output of kubectl.
func (s *space) expect(want, manifest string, flags ...string) {
	s.t.Helper()
	out, err := s.try(manifest, append([]string{"apply", "-f", "-"}, flags...)...)
	if wantsError := !strings.Contains(want, "podmanager.apps.mycompany.com/"); out != want || (err != nil) != wantsError {
		s.t.Errorf("kubectl apply prints\n%s\nwant\n%s\nerror: %v", out, want, err)
	}
}

// looked returns the manifest of a PodManager web whose label the controllers of start select.
func looked(version, spec string) string {
	return fmt.Sprintf("apiVersion: apps.mycompany.com/%s\nkind: PodManager\nmetadata: {name: web, labels: {nobody: has-this}}\nspec: %s\n", version, spec)
}

// container returns a spec whose template has one container with these fields.
func container(fields string) string {
	return "{template: {spec: {containers: [{name: a, " + fields + "}]}}}"
}

// podWith returns a spec whose template has these fields, and one container with the given fields.
func podWith(pod, container string) string {
	return "{template: {spec: {" + pod + " containers: [{name: a, image: nginx, " + container + "}]}}}"
}

// A pod that the API server finds invalid is refused on apply, with its own message and the field of the PodManager. So is a dry run.
func testRefusals(t *testing.T) {
	const template = "spec.template.spec."
	tests := map[string]struct{ spec, want string }{
		"a name of two containers": {podWith("initContainers: [{name: a, image: a}],", ""), template + `initContainers[0].name: Duplicate value: "a"`},
		"an image with a space":    {"{image: ' nginx'}", `spec.image: Invalid value: " nginx": must not have leading or trailing whitespace`},
		"the same in a template":   {container("image: 'nginx '"), template + `containers[0].image: Invalid value: "nginx ": must not have leading or trailing whitespace`},
		"no image":                 {container("image: ''"), template + "containers[0].image: Required value"},
		"a port":                   {podWith("", "ports: [{containerPort: 70000}]"), template + "containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"},
		"a limit below a request":  {podWith("", "resources: {requests: {cpu: 2}, limits: {cpu: 1}}"), template + `containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`},
		"a volume that is missing": {podWith("", "volumeMounts: [{name: data, mountPath: /data}]"), template + `containers[0].volumeMounts[0].name: Not found: "data"`},
		"a label": {"{template: {metadata: {labels: {team: a b}}, spec: {containers: [{name: a, image: nginx}]}}}",
			`spec.template.metadata.labels: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', ` +
				`regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		"an environment variable": {podWith("", "env: [{name: a=b, value: c}]"),
			template + `containers[0].env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='`},
		"two fields": {podWith("", "ports: [{containerPort: 0}], volumeMounts: [{name: data, mountPath: /data}]"), "\n* " + template +
			"containers[0].ports[0].containerPort: Required value\n* " + template + `containers[0].volumeMounts[0].name: Not found: "data"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			want := `The PodManager "web" is invalid: ` + test.want + "\n"
			s.expect(want, looked("v1", test.spec))
			s.expect(want, looked("v1", test.spec), "--dry-run=server")
			s.expect(want, looked("v1", test.spec), "--server-side")
			if out := s.kubectl("get", "pm", "-o", "name"); out != "" {
				t.Errorf("the PodManager was created: %s", out)
			}
		})
	}
}

// A user who writes v1alpha1 gets a deprecation warning, and the same refusals.
func testAlpha(t *testing.T) {
	const deprecated = "Warning: apps.mycompany.com/v1alpha1 PodManager is deprecated; use apps.mycompany.com/v1, where spec.size is spec.replicas, " +
		"and spec.command belongs to a container of spec.template\n"
	s := newSpace(t)
	harness.Await(t, "v1alpha1 to be served", func() (any, bool) {
		out, err := s.try("", "get", "podmanagers.v1alpha1.apps.mycompany.com")
		return out, err == nil
	})
	s.expect(deprecated+`The PodManager "web" is invalid: spec.image: Invalid value: " nginx": must not have leading or trailing whitespace`+"\n",
		looked("v1alpha1", "{image: ' nginx'}"))
	s.expect(deprecated+"podmanager.apps.mycompany.com/web created (server dry run)\n", looked("v1alpha1", "{image: nginx}"), "--dry-run=server")
	s.quota("none", "pods=0")
	s.expect(deprecated+wouldRefuse+`pods "web-0" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0`+
		"\npodmanager.apps.mycompany.com/web created\n", looked("v1alpha1", "{size: 2, image: nginx}"))
	if replicas := s.kubectl("get", "podmanagers.v1.apps.mycompany.com", "web", "-o", "jsonpath={.spec.replicas}"); replicas != "2" {
		t.Errorf("the replicas in v1 are %q", replicas)
	}
}

// tellsCertificate checks the metrics that the certificate alert uses.
func (h *hook) tellsCertificate(t *testing.T) {
	t.Helper()
	metrics, err := h.ReadMetrics()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for line := range strings.Lines(metrics) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "podmanager_webhook_certificate_") {
			if found[name], err = strconv.ParseFloat(value, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	begins, ends := found["podmanager_webhook_certificate_start_timestamp_seconds"], found["podmanager_webhook_certificate_expiration_timestamp_seconds"]
	const life = 2160 * time.Hour // the default
	if now := float64(time.Now().Unix()); begins <= 0 || begins > now || ends-now < 0.9*life.Seconds() || ends-begins > 1.1*life.Seconds() {
		t.Errorf("the certificate begins at %v and ends at %v, it is %v", begins, ends, now)
	}
}
