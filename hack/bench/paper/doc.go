// Package paper computes a cluster that is too large for any machine of ours. From unit costs, it derives what each of several replicas would need,
// and what the API server would need for them.
//
// Everything here is pure. The bench measures the costs (hack/bench/workloads/paper.go), and hack/bench/figures reports the result.
//
// Start with Rows in paper.go.
package paper
