package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// inUnit formats a value in a unit of Grafana.
func inUnit(value float64, unit string) string {
	switch {
	case math.IsNaN(value):
		return "no data"
	case unit == "percentunit":
		return short(value*100) + " %"
	case unit == "s" && value != 0 && value < 1:
		return short(value*1000) + " ms"
	case unit == "s" && value >= 120:
		return short(value/60) + " min"
	case unit == "s":
		return short(value) + " s"
	case unit == "reqps", unit == "ops":
		return short(value) + "/s"
	case strings.HasPrefix(unit, "suffix:"):
		return short(value) + strings.TrimPrefix(unit, "suffix:")
	default:
		return short(value)
	}
}

// short formats a number with two significant digits, but at most two decimals, and with all digits before the decimal point.
func short(value float64) string {
	digits := 0
	for size := math.Abs(value); size > 0 && size < 10 && digits < 2; size *= 10 {
		digits++
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// niceMaximum returns the end of an axis: 1, 2 or 5 times a power of ten.
func niceMaximum(most float64) float64 {
	if most <= 0 || math.IsNaN(most) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, factor := range []float64{1, 2, 5} {
		if most <= factor*power*1.0001 {
			return factor * power
		}
	}
	return 10 * power
}

// number formats a coordinate.
func number(value float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0")
}
