//go:build e2e

package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/hack/test/harness"
)

// server is one of the two servers.
type server struct {
	name      string
	transport http.RoundTripper
	host      string
	namespace string
	// seen has, for each object, the resourceVersion and the UID in the last answer about it, and the resourceVersion before that.
	seen map[string]identity
	// next is the token for the next page of the last list.
	next string
}

type identity struct{ version, before, uid string }

// pair is both servers, each with an empty namespace.
type pair struct {
	t               *testing.T
	real, simulated *server
	compared        int
}

func newPair(t *testing.T) *pair {
	t.Helper()
	t.Parallel()
	space := harness.NewSpace(t, cluster)
	config := rest.CopyConfig(cluster.Config)
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	definition, err := os.ReadFile("artifacts/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	custom, err := apiserver.ParseCRD(definition)
	if err != nil {
		t.Fatal(err)
	}
	simulated := apiserver.New(apiserver.Config{Rand: rand.New(rand.NewPCG(1, 1)), Custom: []*apiserver.Resource{custom}})
	if err := simulated.CreateNamespace(space.Name); err != nil {
		t.Fatal(err)
	}
	p := &pair{
		t:         t,
		real:      &server{name: "real", transport: transport, host: config.Host, namespace: space.Name, seen: map[string]identity{}},
		simulated: &server{name: "simulated", transport: simulated.Client("test", nil), host: "http://simulated", namespace: space.Name, seen: map[string]identity{}},
	}
	t.Cleanup(func() { t.Logf("%d requests were compared", p.compared) })
	return p
}

// request is a request that goes to both servers. In Path and Body, $NS is the namespace, $CONTINUE the token for the next page of the last
// list, and $RV, $OLD and $UID are the resourceVersion of the object that About names, the one before that, and its UID.
type request struct {
	Method, Path, Type, Body string
	About                    string
}

// answer is the part of an answer that is compared.
type answer struct {
	Code int
	Body map[string]any
}

func (s *server) fill(text, about string) string {
	known := s.seen[about]
	return strings.NewReplacer("$NS", s.namespace, "$CONTINUE", url.QueryEscape(s.next), "$RV", known.version, "$OLD", known.before, "$UID", known.uid).Replace(text)
}

// do sends a request.
func (s *server) do(t *testing.T, r request) (answer, *http.Response) {
	t.Helper()
	message, err := http.NewRequestWithContext(t.Context(), r.Method, s.host+s.fill(r.Path, r.About), bytes.NewBufferString(s.fill(r.Body, r.About)))
	if err != nil {
		t.Fatal(err)
	}
	message.Header.Set("Accept", "application/json")
	message.Header.Set("Content-Type", r.Type)
	response, err := s.transport.RoundTrip(message)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	if strings.Contains(r.Path, "watch=") {
		return answer{Code: response.StatusCode}, response
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := answer{Code: response.StatusCode}
	if err := json.Unmarshal(data, &got.Body); err != nil {
		got.Body = map[string]any{"text": string(data)}
	}
	s.remember(got.Body)
	return got, nil
}

func (s *server) remember(body map[string]any) {
	metadata, _ := body["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	version, _ := metadata["resourceVersion"].(string)
	if next, _ := metadata["continue"].(string); next != "" {
		s.next = next
	}
	if name == "" || version == "" {
		return
	}
	known := s.seen[name]
	if known.version != version {
		known.before = known.version
	}
	known.version, known.uid = version, fmt.Sprint(metadata["uid"])
	s.seen[name] = known
}

// same sends a request to both servers, and fails the test if the answers differ in what is compared.
func (p *pair) same(r request) {
	p.t.Helper()
	if r.Type == "" {
		r.Type = "application/json"
	}
	real, _ := p.real.do(p.t, r)
	simulated, _ := p.simulated.do(p.t, r)
	p.compared++
	want, got := p.real.normalise(real), p.simulated.normalise(simulated)
	if want != got {
		p.t.Errorf("%s %s %s\nreal      %s\nsimulated %s", r.Method, r.Path, r.Body, want, got)
	}
}

// differences matches the difference of two pods at the end of a refusal, which is not simulated.
var differences = regexp.MustCompile(`\\n@@ (?:[^"\\]|\\.)*`)

// normalise returns an answer as text, without what differs between any two servers.
func (s *server) normalise(a answer) string {
	body := a.Body
	s.clean(body)
	text, err := json.Marshal(body)
	if err != nil {
		return err.Error()
	}
	text = differences.ReplaceAll(text, nil)
	for name, known := range s.seen {
		replacer := strings.NewReplacer(known.uid, "UID-"+name)
		text = []byte(replacer.Replace(string(text)))
	}
	return fmt.Sprintf("%d %s", a.Code, text)
}

// clean removes the fields that other components set, and those that depend on time.
func (s *server) clean(body map[string]any) {
	if metadata, ok := body["metadata"].(map[string]any); ok {
		for _, field := range []string{"resourceVersion", "creationTimestamp", "managedFields", "selfLink", "continue", "remainingItemCount"} {
			delete(metadata, field)
		}
		if _, found := metadata["deletionTimestamp"]; found {
			metadata["deletionTimestamp"] = "set"
		}
	}
	if body["kind"] == "Pod" || body["spec"] != nil && strings.Contains(fmt.Sprint(body["spec"]), "containers:") && body["status"] != nil {
		body["spec"], body["status"] = comparable(body) // admission plugins and defaults are not simulated
	}
	items, _ := body["items"].([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			s.clean(fields)
			delete(fields, "kind")
			delete(fields, "apiVersion")
		}
	}
}

// comparable returns the parts of a pod's spec and status that both servers set alike.
func comparable(pod map[string]any) (spec, status map[string]any) {
	full, _ := pod["spec"].(map[string]any)
	containers, _ := full["containers"].([]any)
	spec = map[string]any{"nodeName": full["nodeName"]}
	for _, container := range containers {
		fields, _ := container.(map[string]any)
		spec[fmt.Sprint(fields["name"])] = []any{fields["image"], fields["resources"]}
	}
	reported, _ := pod["status"].(map[string]any)
	conditions, _ := reported["conditions"].([]any)
	status = map[string]any{"phase": reported["phase"]}
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		status[fmt.Sprint(fields["type"])] = []any{fields["status"], fields["reason"], fields["message"]}
	}
	return spec, status
}
