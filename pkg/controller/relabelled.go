package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/queue"
)

// relabelledPageSize is how many pods without our label are listed at a time.
const relabelledPageSize = 250

// findRelabelled finds, once, the pods that somebody has relabelled while no controller ran: a PodManager controls them, but the
// informers do not show them. This costs a list of the metadata of all pods without our label. Until it has ended, createPod finds such a
// pod by its name when it creates a replacement.
func (c *Controller) findRelabelled(ctx context.Context, namespace string) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 10, Cap: time.Minute}
	_ = backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := c.listRelabelled(ctx, namespace)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Cannot look for pods that were relabelled away", "err", err)
		}
		return err == nil, nil
	})
}

func (c *Controller) listRelabelled(ctx context.Context, namespace string) error {
	options := metav1.ListOptions{LabelSelector: "!" + v1.LabelManager, Limit: relabelledPageSize}
	for {
		list, err := c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(namespace).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			c.enqueueForRelabelled(&list.Items[i])
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}

// enqueueForRelabelled enqueues the PodManager, if any, that controls a pod without our label.
func (c *Controller) enqueueForRelabelled(pod *metav1.PartialObjectMetadata) {
	if owner := c.managerOf(pod); owner != nil {
		key := cache.MetaObjectToName(owner)
		c.Tracker.MarkUnsettled(key, pod.Name)
		c.agenda.Add(key, queue.TriggerPodChanged, 0)
	}
}
