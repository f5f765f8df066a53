package inplace

// Unexported functions that the tests of package inplace_test call.

var QosOf = qosOf
var RestartsWhenResized = restartsWhenResized
