// With the race detector, the tests would take more memory, and ten times as long.
//go:build !race

package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/webhook/conversion"
	"github.com/mycompany/podmanager/pkg/webhook/validation"
)

const (
	// attackSize is the size of a malicious body, just below maxBody.
	attackSize = 15 << 20
	// maxGrowth is how much the heap may grow: half of the controller's limit of 512 MiB.
	maxGrowth = 250e6
)

// unreachable is an API server that does not answer.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("away") }

// product serves the webhooks as the controller does, but without TLS.
func product(t *testing.T) *httptest.Server {
	t.Helper()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: unreachable{}, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(NewHandler(map[string]http.Handler{
		conversion.Path: conversion.Handler(),
		"/validate":     validation.New(kube, validation.Within([]string{metav1.NamespaceAll}, labels.Everything()), inplace.Capabilities{CanResizeAndDrain: true}),
	}))
	t.Cleanup(server.Close)
	return server
}

// attack is a body that repeats part between before and after. If part has %07d, each repetition differs. If it ends with a comma, it is an
// element.
type attack struct{ path, before, part, after string }

// body creates the body when it is needed: if all bodies were in memory, the garbage collector would let the heap grow further.
func (a attack) body(size int) string {
	before, part, after := a.before, a.part, a.after
	var text strings.Builder
	text.Grow(size)
	text.WriteString(before)
	for i := 0; text.Len() < size-len(part)-len(after)-1; i++ {
		if i > 0 && strings.HasSuffix(part, ",") {
			text.WriteByte(',')
		}
		if part := strings.TrimSuffix(part, ","); strings.Contains(part, "%") {
			fmt.Fprintf(&text, part, i)
		} else {
			text.WriteString(part)
		}
	}
	text.WriteString(after)
	return text.String()
}

// conversionOf returns a request to convert objects. The | in objects marks the position of the repeated part.
func conversionOf(to, objects, part string) attack {
	before, after, _ := strings.Cut(objects, "|")
	return attack{conversion.Path, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"apps.mycompany.com/` +
		to + `","objects":[` + before, part, after + `]}}`}
}

// admissionOf returns a review of a new PodManager, with the same marker.
func admissionOf(object, part string) attack {
	before, after, _ := strings.Cut(object, "|")
	return attack{"/validate", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","namespace":"ns",` +
		`"kind":{"group":"apps.mycompany.com","version":"v1","kind":"PodManager"},"object":` + before, part, after + `}}`}
}

// heap returns the size of the heap.
func heap() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}

// growth returns how far the heap grows while run executes. Garbage is collected as in the product, whatever GOGC the tests have.
func growth(run func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	runtime.GC()
	start, ended, most := heap(), make(chan struct{}), make(chan int64)
	go func() {
		peak := int64(0)
		for {
			peak = max(peak, heap())
			select {
			case <-ended:
				most <- peak
				return
			case <-time.After(500 * time.Microsecond):
			}
		}
	}()
	run()
	close(ended)
	return <-most - start
}

// postAtOnce sends the same body several times at once and waits for the responses.
func postAtOnce(t *testing.T, url, body string, times int) {
	t.Helper()
	answers := make(chan string)
	for range times {
		go func() {
			answer, err := http.Post(url, "application/json", strings.NewReader(body))
			if err != nil {
				answers <- err.Error()
				return
			}
			defer answer.Body.Close()
			begin, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
			rest, err := io.Copy(io.Discard, answer.Body)
			answers <- fmt.Sprintf("%d %q and %d bytes more, error %v", answer.StatusCode, begin, rest, err)
		}()
	}
	counts := map[string]int{}
	for range times {
		counts[<-answers]++
	}
	for answer, count := range counts {
		t.Logf("%d times %s", count, answer)
	}
}

// expectLittle checks that sending the same body several times at once does not take much memory.
func expectLittle(t *testing.T, url, body string, times int) {
	t.Helper()
	began := time.Now()
	grown := growth(func() { postAtOnce(t, url, body, times) })
	if t.Logf("%d MB in %v", grown/1e6, time.Since(began)); grown > maxGrowth {
		t.Errorf("the heap has grown by %d MB, want at most %d", grown/1e6, int64(maxGrowth/1e6))
	}
}

// Two unauthenticated clients send the worst possible bodies at the same time. The memory that they use is limited. Without a limit, these bodies
// took the most memory, 600 MB to 1.3 GB.
func TestLargeRequestsTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the test takes ten seconds")
	}
	const (
		hub   = `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager",`
		alpha = `{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager",`
		pod   = hub + `"metadata":{"name":"web"},"spec":{"template":{"spec":{`
	)
	tests := map[string]attack{
		"empty objects":           conversionOf("v1", "|", "{},"),
		"fields of a spec":        conversionOf("v1alpha1", hub+`"spec":{|}}`, `"%07d":1,`),
		"what HTML escapes":       conversionOf("v1alpha1", pod+`"containers":[{"image":"|"}]}}}}`, "<"),
		"containers that we kept": conversionOf("v1", alpha+`"spec":{"image":"a"},"status":{"v1Spec":"{\"template\":{\"spec\":{\"containers\":[|]}}}"}}`, "{},"),
	}
	server := product(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expectLittle(t, server.URL+test.path, test.body(attackSize), 2)
		})
	}
}

// Many clients fill the limit for all bodies with smaller requests.
func TestManyRequestsTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the test takes ten seconds")
	}
	const object = `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"web"},`
	tests := map[string]attack{
		"a long argument":  admissionOf(object+`"spec":{"template":{"spec":{"containers":[{"args":["|"]}]}}}}`, "<"),
		"tolerations":      admissionOf(object+`"spec":{"template":{"spec":{"tolerations":[|]}}}}`, `{"key":""},`),
		"fields of a spec": conversionOf("v1alpha1", object+`"spec":{|}}`, `"%07d":1,`),
	}
	server := product(t)
	for name, test := range tests {
		const size = largeBody / 4
		t.Run(name, func(t *testing.T) {
			expectLittle(t, server.URL+test.path, test.body(size), (maxBodies+smallBodies)/size)
		})
	}
}
