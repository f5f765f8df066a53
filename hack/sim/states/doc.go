// Package states brings PodManagers into the states of a rollout, and stores them for the tests of artifacts/integrations: the real controller makes
// them, on the simulated API server under fake time. The states are those of hack/test/core, which asks kstatus about them on a real API server,
// and a few that kstatus does not tell apart.
//
//	states_test.go   the states, and how to reach them
//	cluster_test.go  the API server, the controller, and a kubelet that does what an image's tag says
//	files_test.go    the files; go test ./hack/sim/states -update writes them anew
//	verbs_test.go    what the plugin's verbs write, which the actions of Argo CD must write as well, and the ConfigMap with these
package states
