package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/mycompany/podmanager/pkg/controller/queue"
	"github.com/mycompany/podmanager/pkg/controller/source"
)

// nodesChanged enqueues the PodManagers whose plan depends on nodes and that have pods on these nodes, or on any node if names is empty. It checks
// all pods: nodes rarely change in a way that matters, and an index would cost memory all the time.
func (c *Controller) nodesChanged(names []string) {
	for _, scope := range c.Scopes {
		affected := map[cache.ObjectName]bool{}
		for _, informer := range scope.Pods {
			for _, object := range informer.GetStore().List() {
				pod := object.(*corev1.Pod)
				if key, isManaged := source.ManagerKey(pod); isManaged && (len(names) == 0 || slices.Contains(names, pod.Spec.NodeName)) {
					affected[key] = true
				}
			}
		}
		for key := range affected {
			if manager := scope.ManagerNamed(key); manager != nil && manager.NeedsNodes() {
				c.scheduler.Add(key, queue.TriggerNode, 0)
			}
		}
	}
}
