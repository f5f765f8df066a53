// Package nodes simulates the scheduler and the kubelets of five nodes, some of them with a wrong clock.
//
// Start with nodes.go: Next is the kubelet's next step for a pod, and SetReady writes its readiness. containers.go starts and crashes containers,
// startup.go has their startup probes, updates.go carries out updates in place and resizes, and mishaps.go has what goes wrong with pods and nodes.
// leaving.go cordons and loses nodes. conditions.go reads and writes conditions of pods. course.go has the
// nodes of a course of events without randomness, and import.go adds existing pods.
//
// The nodes know only pods, neither PodManagers nor revisions. Nothing here uses pkg/plan, so that package world can prove it wrong.
package nodes
