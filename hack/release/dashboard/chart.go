package main

import (
	"math"
	"strings"
	"time"
)

const (
	axisWidth, axisHeight = 52, 14
	legendHeight          = 15
	letterWidth           = 6.2
)

// chart is the drawing area of time series: the position of the axes, and their scale.
type chart struct {
	area box
	most float64
	// count is the number of steps from left to right.
	count int
}

func (c chart) x(index int) float64 {
	return c.area.x + c.area.w*float64(index)/float64(max(1, c.count-1))
}

func (c chart) y(value float64) float64 {
	return c.area.y + c.area.h*(1-math.Min(value, c.most)/c.most)
}

func drawChart(c *canvas, panel panelData, place box) {
	legend := legendLines(panel.series, place.w)
	area := box{place.x + axisWidth, place.y + 6, place.w - axisWidth - 4, place.h - 8 - axisHeight - float64(len(legend)*legendHeight)}
	custom := panel.FieldConfig.Defaults.Custom
	layers := panel.series
	isStacked := custom.Stacking.Mode == "normal"
	if isStacked {
		layers = stacked(panel.series)
	}
	drawing := chart{area: area, most: niceMaximum(maximum(layers)), count: int(panel.ended.Sub(panel.began)/step) + 1}
	drawAxes(c, drawing, panel)
	// Draw the highest layer of a stack first, so that the lower ones cover it.
	for i := len(layers) - 1; i >= 0; i-- {
		colour := panel.colour(i)
		switch {
		case custom.DrawStyle == "bars":
			drawBars(c, drawing, layers[i], colour)
		case isStacked:
			drawArea(c, drawing, layers, i, colour)
		default:
			drawLine(c, drawing, layers[i], colour)
		}
	}
	for line, entries := range legend {
		x, y := place.x, place.y+place.h-float64((len(legend)-1-line)*legendHeight)-3
		for _, entry := range entries {
			c.add(`<rect x="%s" y="%s" width="9" height="9" fill="%s"/>`, number(x), number(y-8), panel.colour(entry.index))
			c.text("", x+13, y, entry.name)
			x += entry.width
		}
	}
}

func maximum(all []series) float64 {
	most := 0.0
	for _, s := range all {
		for _, value := range s.values {
			if !math.IsNaN(value) && !math.IsInf(value, 0) {
				most = math.Max(most, value)
			}
		}
	}
	return most
}

// stacked returns the series stacked on top of each other.
func stacked(all []series) []series {
	var layers []series
	var below []float64
	for _, s := range all {
		layer := series{name: s.name, values: make([]float64, len(s.values))}
		for i, value := range s.values {
			if i < len(below) {
				layer.values[i] = below[i]
			}
			if !math.IsNaN(value) {
				layer.values[i] += value
			}
		}
		below = layer.values
		layers = append(layers, layer)
	}
	return layers
}

func drawAxes(c *canvas, drawing chart, panel panelData) {
	area := drawing.area
	for _, part := range []float64{0, 0.5, 1} {
		value := drawing.most * part
		y := drawing.y(value)
		c.add(`<line class="grid" x1="%s" y1="%s" x2="%s" y2="%s"/>`, number(area.x), number(y), number(area.x+area.w), number(y))
		c.add(`<text class="note" text-anchor="end" x="%s" y="%s">%s</text>`, number(area.x-4), number(y+4), escaped(axisLabel(value, panel.FieldConfig.Defaults.Unit)))
	}
	const minute = int(time.Minute / step)
	for i := 0; i < drawing.count; i += minute {
		anchor := "middle"
		if i == 0 {
			anchor = "start" // next to the number of the other axis
		} else if i+minute >= drawing.count {
			anchor = "end" // not beyond the edge
		}
		c.add(`<text class="note" text-anchor="%s" x="%s" y="%s">%d min</text>`, anchor, number(drawing.x(i)), number(area.y+area.h+12), i/minute)
	}
}

// axisLabel omits a suffix in words, because there is little space.
func axisLabel(value float64, unit string) string {
	if strings.HasPrefix(unit, "suffix:") {
		unit = "ops"
	}
	return inUnit(value, unit)
}

// drawLine draws a line, which is interrupted where there are no values. Of consecutive points at the same height, it keeps the first and the last.
func drawLine(c *canvas, drawing chart, s series, colour string) {
	var points []string
	flush := func() {
		switch {
		case len(points) == 1:
			x, y, _ := strings.Cut(points[0], ",")
			c.add(`<circle cx="%s" cy="%s" r="1.5" fill="%s"/>`, x, y, colour)
		case len(points) > 1:
			c.add(`<polyline stroke="%s" points="%s"/>`, colour, strings.Join(points, " "))
		}
		points = nil
	}
	for i, value := range s.values {
		if math.IsNaN(value) {
			flush()
			continue
		}
		same := func(j int) bool { return j >= 0 && j < len(s.values) && s.values[j] == value }
		if !same(i-1) || !same(i+1) {
			points = append(points, number(drawing.x(i))+","+number(drawing.y(value)))
		}
	}
	flush()
}

// drawArea fills the area between a layer of a stack and the one below it.
func drawArea(c *canvas, drawing chart, layers []series, index int, colour string) {
	points := outline(drawing, layers[index].values)
	lower := make([]float64, drawing.count)
	if index > 0 {
		lower = layers[index-1].values
	}
	if maximum(layers[index:index+1]) == 0 || equal(layers[index].values, lower) {
		return
	}
	bottom := outline(drawing, lower)
	for i := len(bottom) - 1; i >= 0; i-- {
		points = append(points, bottom[i])
	}
	c.add(`<polygon fill="%s" fill-opacity=".6" points="%s"/>`, colour, strings.Join(points, " "))
}

func equal(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// outline returns the points of the values, without points between equal neighbors.
func outline(drawing chart, values []float64) []string {
	var points []string
	for i, value := range values {
		if i == 0 || i == len(values)-1 || values[i-1] != value || values[i+1] != value {
			points = append(points, number(drawing.x(i))+","+number(drawing.y(value)))
		}
	}
	return points
}

func drawBars(c *canvas, drawing chart, s series, colour string) {
	width := drawing.area.w / float64(drawing.count) * 0.8
	floor := drawing.y(0)
	for i, value := range s.values {
		if height := floor - drawing.y(value); height >= 0.5 {
			c.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, number(math.Min(drawing.x(i), drawing.area.x+drawing.area.w-width)),
				number(drawing.y(value)), number(width), number(height), colour)
		}
	}
}

// legendEntry is a name in the legend, for the series with this index.
type legendEntry struct {
	index int
	name  string
	width float64
}

// legendLines arranges the names of the series in lines that fit into a width.
func legendLines(all []series, width float64) [][]legendEntry {
	var lines [][]legendEntry
	left := 0.0
	for i, s := range all {
		entry := legendEntry{i, s.name, 26 + letterWidth*float64(len(s.name))}
		if left < entry.width {
			lines, left = append(lines, nil), width
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], entry)
		left -= entry.width
	}
	return lines
}
