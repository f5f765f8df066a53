package text

import "strings"

// Command is how every message, hint and usage line names the plugin. The program may be installed as kubectl-pm, as kubectl-podmanager or as
// both; a user who learns one name from all of them can search for it.
const Command = "kubectl pm"

// Hint returns the command line of a verb, such as "kubectl pm why web -n ns", for a hint. It names the namespace, so that it works as printed
// whatever the default namespace is. If namespace is empty, it names none.
func Hint(namespace string, words ...string) string {
	line := Command + " " + strings.Join(words, " ")
	if namespace == "" {
		return line
	}
	return line + " -n " + namespace
}
