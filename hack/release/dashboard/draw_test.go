package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/monitoring"
)

var nan = math.NaN()

func TestInUnit(t *testing.T) {
	for _, test := range []struct {
		value float64
		unit  string
		want  string
	}{
		{0, "s", "0 s"}, {0.0123, "s", "12 ms"}, {1.5, "s", "1.5 s"}, {240, "s", "4 min"}, {0.5, "percentunit", "50 %"}, {2, "reqps", "2/s"},
		{12.34, "short", "12"}, {1.234, "short", "1.2"}, {0.05, "suffix: pods/s", "0.05 pods/s"}, {nan, "short", "no data"}, {1000, "short", "1000"},
	} {
		if got := inUnit(test.value, test.unit); got != test.want {
			t.Errorf("%v in %s is %q, want %q", test.value, test.unit, got, test.want)
		}
	}
}

func TestNiceMaximum(t *testing.T) {
	for most, want := range map[float64]float64{0: 1, 0.03: 0.05, 1: 1, 1.1: 2, 42: 50, 51: 100, 0.2: 0.2} {
		if got := niceMaximum(most); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v ends at %v, want %v", most, got, want)
		}
	}
}

func TestStacked(t *testing.T) {
	layers := stacked([]series{{values: []float64{1, nan, 2}}, {values: []float64{nan, 3, 4}}})
	if got := layers[1].values; got[0] != 1 || got[1] != 3 || got[2] != 6 {
		t.Errorf("got %v", got)
	}
}

func TestLineIsBrokenWhereThereAreNoValues(t *testing.T) {
	c := &canvas{}
	drawLine(c, chart{box{0, 0, 50, 10}, 10, 6}, series{values: []float64{0, 0, 0, nan, 5, 10}}, "red")
	const want = `<polyline stroke="red" points="0,10 20,10"/>` + "\n" + `<polyline stroke="red" points="40,5 50,0"/>` + "\n"
	if c.String() != want {
		t.Errorf("got %s", c)
	}
}

// Every color that the dashboard names is known here, and a series has the color of its meaning, not of its place.
func TestColours(t *testing.T) {
	t.Chdir("../../..")
	dashboard, err := monitoring.ReadDashboard(monitoring.DashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.All() {
		for _, override := range panel.FieldConfig.Overrides {
			for _, property := range override.Properties {
				if colours[property.Value.FixedColor] == "" {
					t.Errorf("%s has the color %q, which is not known", panel.Title, property.Value.FixedColor)
				}
			}
		}
		for _, step := range panel.FieldConfig.Defaults.Thresholds.Steps {
			if colours[step.Color] == "" {
				t.Errorf("%s has the color %q, which is not known", panel.Title, step.Color)
			}
		}
		if panel.Title == "Rollouts by result" {
			data := panelData{Panel: panel, series: []series{{name: "halted"}, {name: "completed"}, {name: "another"}}}
			if got := []string{data.colour(0), data.colour(1), data.colour(2)}; got[0] != colours["orange"] || got[1] != colours["green"] || got[2] != palette[2] {
				t.Errorf("halted, completed and another are %v", got)
			}
		}
	}
}

// The picture of the real dashboard is valid XML, has every panel, and has every value inside its panel.
func TestDraw(t *testing.T) {
	t.Chdir("../../..")
	dashboard, err := monitoring.ReadDashboard(monitoring.DashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Unix(0, 0)
	var panels []panelData
	for _, panel := range dashboard.Panels {
		data := panelData{Panel: panel, began: began, ended: began.Add(4 * step)}
		for range panel.Targets {
			data.series = append(data.series, series{"<a> & b", map[string]string{"podmanager": "web"}, []float64{nan, 1, 2, nan, 4}})
		}
		panels = append(panels, data)
	}
	picture := draw(dashboard.Title, panels)
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, panel := range dashboard.Panels {
		if !strings.Contains(picture, ">"+panel.Title+"<") {
			t.Errorf("%s is missing", panel.Title)
		}
	}
	if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") || strings.Contains(picture, `="-`) {
		t.Error("the picture has a coordinate that is negative or not a number")
	}
}
