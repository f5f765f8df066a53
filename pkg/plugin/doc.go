// Package plugin holds what kubectl podmanager knows. The packages below it turn objects into text and into patches:
//
//	text       tables, colours and the terminal
//	output     json, yaml, name and jsonpath
//	snapshot   a PodManager with its pods and revisions at one time
//	follow     how far a rollout is, in one line, and the exit code
//	tree       what get shows
//	revisions  history, and the difference between two revisions
//	why        what holds a rollout up, the evidence, and the next command
//	change     what undo, restart, pause and the others write
//	manifest   PodManagers in files, and what kubectl apply would change
//	simulate   a rollout before it happens
//	check      whether the cluster and the user's rights are as they should be
//	convert    a PodManager made from a Deployment and its like
//	live       showing what changes, until it ends
//	cluster    the only package with clients: it reads, watches and writes
//
// What they say of pods and rollouts comes from package plan and the packages below it, as for the controller.
package plugin
