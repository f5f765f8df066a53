// Package plugin tests kubectl podmanager: the built program, called by the real kubectl, on a real API server with the built
// controller. make e2e runs it.
//
//	main_test.go     building and starting what all tests share
//	space_test.go    a test's namespace: running the plugin, masking what differs from run to run
//	verbs_test.go    every verb, as an administrator
//	exit_test.go     every exit code of status
//	simulate_test.go simulate agrees with what happens then, which witness_test.go sees
//	users_test.go    every verb as users who may edit, and who may only look at PodManagers
//	check_test.go    the leader, coverage, rights, and a CRD that is missing or old
//	requests_test.go how many requests a verb makes
//	terminal_test.go the live view on a pseudo-terminal, in a pipe, and when the connection drops
//	complete_test.go completion by kubectl
//	convert_test.go  other kinds as PodManagers, valid for the API server
//	adopt_test.go    pods that are handed over, and back
package plugin
