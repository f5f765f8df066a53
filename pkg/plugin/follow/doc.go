// Package follow says how far a PodManager is: in one line, and as an exit code for scripts.
//
// All of it is read off the conditions, which the controller alone decides.
package follow
