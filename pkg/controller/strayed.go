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

// strayedPage is how many pods are read at a time when looking for strayed ones.
const strayedPage = 250

// findStrayed looks, once, for pods that somebody has relabelled away while no controller watched: they are ours, and the
// informers do not show them. It costs a list of what all pods without our label are called; until it has ended, such a pod is found
// by its name at the latest when it is to be replaced.
func (c *Controller) findStrayed(ctx context.Context, namespace string) {
	patience := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 10, Cap: time.Minute}
	_ = patience.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := c.findStrayedIn(ctx, namespace)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Cannot look for pods that were relabelled away", "err", err)
		}
		return err == nil, nil
	})
}

func (c *Controller) findStrayedIn(ctx context.Context, namespace string) error {
	options := metav1.ListOptions{LabelSelector: "!" + v1.LabelManager, Limit: strayedPage}
	for {
		list, err := c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(namespace).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			c.strayed(&list.Items[i])
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}

// strayed queues the PodManager of a pod that has lost its label.
func (c *Controller) strayed(pod *metav1.PartialObjectMetadata) {
	if owner := c.managerOf(pod); owner != nil {
		key := cache.MetaObjectToName(owner)
		c.Tracker.Unknown(key, pod.Name)
		c.agenda.Add(key, queue.TriggerPodChanged, 0)
	}
}
