package monitoring

import (
	"context"
	"net/url"
)

// Selector is a part of a query that reads a metric.
type Selector struct {
	Metric   string
	Matchers []Matcher
}

// Matcher is a condition on a label, such as condition="Ready"; Type is =, !=, =~ or !~.
type Matcher struct{ Name, Value, Type string }

// Usage is what a query reads.
type Usage struct {
	Selectors []Selector
	// Groupings maps each label that the query aggregates by to the metrics below it.
	Groupings map[string][]string
}

// Parse lets Prometheus parse a query.
func (p *Prometheus) Parse(ctx context.Context, query string) (Usage, error) {
	var tree map[string]any
	usage := Usage{Groupings: map[string][]string{}}
	if err := p.get(ctx, "/api/v1/parse_query", url.Values{"query": {query}}, &tree); err != nil {
		return usage, err
	}
	usage.add(tree)
	return usage, nil
}

// add adds what a node of the syntax tree and its descendants read, and returns the metrics.
func (u *Usage) add(node any) (metrics []string) {
	switch node := node.(type) {
	case []any:
		for _, below := range node {
			metrics = append(metrics, u.add(below)...)
		}
	case map[string]any:
		if kind := node["type"]; kind == "vectorSelector" || kind == "matrixSelector" {
			selector := readSelector(node)
			u.Selectors = append(u.Selectors, selector)
			return []string{selector.Metric}
		}
		for _, below := range node {
			metrics = append(metrics, u.add(below)...)
		}
		grouping, _ := node["grouping"].([]any)
		for _, label := range grouping {
			if name, ok := label.(string); ok {
				u.Groupings[name] = append(u.Groupings[name], metrics...)
			}
		}
	}
	return metrics
}

func readSelector(node map[string]any) Selector {
	selector := Selector{}
	selector.Metric, _ = node["name"].(string)
	matchers, _ := node["matchers"].([]any)
	for _, one := range matchers {
		matcher, _ := one.(map[string]any)
		text := func(key string) string {
			value, _ := matcher[key].(string)
			return value
		}
		if text("name") != "__name__" {
			selector.Matchers = append(selector.Matchers, Matcher{text("name"), text("value"), text("type")})
		}
	}
	return selector
}
