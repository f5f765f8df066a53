// Package nodes simulates the scheduler and the kubelets of five nodes, some of them with a wrong clock.
//
// Start with nodes.go: Next is what a kubelet does next about a pod. containers.go starts and crashes containers, updates.go carries out
// updates in place and resizes, mishaps.go has what goes wrong with pods and nodes. conditions.go reads and writes conditions of pods.
// course.go has the nodes of a course of events in which nothing is left to chance, import.go takes pods over that exist.
//
// The nodes know pods only: no PodManager, no revisions. Nothing here uses pkg/plan, so that package world can prove it wrong.
package nodes
