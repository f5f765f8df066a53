package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// post sends a body as the API server does, and returns the code and the answer.
func post(t *testing.T, contentType string, body io.Reader) (int, string) {
	t.Helper()
	server := httptest.NewServer(Handler())
	defer server.Close()
	answer, err := http.Post(server.URL+Path+"?timeout=30s", contentType, body)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// reviewOf asks for objects in a version.
func reviewOf(version string, objects ...string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u1","desiredAPIVersion":%q,"objects":[%s]}}`,
		version, strings.Join(objects, ","))
}

func managerOf(version, name string) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":"PodManager","metadata":{"name":%q,"uid":"uid-of-%s"},"spec":{"image":"a"}}`, version, name, name)
}

// answered is the response to a review that was understood.
func answered(t *testing.T, body string) response {
	t.Helper()
	code, text := post(t, "application/json", strings.NewReader(body))
	var got review
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusOK || got.Response == nil {
		t.Fatalf("code %d, %v: %s", code, err, text)
	}
	if got.APIVersion != "apiextensions.k8s.io/v1" || got.Kind != "ConversionReview" || got.Response.UID != "u1" || got.Request != nil {
		t.Errorf("the answer is not that to the review: %s", text)
	}
	return *got.Response
}

// The objects come back in their order, each with its name and uid, those included that have the version already.
func TestHandlerConverts(t *testing.T) {
	tests := map[string]struct {
		version string
		objects []string
	}{
		"to v1alpha1": {alpha, []string{managerOf(hub, "a")}},
		"to v1":       {hub, []string{managerOf(alpha, "a")}},
		"several":     {alpha, []string{managerOf(hub, "c"), managerOf(alpha, "b"), managerOf(hub, "a")}},
		"none":        {hub, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := answered(t, reviewOf(test.version, test.objects...))
			if got.Result.Status != metav1.StatusSuccess || got.ConvertedObjects == nil || len(got.ConvertedObjects) != len(test.objects) {
				t.Fatalf("got %+v", got)
			}
			for i, raw := range got.ConvertedObjects {
				before, _ := decodeObject([]byte(test.objects[i]))
				after, err := decodeObject(raw)
				if err != nil {
					t.Fatal(err)
				}
				same(t, "metadata", after["metadata"], before["metadata"])
				if after["apiVersion"] != test.version || after["kind"] != "PodManager" {
					t.Errorf("got %s", raw)
				}
			}
		})
	}
}

// What cannot be converted is told in the answer, where the API server looks, and nothing is converted in part.
func TestHandlerTellsWhatFailed(t *testing.T) {
	tests := map[string]struct {
		version string
		objects []string
		want    string
	}{
		"another kind":       {hub, []string{managerOf(alpha, "a"), `{"apiVersion":"v1","kind":"Pod"}`}, `object 1: v1 "Pod" cannot be converted, only PodManager can`},
		"an unknown version": {"apps.mycompany.com/v2", []string{managerOf(hub, "a")}, `object 0: PodManager cannot be converted to version "apps.mycompany.com/v2"`},
		"no object":          {hub, []string{"5"}, "object 0 is no JSON object"},
		"null":               {hub, []string{"null"}, "object 0: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := answered(t, reviewOf(test.version, test.objects...))
			if got.Result.Status != metav1.StatusFailure || !strings.Contains(got.Result.Message, test.want) || len(got.ConvertedObjects) > 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("0"), len(p))), nil }

func TestHandlerRefuses(t *testing.T) {
	whole := reviewOf(hub, managerOf(alpha, "a"))
	tests := map[string]struct {
		contentType string
		body        io.Reader
		code        int
		want        string
	}{
		"no JSON":           {"application/json", strings.NewReader("hello"), 400, "the body is no ConversionReview"},
		"nothing":           {"application/json", strings.NewReader(""), 400, "the body is no ConversionReview"},
		"half a review":     {"application/json", strings.NewReader(whole[:len(whole)/2]), 400, "the body is no ConversionReview"},
		"nested for ever":   {"application/json", strings.NewReader(strings.Repeat("[", 1<<20)), 400, "the body is no ConversionReview"},
		"another review":    {"application/json", strings.NewReader(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`), 400, `the body is "AdmissionReview" of "admission.k8s.io/v1"`},
		"an older review":   {"application/json", strings.NewReader(strings.Replace(whole, "k8s.io/v1", "k8s.io/v1beta1", 1)), 400, "and not ConversionReview of apiextensions.k8s.io/v1"},
		"no request":        {"application/json", strings.NewReader(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`), 400, "has no request"},
		"another type":      {"application/yaml", strings.NewReader(whole), 415, `the content type is "application/yaml", and not application/json`},
		"no type":           {"", strings.NewReader(whole), 415, "the content type is"},
		"more than is read": {"application/json", io.LimitReader(zeros{}, maxBody+1), 413, "the review has more than 16777216 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, text := post(t, test.contentType, test.body)
			if code != test.code || !strings.Contains(text, test.want) {
				t.Errorf("code %d, want %d: %s", code, test.code, text)
			}
		})
	}
	if code, _ := post(t, "application/json; charset=utf-8", strings.NewReader(whole)); code != http.StatusOK {
		t.Errorf("a charset is no other type, but the code is %d", code)
	}
	answer := httptest.NewRecorder()
	Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, Path, nil))
	if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "POST" {
		t.Errorf("GET: code %d, %v", answer.Code, answer.Header())
	}
}

// A thousand objects of a usual size come back. The log tells the time: a small part of the 30 s that the API server waits.
func TestHandlerConvertsMany(t *testing.T) {
	objects := make([]string, 1000)
	for i := range objects {
		objects[i] = strings.Replace(managerOf(hub, fmt.Sprint("web-", i)), `{"image":"a"}`,
			`{"replicas":3,"template":{"spec":{"containers":[{"name":"app","image":"a","env":[`+strings.Repeat(`{"name":"A","value":"b"},`, 100)+`{"name":"B"}]}]}}}`, 1)
	}
	body := reviewOf(alpha, objects...)
	start := time.Now()
	got := answered(t, body)
	t.Logf("%d objects, %d bytes: %v", len(objects), len(body), time.Since(start))
	if len(got.ConvertedObjects) != len(objects) || !bytes.Contains(got.ConvertedObjects[999], []byte(`"web-999"`)) {
		t.Errorf("%d objects came back: %+v", len(got.ConvertedObjects), got.Result)
	}
}
