// Package conversion turns PodManagers of one version into those of another, for the API server.
//
// convert.go has the functions: v1 is the hub, and v1alpha1 knows how to get there and back. They are pure, and work on JSON rather than on
// the Go types, so that a field that this program does not know yet is not lost, and a value keeps its form (a CPU of 1000m does not become
// 1). json.go has the JSON: only what is converted is looked at, and all else is copied from the request to the answer, so that memory is
// bounded by the size of the request. handler.go answers the API server's ConversionReviews, review.go has the few fields of these.
//
// What v1alpha1 cannot say is kept in its status: v1Spec and v1Status are the spec and the status of v1. That is the one place that holds for
// every kind of write. When a spec is written, by an update, a patch or an apply, the API server takes the status from the stored object: what
// is kept is never stale, and cannot be left out or edited. When a status is written, a rule of the schema keeps v1Spec as it is. An
// annotation would be in the users' hands: dropped by kubectl replace, put back to an old state by an exported manifest, edited into a spec
// that v1 refuses, without a new generation, and too large for the 256 KiB that the API server allows, which would fail reads.
//
// No object makes a conversion fail that is a PodManager in a known version: one such object would fail the lists of all.
package conversion
