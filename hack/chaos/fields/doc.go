// Package fields makes up values for the fields of a PodManager's spec, and says what must come of each: the API server refuses it, the
// status tells why it is held up, or the controller carries it out.
//
// Start with trial.go: a Trial is one value for one field, and Trials are all of them.
//
//	schema.go    the fields that the schema of the CRD has: limits, values beyond the limits, and other types
//	template.go  the fields of the template that matter most to a controller, by hand
//
// All functions are pure: fields.go of hack/chaos/scenarios gives the values to objects in a cluster, and checks what comes of it.
package fields
