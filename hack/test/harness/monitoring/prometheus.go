package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/serve"
)

// Job is the job name of the controller in our Prometheus.
const Job = "podmanager"

// Prometheus is a running, real Prometheus.
type Prometheus struct {
	*lab.Process
	address string
}

// Start starts a Prometheus with these rules, which scrapes controllers at these addresses. Its files are in folder.
func Start(ctx context.Context, folder, interval string, rules []byte, controllers ...string) (*Prometheus, error) {
	program, err := Build(ctx, "prometheus")
	if err != nil {
		return nil, err
	}
	address, _, err := lab.FreeAddresses()
	if err != nil {
		return nil, err
	}
	targets, err := json.Marshal(controllers)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: %[1]s}
rule_files: [alerts.yaml]
scrape_configs:
  - {job_name: %[2]s, metrics_path: %[3]s, static_configs: [{targets: %[5]s}]}
  - {job_name: %[2]s-objects, metrics_path: %[4]s, honor_labels: true, static_configs: [{targets: %[5]s}]}
`, interval, Job, serve.MetricsPath, serve.ObjectMetricsPath, targets)
	for name, content := range map[string]string{"prometheus.yaml": config, "alerts.yaml": string(rules)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	p := &Prometheus{address: address}
	p.Process, err = lab.StartProgram(filepath.Join(folder, "prometheus.log"), program, "--config.file="+filepath.Join(folder, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	if err != nil {
		return nil, err
	}
	return p, p.Await(ctx, func() bool { return p.get(ctx, "/-/ready", nil, nil) == nil })
}

// Build returns the path of a program that hack/tool.sh builds.
func Build(ctx context.Context, name string) (string, error) {
	run := exec.CommandContext(ctx, "hack/tool.sh", name)
	run.Stderr = os.Stderr // the first build takes minutes, and says so
	out, err := run.Output()
	if err != nil {
		return "", fmt.Errorf("hack/tool.sh %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// get sends a request to Prometheus, and decodes the data of its answer unless data is nil.
func (p *Prometheus) get(ctx context.Context, path string, query url.Values, data any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if data == nil {
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", path, response.Status)
		}
		return nil
	}
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %s: %w", path, response.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s %v: %s", path, query, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// ActiveAlert is an alert that is pending or firing.
type ActiveAlert struct {
	State               string
	Labels, Annotations map[string]string
}

// Alerts returns the alerts that are pending or firing.
func (p *Prometheus) Alerts(ctx context.Context) ([]ActiveAlert, error) {
	var data struct{ Alerts []ActiveAlert }
	err := p.get(ctx, "/api/v1/alerts", nil, &data)
	return data.Alerts, err
}

// Series returns the label sets of all series of a metric.
func (p *Prometheus) Series(ctx context.Context, metric string) ([]map[string]string, error) {
	var data []map[string]string
	err := p.get(ctx, "/api/v1/series", url.Values{"match[]": {metric}}, &data)
	return data, err
}

// Result is a series in the answer to a query. Points are in order; where there is no value, there is no point.
type Result struct {
	Labels map[string]string
	Points []Point
}

type Point struct {
	At    time.Time
	Value float64
}

// Range returns the values of a query in a time range.
func (p *Prometheus) Range(ctx context.Context, query string, from, to time.Time, step time.Duration) ([]Result, error) {
	seconds := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
	var data struct {
		Result []struct {
			Metric map[string]string
			Values [][2]any
		}
	}
	err := p.get(ctx, "/api/v1/query_range", url.Values{
		"query": {query}, "start": {seconds(from)}, "end": {seconds(to)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	}, &data)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, series := range data.Result {
		result := Result{Labels: series.Metric}
		for _, pair := range series.Values {
			at, isNumber := pair[0].(float64)
			text, isText := pair[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if !isNumber || !isText || err != nil {
				return nil, fmt.Errorf("%q is not a value", pair)
			}
			result.Points = append(result.Points, Point{time.UnixMilli(int64(at * 1000)), value})
		}
		results = append(results, result)
	}
	return results, nil
}
