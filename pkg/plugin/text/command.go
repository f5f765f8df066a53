package text

// Command is how every message, hint and usage line names the plugin. The program may be installed as kubectl-pm, as kubectl-podmanager or as
// both; a user who learns one name from all of them can search for it.
const Command = "kubectl pm"
