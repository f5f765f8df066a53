// Package plantest builds PodManagers, pods and observations for the tests of pkg/plan and its rooms, which import it with a dot.
//
// plantest.go has the objects at rest, rollout.go those of a rollout, inplace.go those of an update in place, and patch.go applies patches
// as the API server does. A builder changes one thing and is named after it: Pod(0, V2, NotReady).
package plantest
