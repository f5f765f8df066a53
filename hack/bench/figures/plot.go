package figures

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// bar is one bar of the plot.
type bar struct {
	label string
	value float64
	// isLimit is set if the bar shows the limit. It is drawn in another color, because it is not a result of ours.
	isLimit bool
}

// panel is a group of bars on the same scale.
type panel struct {
	title string
	bars  []bar
}

const (
	plotWidth  = 940
	labelWidth = 400
	barHeight  = 18
	lineHeight = 26
	titleSpace = 44
)

// The colors have enough contrast on white and on black, and texts follow the reader's color scheme.
const plotStyle = `<style>
text { font: 13px sans-serif; fill: #24292f }
.title { font-weight: bold; font-size: 15px }
.ours { fill: #2f81f7 } .limit { fill: #8b949e } .one { stroke: #d29922; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
</style>
`

// plot returns a bar chart of ratios, as SVG.
func plot(r Results) string {
	out := &strings.Builder{}
	y := 0
	for _, p := range []panel{speedPanel(r), costPanel(r)} {
		if len(p.bars) > 0 {
			y += drawPanel(out, p, y)
		}
	}
	height := max(y, lineHeight) + 10
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Ratios to ReplicaSet">`+"\n",
		plotWidth, height, plotWidth, height) + plotStyle + out.String() + "</svg>\n"
}

// speedPanel shows how many times as fast as the peer each contender is.
func speedPanel(r Results) panel {
	p := panel{title: "Speed: ReplicaSet (Deployment for updates and on the real node) = 1, longer is better"}
	for _, one := range r.compared() {
		head, timed := headline[one.Workload]
		if !timed || one.Contender == peerOf(one.Workload) {
			continue
		}
		for _, speed := range []struct {
			metric Metric
			until  string
		}{{head.metric, ""}, {ReadyTime, " until Ready"}} {
			own, measured := one.median(speed.metric)
			other, comparable := r.Median(one.Workload, peerOf(one.Workload), speed.metric)
			if measured && comparable && own > 0 {
				p.bars = append(p.bars, bar{label: one.Title + speed.until + ", " + one.Contender, value: other / own, isLimit: one.Contender == Limit})
			}
		}
	}
	return p
}

// costPanel shows the cost of each contender relative to the peer.
func costPanel(r Results) panel {
	p := panel{title: "Cost: ReplicaSet (Deployment for updates and on the real node) = 1, shorter is better"}
	costs := []struct {
		metric Metric
		name   string
	}{{Writes, "writes"}, {StatusWrites, "status writes"}, {CPUTime, "CPU"}, {PeakMemory, "peak RSS"}}
	for _, one := range r.compared() {
		if one.Contender == peerOf(one.Workload) || one.Contender == Limit {
			continue
		}
		for _, cost := range costs {
			own, measured := one.median(cost.metric)
			other, comparable := r.Median(one.Workload, peerOf(one.Workload), cost.metric)
			if measured && comparable && other > 0 {
				p.bars = append(p.bars, bar{label: one.Title + ", " + one.Contender + ": " + cost.name, value: own / other})
			}
		}
	}
	return p
}

// drawPanel draws a panel at this height, and returns the panel's own height.
func drawPanel(out *strings.Builder, p panel, top int) int {
	most := 1.0
	for _, b := range p.bars {
		most = math.Max(most, b.value)
	}
	scale := (plotWidth - labelWidth - 60) / most
	fmt.Fprintf(out, `<text class="title" x="10" y="%d">%s</text>`+"\n", top+26, escaped(p.title))
	for i, b := range p.bars {
		y := top + titleSpace + i*lineHeight
		class := "ours"
		if b.isLimit {
			class = "limit"
		}
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelWidth-8, y+14, escaped(b.label))
		fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d"/>`, class, labelWidth, y, b.value*scale, barHeight)
		fmt.Fprintf(out, `<text x="%.1f" y="%d">%.2f</text>`+"\n", labelWidth+b.value*scale+6, y+14, b.value)
	}
	bottom := top + titleSpace + len(p.bars)*lineHeight
	fmt.Fprintf(out, `<line class="one" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n", labelWidth+scale, top+titleSpace-4, labelWidth+scale, bottom)
	return bottom - top + 10
}

func escaped(text string) string {
	out := &strings.Builder{}
	_ = xml.EscapeText(out, []byte(text)) // a strings.Builder never fails
	return out.String()
}
