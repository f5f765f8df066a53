package compare

// The function that the tests of package compare_test call.

var QosOf = qosOf
