// Package figures has what the bench has measured, and tells it: the results, the goals that they are held to, and the report as text,
// Markdown, JSON and SVG.
//
// It measures nothing, and knows no cluster: the bench hands in samples, and how a figure is come by is the business of its workload.
// The strings in names.go and metrics.go are in report.json: reports can be compared over time only if they stay.
//
// Start with goals.go.
//
//	metrics.go  what is measured, and in which unit
//	names.go    the workloads and contenders, as results have them
//	results.go  samples and medians
//	goals.go    what we want to reach
//	report.go   what a run has found out, and the files that it is written to
//	tables.go, table_*.go, plot.go  what is in them
package figures
