//go:build e2e

package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
)

const ourAccount = "system:serviceaccount:podmanager-system:podmanager-controller"

// An overwritten bundle is restored. If a user applies the manifest again, the bundle stays. The controller owns nothing but the bundle.
func TestPutBack(t *testing.T) {
	clean(t)
	h := start(t)
	applied := manifest(t, h)
	kubectl(t, applied, "apply", "-f", "-")
	h.ready(t)
	want := awaitBundle(t)
	spoil := func(value string) []string {
		return []string{"patch", "validatingwebhookconfiguration", configuration, "--type", "json", "-p",
			fmt.Sprintf(`[{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": %q}]`, value)}
	}
	for name, change := range map[string]func(){
		"another CA": func() { kubectl(t, "", spoil(base64.StdEncoding.EncodeToString(otherCA(t)))...) },
		"removed": func() {
			kubectl(t, "", "patch", "validatingwebhookconfiguration", configuration, "--type", "json", "-p", `[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]`)
		},
		"replaced": func() { kubectl(t, applied, "replace", "-f", "-") },
		"deleted": func() {
			kubectl(t, "", "delete", "validatingwebhookconfiguration", configuration)
			kubectl(t, applied, "apply", "-f", "-")
		},
		"applied again":     func() { kubectl(t, applied, "apply", "-f", "-") },
		"applied by server": func() { kubectl(t, applied, "apply", "--server-side", "--force-conflicts", "-f", "-") },
	} {
		change()
		began := time.Now()
		harness.Await(t, name+": the bundle as it was", func() (any, bool) {
			held := bundle(t)
			return string(held), bytes.Equal(held, want)
		})
		t.Logf("%s: put back %v after kubectl", name, time.Since(began).Round(time.Millisecond))
	}
	awaitCall(t, h)
	for _, entry := range readConfiguration(t).ManagedFields {
		const only = `{"f:webhooks":{"k:{\"name\":\"trial.podmanagers.apps.mycompany.com\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},"f:name":{}}}}`
		if entry.Manager == "podmanager-webhook" && (entry.Operation != metav1.ManagedFieldsOperationApply || entry.FieldsV1.GetRawString() != only) {
			t.Errorf("the webhook's managed fields are by %s %s, want just %s", entry.Operation, entry.FieldsV1.GetRawString(), only)
		}
	}
}

// otherCA returns the CA of the cluster: a valid one that is not ours.
func otherCA(t *testing.T) []byte {
	t.Helper()
	found, err := cluster.Kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return []byte(found.Data["ca.crt"])
}

// The CRD gets the bundle while it uses our conversion webhook, and is not touched otherwise.
func TestConversionBundle(t *testing.T) {
	clean(t)
	t.Cleanup(func() {
		if err := cluster.InstallCRD(context.WithoutCancel(t.Context())); err != nil {
			t.Log(err) // tearDown tries again
		}
	})
	h := start(t)
	h.ready(t)
	read := func() string {
		return kubectl(t, "", "get", "crd", crd, "-o", "jsonpath={.spec.conversion}")
	}
	if conversion := read(); conversion != `{"strategy":"None"}` {
		t.Fatalf("the conversion is %s", conversion)
	}
	convert := func(url string) {
		kubectl(t, "", "patch", "crd", crd, "--type", "merge", "-p", fmt.Sprintf(
			`{"spec": {"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": %q}}}}}`, url))
	}
	convert("https://" + h.address + "/convert")
	authority := base64.StdEncoding.EncodeToString(secret(t).Data["ca.crt"])
	harness.Await(t, "the bundle in the CRD", func() (any, bool) {
		conversion := read()
		return conversion, strings.Contains(conversion, authority)
	})
	kubectl(t, "", "patch", "crd", crd, "--type", "json", "-p", `[{"op": "remove", "path": "/spec/conversion/webhook/clientConfig/caBundle"}]`)
	harness.Await(t, "the bundle to be put back", func() (any, bool) {
		conversion := read()
		return conversion, strings.Contains(conversion, authority)
	})
	if names := kubectl(t, "", "get", "crd", crd, "-o", "jsonpath={.spec.names.shortNames}"); names != `["pm"]` {
		t.Errorf("something else has changed: the short names are %s", names)
	}
	// Conversion is turned off as in the README, and then restored.
	kubectl(t, "", "patch", "crd", crd, "--type", "json", "-p", `[{"op": "remove", "path": "/spec/conversion"}]`)
	convert("https://192.0.2.1/convert")
	const life = 3 * time.Second // time for a wrong write to show up: there is no event to wait for if nothing changes
	for deadline := time.Now().Add(life); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if conversion := read(); strings.Contains(conversion, "caBundle") {
			t.Fatalf("the webhook of another program has got a bundle: %s", conversion)
		}
	}
	kubectl(t, "", "patch", "crd", crd, "--type", "json", "-p", `[{"op": "remove", "path": "/spec/conversion"}]`)
}

// The permissions cover these objects and no others.
func TestRights(t *testing.T) {
	for question, want := range map[string]string{
		"get secret/podmanager-webhook":                                                        "yes",
		"update secret/podmanager-webhook":                                                     "yes",
		"delete secret/podmanager-webhook":                                                     "no",
		"get secret/other":                                                                     "no",
		"list secrets":                                                                         "no",
		"watch secrets":                                                                        "no",
		"patch validatingwebhookconfigurations/podmanager":                                     "yes",
		"update validatingwebhookconfigurations/podmanager":                                    "no",
		"delete validatingwebhookconfigurations/podmanager":                                    "no",
		"patch validatingwebhookconfigurations/other":                                          "no",
		"create validatingwebhookconfigurations":                                               "no",
		"list validatingwebhookconfigurations":                                                 "no",
		"patch customresourcedefinitions.apiextensions.k8s.io/" + crd:                          "yes",
		"patch customresourcedefinitions.apiextensions.k8s.io/others.apps.mycompany.com":       "no",
		"delete customresourcedefinitions.apiextensions.k8s.io/podmanagers.apps.mycompany.com": "no",
	} {
		verb, object, _ := strings.Cut(question, " ")
		arguments := []string{"auth", "can-i", verb, object, "--as", ourAccount}
		if strings.HasPrefix(object, "secret") {
			arguments = append(arguments, "--namespace", systemSpace)
		}
		out, _ := cluster.Kubectl(t.Context(), arguments...) // fails if the answer is no
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if got := lines[len(lines)-1]; got != want {
			t.Errorf("may %s: %s, want %s", question, out, want)
		}
	}
	if out, _ := cluster.Kubectl(t.Context(), "auth", "can-i", "get", "secret/"+secretName, "--as", ourAccount, "--namespace", "default"); strings.TrimSpace(out) != "no" {
		t.Errorf("may read a Secret of that name elsewhere: %s", out)
	}
}

// With a certificate from files, the controller serves it and writes neither a Secret nor a bundle.
func TestCertificateOfSomebodyElse(t *testing.T) {
	clean(t)
	maker := start(t)
	maker.ready(t)
	var made map[string][]byte
	harness.Await(t, "a Secret", func() (any, bool) {
		if found := secret(t); found != nil {
			made = found.Data
		}
		return "none", made != nil
	})
	maker.end(t)
	kubectl(t, "", "delete", "secret", secretName, "--namespace", systemSpace)
	folder := t.TempDir()
	writeFile(t, folder, "tls.crt", made["tls.crt"])
	writeFile(t, folder, "tls.key", made["tls.key"])
	h := start(t, "-webhook-cert-dir", folder)
	kubectl(t, manifest(t, h), "apply", "-f", "-")
	h.ready(t)
	if _, err := h.handshake(made["ca.crt"]); err != nil {
		t.Errorf("the webhook is not served with the certificate of the files: %v", err)
	}
	if found := secret(t); found != nil {
		t.Error("the controller has created a Secret")
	}
	if held := bundle(t); len(held) > 0 {
		t.Errorf("the configuration has a bundle: %s", held)
	}
	kubectl(t, "", "patch", "validatingwebhookconfiguration", configuration, "--type", "json", "-p", fmt.Sprintf(
		`[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": %q}]`, base64.StdEncoding.EncodeToString(made["ca.crt"])))
	awaitCall(t, h)
}
