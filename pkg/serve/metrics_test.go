package serve

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// crowd returns the given number of PodManagers, each with three conditions.
func crowd(count int) []*v1.PodManager {
	managers := make([]*v1.PodManager, count)
	for i := range managers {
		managers[i] = &v1.PodManager{
			ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%d", i%100), Name: fmt.Sprintf("web-server-%d", i), Generation: 3, CreationTimestamp: metav1.Now()},
			Spec:       v1.PodManagerSpec{Replicas: ptr.To[int32](3)},
			Status: v1.PodManagerStatus{Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 3, ObservedGeneration: 3,
				UpdateRevision: fmt.Sprintf("web-server-%d-5d9c7b6f4", i)},
		}
		for _, kind := range []string{v1.ConditionReady, v1.ConditionAvailable, v1.ConditionProgressing} {
			managers[i].Status.Conditions = append(managers[i].Status.Conditions,
				metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: v1.ReasonAllAvailable})
		}
	}
	return managers
}

// scrape reads the object metrics as Prometheus does, compressed or not.
func scrape(tb testing.TB, server *httptest.Server, encoding string) string {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, server.URL+ObjectMetricsPath, nil)
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", encoding) // if it is set explicitly, the client does not decompress the response
	response, err := server.Client().Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	body := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			tb.Fatal(err)
		}
	}
	data, err := io.ReadAll(body)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != strings.TrimPrefix(encoding, "identity") {
		tb.Fatalf("%s, Content-Encoding %q, error %v", response.Status, response.Header.Get("Content-Encoding"), err)
	}
	return string(data)
}

// cpuTime returns the CPU time that this process has used. Unlike wall-clock time, it is stable on a busy machine.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Scraping the metrics of 10 000 objects takes less than a second of CPU time, client included. The race detector may take ten times that.
func TestObjectMetricsAreFast(t *testing.T) {
	const count, tries = 10_000, 5
	limit := time.Second
	if raceDetector {
		limit *= 10
	}
	managers := crowd(count)
	server := httptest.NewServer(Metrics(func() []*v1.PodManager { return managers }))
	defer server.Close()
	for _, encoding := range []string{"identity", "gzip"} {
		best, wall := time.Hour, time.Hour
		for try := 0; try < tries && best >= limit/4; try++ {
			began, used := time.Now(), cpuTime(t)
			body := scrape(t, server, encoding)
			best, wall = min(best, cpuTime(t)-used), min(wall, time.Since(began))
			if got := strings.Count(body, "\nkube_podmanager_"); got != 14*count {
				t.Fatalf("%d time series, want %d", got, 14*count)
			}
		}
		t.Logf("%s: %v of CPU time, %v of wall-clock time", encoding, best, wall)
		if best >= limit {
			t.Errorf("%s: the best of %d scrapes took %v of CPU time, want under %v", encoding, tries, best, limit)
		}
	}
}

// A deleted object has no metrics any more, and without a list the path does not exist.
func TestObjectMetricsFollowTheCache(t *testing.T) {
	managers := crowd(2)
	server := httptest.NewServer(Metrics(func() []*v1.PodManager { return managers }))
	defer server.Close()
	if body := scrape(t, server, "identity"); !strings.Contains(body, `kube_podmanager_spec_replicas{namespace="team-1",podmanager="web-server-1"} 3`) {
		t.Errorf("an object is missing:\n%s", body)
	}
	managers = managers[:1]
	if body := scrape(t, server, "identity"); strings.Contains(body, "web-server-1") || !strings.Contains(body, "web-server-0") {
		t.Errorf("the deleted object has metrics, or the other one has none:\n%s", body)
	}
	answer := httptest.NewRecorder()
	Metrics(nil).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, ObjectMetricsPath, nil))
	if answer.Code != http.StatusNotFound {
		t.Errorf("without a list, the response is %d, want 404", answer.Code)
	}
}

func BenchmarkObjectMetrics(b *testing.B) {
	managers := crowd(10_000)
	server := httptest.NewServer(Metrics(func() []*v1.PodManager { return managers }))
	defer server.Close()
	for _, encoding := range []string{"identity", "gzip"} {
		b.Run(encoding, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				scrape(b, server, encoding)
			}
		})
	}
}
