// Package follow reports how far a rollout has progressed: in one line, and as an exit code for scripts.
//
// Everything is derived from the conditions, which only the controller sets.
package follow
