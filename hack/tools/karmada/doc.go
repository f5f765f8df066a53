// Package karmada tests artifacts/integrations/karmada: all operations of the ResourceInterpreterCustomization, on the objects of hack/sim/states.
//
// The scripts run in the Lua VM that Karmada uses, with the libraries that it allows. Of its library kube there is a stand-in, because Karmada is no
// module that a test can require: kube_test.go has what the scripts call of it, vm_test.go the rest of what Karmada does around a script.
package karmada
