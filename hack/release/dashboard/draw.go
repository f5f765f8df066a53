package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// A unit of the dashboard's grid in pixels, and the space between panels.
const (
	unitWidth, unitHeight = 50, 26
	gap                   = 4
	headline              = 34
)

// palette has enough contrast on white and on black. Texts follow the reader's color scheme.
var palette = []string{"#2f81f7", "#3fb950", "#d29922", "#f85149", "#a371f7", "#1b9e9e", "#db61a2", "#8b949e"}

// colours has the colors that the dashboard names, in thresholds and for series that have a meaning.
var colours = map[string]string{
	"green": "#3fb950", "yellow": "#e3b341", "orange": "#d29922", "red": "#f85149", "dark-red": "#b62324", "blue": "#2f81f7", "light-blue": "#79c0ff", "purple": "#a371f7",
}

const pictureStyle = `<style>
text { font: 11px sans-serif; fill: #24292f }
.title { font-weight: bold; font-size: 12px } .head { font-weight: bold; font-size: 15px } .note { fill: #6e7781 } .big { font-weight: bold; font-size: 30px }
.panel { fill: none; stroke: #8b949e; stroke-opacity: .5 } .grid { stroke: #8b949e; stroke-opacity: .3 }
polyline { fill: none; stroke-width: 1.5 } .area { fill-opacity: .35; stroke: none }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #8b949e } }
</style>
`

// canvas collects the parts of an SVG picture.
type canvas struct{ strings.Builder }

func (c *canvas) add(format string, arguments ...any) { fmt.Fprintf(c, format+"\n", arguments...) }

func (c *canvas) text(class string, x, y float64, text string) {
	c.add(`<text class="%s" x="%s" y="%s">%s</text>`, class, number(x), number(y), escaped(text))
}

func escaped(text string) string {
	out := &strings.Builder{}
	_ = xml.EscapeText(out, []byte(text)) // a strings.Builder never fails
	return out.String()
}

// box is a rectangle in pixels.
type box struct{ x, y, w, h float64 }

// draw returns the picture of all panels.
func draw(title string, panels []panelData) string {
	body, bottom := &canvas{}, 0
	for _, panel := range panels {
		place := panel.GridPos
		bottom = max(bottom, place.Y+place.H)
		drawPanel(body, panel, box{
			float64(place.X*unitWidth + gap/2), float64(place.Y*unitHeight + headline + gap/2),
			float64(place.W*unitWidth - gap), float64(place.H*unitHeight - gap),
		})
	}
	width, height := 24*unitWidth, bottom*unitHeight+headline
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, width, height, escaped(title))
	c.WriteString(pictureStyle)
	c.text("head", 8, 22, title)
	if len(panels) > 0 {
		c.text("note", 120, 22, fmt.Sprintf("%s of rollouts on simulated nodes; the dashboard's own queries, answered by a real Prometheus",
			inUnit(panels[0].ended.Sub(panels[0].began).Seconds(), "s")))
	}
	c.WriteString(body.String())
	c.WriteString("</svg>\n")
	return c.String()
}

func drawPanel(c *canvas, panel panelData, place box) {
	if panel.Type == "row" {
		c.text("head", place.x+4, place.y+17, panel.Title)
		return
	}
	c.add(`<rect class="panel" x="%s" y="%s" width="%s" height="%s" rx="3"/>`, number(place.x), number(place.y), number(place.w), number(place.h))
	c.text("title", place.x+8, place.y+16, panel.Title)
	inner := box{place.x + 8, place.y + 22, place.w - 16, place.h - 26}
	switch panel.Type {
	case "stat":
		drawStat(c, panel, inner)
	case "table":
		drawTable(c, panel, inner)
	default:
		drawChart(c, panel, inner)
	}
}

// drawStat shows the newest value in the color of its threshold.
func drawStat(c *canvas, panel panelData, place box) {
	value, colour := math.NaN(), palette[len(palette)-1]
	if len(panel.series) > 0 {
		value = panel.series[0].last()
	}
	for _, step := range panel.FieldConfig.Defaults.Thresholds.Steps {
		if !math.IsNaN(value) && (step.Value == nil || value >= *step.Value) {
			colour = colours[step.Color]
		}
	}
	c.add(`<text class="big" x="%s" y="%s" style="fill:%s">%s</text>`, number(place.x), number(place.y+place.h/2+14), colour,
		escaped(inUnit(value, panel.FieldConfig.Defaults.Unit)))
}

// drawTable draws a line for each series that has a current value.
func drawTable(c *canvas, panel panelData, place box) {
	columns := []string{"namespace", "podmanager", "reason"}
	y := place.y + 14
	for i, column := range columns {
		c.text("note", place.x+float64(i)*place.w/3, y, column)
	}
	for _, s := range panel.series {
		if y += 17; math.IsNaN(s.last()) || y > place.y+place.h {
			y -= 17
			continue
		}
		for i, column := range columns {
			c.text("", place.x+float64(i)*place.w/3, y, s.labels[column])
		}
	}
}
