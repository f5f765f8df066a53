// Package fields generates values for the fields of a PodManager's spec, with the expected result of each: the API server refuses the value, the
// status reports why the PodManager is not ready, or the controller carries it out.
//
// Start with trial.go: a Trial is one value for one field, and Trials returns all of them.
//
//	schema.go    the fields in the schema of the CRD: limits, values beyond the limits, and other types
//	template.go  the fields of the template that matter most to a controller, listed by hand
//
// All functions are pure. fields.go of hack/chaos/scenarios applies the values to objects in a cluster, and checks the results.
package fields
