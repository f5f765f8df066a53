package workloads

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// counters has the metrics of our controller that have no labels.
type counters map[string]float64

func readCounters(ctx context.Context, process *lab.Process) (counters, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+process.Metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return parseCounters(response.Body)
}

// lostWatches returns how many watches the API server has closed so far because it was too busy to serve them.
func (b *Bench) lostWatches(ctx context.Context) (float64, error) {
	metrics, err := b.kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	return sumOf("apiserver_terminated_watchers_total", string(metrics)), err
}

// sumOf returns the sum of a counter over all its labels.
func sumOf(name, metrics string) float64 {
	sum := 0.0
	for line := range strings.Lines(metrics) {
		if at := strings.LastIndexByte(line, ' '); strings.HasPrefix(line, name+"{") {
			number, _ := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
			sum += number
		}
	}
	return sum
}

// parseCounters requires the counters that the bench reads. A counter that was renamed would otherwise be 0 forever.
func parseCounters(metrics io.Reader) (counters, error) {
	found := counters{}
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil && !strings.Contains(name, "{") {
			found[name] = number
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, name := range []string{syncHistogram + "_sum", syncHistogram + "_count", liveReadsCounter} {
		if _, there := found[name]; !there {
			return nil, fmt.Errorf("there is no %s among the metrics", name)
		}
	}
	return found, nil
}
