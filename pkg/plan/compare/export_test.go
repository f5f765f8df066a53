package compare

// QosOf exports qosOf to the tests of package compare_test.

var QosOf = qosOf
