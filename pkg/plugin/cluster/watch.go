package cluster

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// Watch keeps the PodManagers of a selection up to date. It uses informers, which reconnect by themselves and then catch up.
type Watch struct {
	selection                 Selection
	missing                   []string
	managers, pods, revisions cache.SharedIndexInformer
	changes                   chan struct{}
	errors                    chan error
}

// Watch starts to watch and returns once everything was read. withOwned adds pods and revisions.
func (c *Cluster) Watch(ctx context.Context, s Selection, withOwned bool) (*Watch, error) {
	if _, err := c.ReadManagers(ctx, s); err != nil { // informers would retry forever instead of returning the error
		return nil, err
	}
	w := &Watch{selection: s, changes: make(chan struct{}, 1), errors: make(chan error, 1)}
	ours := externalversions.NewSharedInformerFactoryWithOptions(c.Managers, 0, externalversions.WithNamespace(s.Namespace),
		externalversions.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = s.Selector
			if len(s.Names) == 1 {
				options.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Names[0]).String()
			}
		}))
	w.managers = ours.Apps().V1().PodManagers().Informer()
	watched := []cache.SharedIndexInformer{w.managers}
	if withOwned {
		if err := w.addOwned(ctx, c, &watched); err != nil {
			return nil, err
		}
	}
	for _, informer := range watched {
		if err := w.start(ctx, informer); err != nil {
			return nil, err
		}
	}
	for _, informer := range watched {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return nil, context.Cause(ctx)
		}
	}
	return w, nil
}

// addOwned watches pods and revisions, as far as the user may read them.
func (w *Watch) addOwned(ctx context.Context, c *Cluster, watched *[]cache.SharedIndexInformer) error {
	one := metav1.ListOptions{Limit: 1, LabelSelector: ownedBy(w.selection)}
	factory := informers.NewSharedInformerFactoryWithOptions(c.Kube, 0, informers.WithNamespace(w.selection.Namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = ownedBy(w.selection) }))
	_, err := c.Kube.CoreV1().Pods(w.selection.Namespace).List(ctx, one)
	switch {
	case apierrors.IsForbidden(err):
		w.missing = append(w.missing, kindPods)
	case err != nil:
		return c.Advise(err, w.selection.Namespace)
	default:
		w.pods = factory.Core().V1().Pods().Informer()
		*watched = append(*watched, w.pods)
	}
	_, err = c.Kube.AppsV1().ControllerRevisions(w.selection.Namespace).List(ctx, one)
	switch {
	case apierrors.IsForbidden(err):
		w.missing = append(w.missing, kindRevisions)
	case err != nil:
		return c.Advise(err, w.selection.Namespace)
	default:
		w.revisions = factory.Apps().V1().ControllerRevisions().Informer()
		*watched = append(*watched, w.revisions)
	}
	return nil
}

func (w *Watch) start(ctx context.Context, informer cache.SharedIndexInformer) error {
	notify := func() {
		select {
		case w.changes <- struct{}{}:
		default: // a notification is already pending
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(_, _ any) { notify() }, DeleteFunc: func(any) { notify() },
	})
	if err != nil {
		return err
	}
	err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return // the reflector lists again, so the user need not know
		}
		select {
		case w.errors <- err:
		default:
		}
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	return nil
}

// Changes receives an element if something has changed since the last receive.
func (w *Watch) Changes() <-chan struct{} { return w.changes }

// Errors receives errors of a connection that is being re-established.
func (w *Watch) Errors() <-chan error { return w.errors }

// Snapshots returns the current PodManagers, sorted by namespace and name.
func (w *Watch) Snapshots(now time.Time) []snapshot.Snapshot {
	managers := itemsOf[*v1.PodManager](w.managers)
	managers = slices.DeleteFunc(managers, func(manager *v1.PodManager) bool {
		return len(w.selection.Names) > 0 && !slices.Contains(w.selection.Names, manager.Name)
	})
	slices.SortFunc(managers, func(a, b *v1.PodManager) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
	pods, revisions := itemsOf[*corev1.Pod](w.pods), itemsOf[*appsv1.ControllerRevision](w.revisions)
	var all []snapshot.Snapshot
	for _, manager := range managers {
		all = append(all, snapshot.New(manager, pods, revisions, w.missing, now))
	}
	return all
}

func itemsOf[T any](informer cache.SharedIndexInformer) []T {
	if informer == nil {
		return nil
	}
	var items []T
	for _, item := range informer.GetStore().List() {
		if typed, ok := item.(T); ok {
			items = append(items, typed)
		}
	}
	return items
}
