// Package figures has what the bench has measured, and reports it: the results, the goals, and the report as text, Markdown, JSON and SVG.
//
// It measures nothing, and knows no cluster: the bench passes in samples, and each workload decides how to obtain a figure. The strings in names.go
// and metrics.go are in report.json: they must not change, so that reports can be compared over time.
//
// Start with goals.go.
//
//	metrics.go  what is measured, and in which unit
//	names.go    the names of workloads and contenders in results
//	results.go  samples and medians
//	goals.go    what we want to reach
//	report.go   what a run has found, and the files that it is written to
//	tables.go, table_*.go, plot.go  the contents of these files
package figures
