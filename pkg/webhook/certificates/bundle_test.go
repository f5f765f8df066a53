package certificates

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// apiServer answers every get with an object and records what is applied.
type apiServer struct {
	object  string // YAML; empty if there is none
	applied map[string]any
	query   string
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPatch && r.Header.Get("Content-Type") == "application/apply-patch+yaml" {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &a.applied)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.query = r.URL.RawQuery
	}
	if a.object == "" {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		return
	}
	object, err := yaml.YAMLToJSON([]byte(a.object))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(object)
}

var testOwn = own{"podmanager-system", "podmanager-webhook", []string{"127.0.0.1"}}

// asBase64 encodes text as JSON encodes bytes.
func asBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

const validatingObject = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: podmanager, uid: "17", resourceVersion: "42"}
webhooks:
  - {name: ours.mycompany.com, clientConfig: {service: {namespace: podmanager-system, name: podmanager-webhook, path: /validate}, caBundle: b2xk}}
  - {name: other-service.mycompany.com, clientConfig: {service: {namespace: podmanager-system, name: other}, caBundle: b3RoZXI=}}
  - {name: other-namespace.mycompany.com, clientConfig: {service: {namespace: other, name: podmanager-webhook}}}
  - {name: url.mycompany.com, clientConfig: {url: "https://127.0.0.1:9443/validate"}}
  - {name: other-url.mycompany.com, clientConfig: {url: "https://example.com/validate"}}
`

const crdObject = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podmanagers.apps.mycompany.com, uid: "17", resourceVersion: "42"}
spec:
  group: apps.mycompany.com
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {namespace: podmanager-system, name: podmanager-webhook, path: /convert}, caBundle: b2xk}
`

// Only our webhooks are read. Only their bundles are written, and only if the object has not changed since it was read.
func TestConfigurations(t *testing.T) {
	tests := map[string]struct {
		isCRD  bool
		object string
		held   []string // empty if nothing is to be written
		want   string   // applied JSON without type and metadata
	}{
		"a configuration": {false, validatingObject, []string{"old", ""}, `{"webhooks":[` +
			`{"clientConfig":{"caBundle":"` + asBase64("new") + `"},"name":"ours.mycompany.com"},` +
			`{"clientConfig":{"caBundle":"` + asBase64("new") + `"},"name":"url.mycompany.com"}]}`},
		"none":           {false, "", nil, ""},
		"one of another": {false, strings.ReplaceAll(strings.ReplaceAll(validatingObject, "namespace: podmanager-system", "namespace: other"), "127.0.0.1", "other"), nil, ""},
		"a CRD":          {true, crdObject, []string{"old"}, `{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"` + asBase64("new") + `"}}}}}`},
		"a CRD without a bundle": {true, strings.Replace(crdObject, ", caBundle: b2xk", "", 1), []string{""},
			`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"` + asBase64("new") + `"}}}}}`},
		"no CRD":                       {true, "", nil, ""},
		"a CRD that converts nothing":  {true, crdObject[:strings.Index(crdObject, "  conversion:")] + "  conversion: {strategy: None}\n", nil, ""},
		"a CRD without conversion":     {true, crdObject[:strings.Index(crdObject, "  conversion:")], nil, ""},
		"a CRD that another converts":  {true, strings.Replace(crdObject, "name: podmanager-webhook", "name: other", 1), nil, ""},
		"a CRD that a URL converts":    {true, strings.Replace(crdObject, "service: {namespace: podmanager-system, name: podmanager-webhook, path: /convert}", `url: "https://127.0.0.1:9443/convert"`, 1), []string{"old"}, `{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"` + asBase64("new") + `"}}}}}`},
		"a CRD that converts nowadays": {true, strings.Replace(crdObject, "strategy: Webhook", "strategy: None", 1), nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api := &apiServer{object: test.object}
			server := httptest.NewServer(api)
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			subject := validating(kubernetes.NewForConfigOrDie(config), "podmanager", testOwn)
			if test.isCRD {
				subject = converting(dynamic.NewForConfigOrDie(config), testOwn)
			}
			found, err := subject.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var held []string
			for _, bundle := range found.held {
				held = append(held, string(bundle))
			}
			if !slices.Equal(held, test.held) {
				t.Fatalf("the object holds the bundles %q, want %q", held, test.held)
			}
			if len(held) == 0 {
				return
			}
			if err := found.put(t.Context(), []byte("new")); err != nil {
				t.Fatal(err)
			}
			checkApplied(t, api, test.want)
		})
	}
}

// checkApplied checks the request that wrote the bundles. want is its JSON without type and metadata.
func checkApplied(t *testing.T, api *apiServer, want string) {
	t.Helper()
	metadata, _ := api.applied["metadata"].(map[string]any)
	if metadata["uid"] != "17" || metadata["resourceVersion"] != "42" || len(metadata) != 3 {
		t.Errorf("the metadata is %v, want the name, the UID and the version that were read", metadata)
	}
	for _, key := range []string{"metadata", "kind", "apiVersion"} {
		delete(api.applied, key)
	}
	if got, err := json.Marshal(api.applied); err != nil || string(got) != want {
		t.Errorf("applied\n%s, error %v, want\n%s", got, err, want)
	}
	if !strings.Contains(api.query, "fieldManager=podmanager-webhook") || !strings.Contains(api.query, "force=true") {
		t.Errorf("the query of the apply request is %s", api.query)
	}
}
