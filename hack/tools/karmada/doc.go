// Package karmada tests artifacts/integrations/karmada: all operations of the ResourceInterpreterCustomization, on the objects of hack/sim/states.
//
// The scripts run in the Lua VM that Karmada uses, with the libraries that it allows. Karmada's library kube is replaced by a stand-in, because a
// test cannot import Karmada: kube_test.go has the functions that the scripts call, vm_test.go the rest of what Karmada does around a script.
package karmada
