// Package plantest builds PodManagers, pods and observations for the tests of pkg/plan and the packages below, which import it with a dot.
//
// plantest.go builds objects without a rollout, rollout.go builds objects in a rollout, inplace.go builds templates and pods for updates in place,
// and patch.go applies patches like the API server. A builder changes one thing and is named after it: Pod(0, V2, NotReady).
package plantest
