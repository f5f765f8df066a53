// Package plugin tests kubectl pm: the built program, invoked by the real kubectl, on a real API server with the built controller. make
// e2e runs it.
//
//	main_test.go     building and starting what all tests share
//	space_test.go    a test's namespace: running the plugin, masking what differs between runs
//	verbs_test.go    every verb, as an administrator
//	exit_test.go     every exit code of status
//	simulate_test.go simulate agrees with what happens afterwards, which witness_test.go records
//	users_test.go    every verb as users who may edit, and who may only view PodManagers
//	check_test.go    the leader, coverage, permissions, and a CRD that is missing or old
//	requests_test.go the number of requests that a verb sends
//	terminal_test.go the live view on a pseudo-terminal, in a pipe, and when the connection drops
//	complete_test.go completion by kubectl
//	convert_test.go  other kinds as PodManagers that the API server accepts
//	adopt_test.go    pods that are handed over, and back
package plugin
