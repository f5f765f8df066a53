// Package conversion converts PodManagers from one version to another, for the API server.
//
// convert.go has the conversion functions. v1 is the hub, and v1alpha1 is converted to it and back. The functions are pure, and work on JSON
// instead of Go types. So a field that this program does not know yet is not lost, and a value keeps its form (a CPU of 1000m does not become 1).
// json.go has the JSON code: only converted fields are parsed, and everything else is copied from the request to the response, so that memory is
// limited by the size of the request. handler.go answers ConversionReviews, and review.go has the few fields of them that are used.
//
// Fields that v1alpha1 cannot express are kept in its status: v1Spec and v1Status are the spec and the status of v1. This is the only place that
// is safe for every kind of write. When a client writes the spec, by an update, a patch or an apply, the API server takes the status from the
// stored object, so the kept fields are never stale and cannot be omitted or edited. When a client writes the status, a schema rule protects
// v1Spec. An annotation would be under the user's control: kubectl replace would drop it, an exported manifest would restore an old state, and an
// edit could produce a spec that v1 refuses, without a new generation. It could also exceed the API server's limit of 256 KiB, and then reads
// would fail.
//
// Conversion succeeds for every PodManager of a known version: a single failure would break every list that includes the object.
package conversion
