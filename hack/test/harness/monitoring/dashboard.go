package monitoring

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Dashboard is the part of Grafana's dashboard model that we use.
type Dashboard struct {
	UID           string  `json:"uid"`
	Title         string  `json:"title"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []Panel `json:"panels"`
	Templating    struct {
		List []Variable `json:"list"`
	} `json:"templating"`
}

// Variable is a variable that a reader of the dashboard sets. Queries refer to it as $Name.
type Variable struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Definition string `json:"definition"`
}

// Panel is a part of the dashboard. A panel of Type row is only a title. If it is Collapsed, the panels below it are in Panels, and Grafana shows and
// queries them only when the reader opens the row.
type Panel struct {
	ID          int     `json:"id"`
	Type        string  `json:"type"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Collapsed   bool    `json:"collapsed"`
	Panels      []Panel `json:"panels"`
	GridPos     Grid    `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit   string `json:"unit"`
			Custom struct {
				DrawStyle string `json:"drawStyle"`
				Stacking  struct {
					Mode string `json:"mode"`
				} `json:"stacking"`
			} `json:"custom"`
			Thresholds struct {
				Steps []Step `json:"steps"`
			} `json:"thresholds"`
		} `json:"defaults"`
		Overrides []Override `json:"overrides"`
	} `json:"fieldConfig"`
	Targets []Target `json:"targets"`
}

// Grid is a position on the dashboard, which is GridWidth units wide.
type Grid struct {
	X int `json:"x"`
	Y int `json:"y"`
	W int `json:"w"`
	H int `json:"h"`
}

const GridWidth = 24

// Step is a color that applies from a value upwards. The first step has no value.
type Step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// Override sets properties of the series that it matches. Of several that match, the last one wins.
type Override struct {
	Matcher struct {
		ID      string `json:"id"`
		Options string `json:"options"`
	} `json:"matcher"`
	Properties []struct {
		ID    string `json:"id"`
		Value struct {
			Mode       string `json:"mode"`
			FixedColor string `json:"fixedColor"`
		} `json:"value"`
	} `json:"properties"`
}

// Matches reports whether the override is about the series with this name in the legend.
func (o Override) Matches(name string) bool {
	if o.Matcher.ID == "byRegexp" {
		expression, err := regexp.Compile(strings.Trim(o.Matcher.Options, "/"))
		return err == nil && expression.MatchString(name)
	}
	return o.Matcher.Options == name
}

// Color returns Grafana's name of the color that a series has for its meaning, or empty if any color will do.
func (p Panel) Color(name string) string {
	color := ""
	for _, override := range p.FieldConfig.Overrides {
		for _, property := range override.Properties {
			if property.ID == "color" && override.Matches(name) {
				color = property.Value.FixedColor
			}
		}
	}
	return color
}

// Target is a query of a panel.
type Target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
}

func ReadDashboard(file string) (*Dashboard, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	dashboard, err := DecodeDashboard(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return dashboard, nil
}

func DecodeDashboard(data []byte) (*Dashboard, error) {
	dashboard := &Dashboard{}
	return dashboard, json.Unmarshal(data, dashboard)
}

// All returns all panels, including those in collapsed rows.
func (d *Dashboard) All() []Panel {
	var all []Panel
	for _, panel := range d.Panels {
		all = append(append(all, panel), panel.Panels...)
	}
	return all
}

// Query returns the query with all variables set to everything, as Grafana would send it. Grafana derives rateInterval from the scrape interval.
func (t Target) Query(job, rateInterval string) string {
	return strings.NewReplacer("$job", job, "$namespace", ".*", "$__rate_interval", rateInterval).Replace(t.Expr)
}

// Legend returns the name of a series in the legend.
func (t Target) Legend(labels map[string]string) string {
	name := t.LegendFormat
	for label, value := range labels {
		name = strings.ReplaceAll(name, "{{"+label+"}}", value)
	}
	return name
}
