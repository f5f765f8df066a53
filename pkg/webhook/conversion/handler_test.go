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
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// post sends a body as the API server does, and returns the code and the response.
func post(t *testing.T, body string) (int, string) {
	t.Helper()
	server := httptest.NewServer(Handler())
	defer server.Close()
	answer, err := http.Post(server.URL+Path+"?timeout=30s", "application/json", strings.NewReader(body))
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

// reviewOf returns a review that asks for objects in a version.
func reviewOf(version string, objects ...string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u1","desiredAPIVersion":%q,"objects":[%s]}}`,
		version, strings.Join(objects, ","))
}

func managerOf(version, name string) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":"PodManager","metadata":{"name":%q,"uid":"uid-of-%s"},"spec":{"image":"a"}}`, version, name, name)
}

// answered returns the response to a valid review.
func answered(t *testing.T, body string) response {
	t.Helper()
	code, text := post(t, body)
	var got review
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusOK || got.Response == nil {
		t.Fatalf("code %d, %v: %s", code, err, text)
	}
	if got.APIVersion != "apiextensions.k8s.io/v1" || got.Kind != "ConversionReview" || got.Response.UID != "u1" || got.Request != nil {
		t.Errorf("the response does not belong to the review: %s", text)
	}
	return *got.Response
}

// The objects come back in order, with their names and uids, including those that already have the version.
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

// A failed conversion is reported in the response, where the API server looks for it. No object is converted in that case.
func TestHandlerTellsWhatFailed(t *testing.T) {
	tests := map[string]struct {
		version string
		objects []string
		want    string
	}{
		"another kind":       {hub, []string{managerOf(alpha, "a"), `{"apiVersion":"v1","kind":"Pod"}`}, `object 1: v1 "Pod" cannot be converted, only PodManager can`},
		"an unknown version": {"apps.mycompany.com/v2", []string{managerOf(hub, "a")}, `object 0: PodManager cannot be converted to version "apps.mycompany.com/v2"`},
		"no object":          {hub, []string{"5"}, "object 0 is not a JSON object"},
		"null":               {hub, []string{"null"}, "object 0 is not a JSON object"},
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

// The response to an invalid request is short, however long the request is.
func TestHandlerRefuses(t *testing.T) {
	whole := reviewOf(hub, managerOf(alpha, "a"))
	endless := strings.Repeat("<", 1<<20)
	tests := map[string]struct {
		body, want string
	}{
		"no JSON":         {"hello", "the body is not a ConversionReview"},
		"nothing":         {"", "the body is not a ConversionReview"},
		"half a review":   {whole[:len(whole)/2], "the body is not a ConversionReview"},
		"nested for ever": {strings.Repeat("[", 1<<20), "the body is not a ConversionReview"},
		"another review":  {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`, `the body is "AdmissionReview" of "admission.k8s.io/v1"`},
		"an older review": {strings.Replace(whole, "k8s.io/v1", "k8s.io/v1beta1", 1), "not ConversionReview of apiextensions.k8s.io/v1"},
		"no UTF-8":        {strings.Replace(whole, "u1", "\xff", 1), "the body is not UTF-8"},
		"no request":      {`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`, "has no request"},
		"a long kind":     {strings.Replace(whole, "ConversionReview", endless, 1), "the body is "},
		"a long uid":      {strings.Replace(whole, "u1", endless, 1), "the uid of its request is too long"},
		"a long number":   {strings.Replace(whole, `"u1"`, strings.Repeat("1", 1<<20), 1), "cannot unmarshal number"},
		"a long field":    {strings.Replace(whole, `"u1"`, `"","`+endless+`":`+strings.Repeat("[", 200), 1), "request.<<<"},
		"empty objects":   {reviewOf(hub, strings.Repeat("{},", 1<<20)+"{}"), "too much memory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, text := post(t, test.body)
			if code != http.StatusBadRequest || !strings.Contains(text, test.want) || len(text) > 300 {
				t.Errorf("code %d, want 400 and at most 300 bytes with %q: %.300s", code, test.want, text)
			}
		})
	}
	for name, object := range map[string]string{"kind": `{"kind":"` + endless + `"}`, "version": `{"kind":"PodManager","apiVersion":"` + endless + `"}`} {
		if got := answered(t, reviewOf(hub, object)); len(got.Result.Message) > 500 {
			t.Errorf("the answer to a long %s has %d bytes", name, len(got.Result.Message))
		}
	}
	if got := answered(t, reviewOf(endless, managerOf(hub, "a"))); len(got.Result.Message) > 500 {
		t.Errorf("the answer to a long version has %d bytes", len(got.Result.Message))
	}
}

// The log entry for an invalid request is short, however long the request is.
func TestHandlerLogsLittle(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(9)))
	for _, part := range []string{"ConversionReview", "apiextensions.k8s.io/v1", "request"} {
		body := strings.Replace(reviewOf(hub, managerOf(alpha, "a")), part, strings.Repeat("<", 1<<20), 1)
		request := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		Handler().ServeHTTP(httptest.NewRecorder(), request.WithContext(klog.NewContext(t.Context(), logger)))
	}
	if text := logger.GetSink().(ktesting.Underlier).GetBuffer().String(); strings.Count(text, "Refused a request that is not a ConversionReview") != 3 || len(text) > 1500 {
		t.Errorf("the log has %d bytes: %.1000s", len(text), text)
	}
}

// A thousand objects of typical size are converted. The log shows the time: a small part of the 30 s that the API server waits.
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
		t.Errorf("%d objects were returned: %+v", len(got.ConvertedObjects), got.Result)
	}
}
