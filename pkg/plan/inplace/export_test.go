package inplace

// What only tests look at from outside.

var QosOf = qosOf
var RestartsWhenResized = restartsWhenResized
