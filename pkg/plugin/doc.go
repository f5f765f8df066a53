// Package plugin is the root of the packages behind kubectl pm. They turn objects into text and patches:
//
//	text       tables, colours and the terminal; output has json, yaml, name and jsonpath
//	rights     the role that gives a missing permission
//	snapshot   a PodManager with its pods and revisions at one point in time
//	follow     how far a rollout has progressed, in one line, and the exit code
//	tree       the output of get
//	revisions  history, and the difference between two revisions
//	why        what blocks a rollout, the evidence, and the next command to run
//	change     the patches of undo, restart, pause and similar commands
//	manifest   PodManagers in files, and what kubectl apply would change
//	surge      whether a rollout would wait for a surge pod that gets no room
//	budget     what PodDisruptionBudgets let a drain do
//	simulate   a preview of a rollout or a drain
//	check      whether the cluster and the user's permissions are set up correctly
//	convert    a PodManager made from a Deployment or a similar workload
//	live       output that is updated until the rollout ends
//	cluster    the only package with clients: it reads, watches and writes
//
// All facts about pods and rollouts come from package plan and the packages below it, which the controller uses as well.
package plugin
