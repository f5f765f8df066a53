// Package paper computes a cluster that is too large for any machine of ours: what each of several replicas would need, and the API server
// for them, from what single things cost.
//
// All is pure. The bench measures the costs (hack/bench/workloads/paper.go), and hack/bench/figures tells the result.
//
// Start with Rows in paper.go.
package paper
