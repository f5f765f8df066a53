package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

// Oracle sees every version of the pods of a namespace and of their owners, PodManagers and ReplicaSets, over separate connections. It only records
// what it sees; Report checks the versions in the order of their resourceVersions. The watches run concurrently, but all versions come from the
// same etcd, so that order is the true one.
type Oracle struct {
	sources []*source

	mu        sync.Mutex
	sightings []sighting
	// gaps are the times at which versions may have been missed. asked has how many pods users have requested of owners, by namespace/name.
	gaps  []time.Time
	asked map[string][]allowance
	err   error
}

// sighting is one version of one object.
type sighting struct {
	version uint64
	at      time.Time
	uid     types.UID
	name    string // namespace/name
	gone    bool
	pod     *podState   // for a pod
	owner   *ownerState // for a PodManager or ReplicaSet
}

// source is a resource that the oracle watches.
type source struct {
	cache.ListerWatcherWithContext
	resource string
}

// StartOracle watches a namespace until ctx is done. An empty name stands for all namespaces.
func StartOracle(ctx context.Context, config *rest.Config, namespace string) (*Oracle, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.Dial = (&net.Dialer{}).DialContext // otherwise client-go would share the connections of other clients
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	managers, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	newSource := func(client rest.Interface, resource string) *source {
		return &source{cache.NewListWatchFromClient(client, resource, namespace, fields.Everything()), resource}
	}
	o := &Oracle{asked: map[string][]allowance{}, sources: []*source{ // owners first: how many pods there may be depends on the owner
		newSource(managers.AppsV1().RESTClient(), "podmanagers"),
		newSource(kube.AppsV1().RESTClient(), "replicasets"),
		newSource(kube.CoreV1().RESTClient(), "pods"),
	}}
	for _, s := range o.sources {
		list, err := o.list(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, object := range list.objects {
			o.see(object, list.version, false)
		}
		go o.follow(ctx, s, list.version)
	}
	return o, nil
}

// Asked tells the oracle that a user is about to request at most this many pods of an owner. The oracle relies on the versions that it sees, and
// uses Asked only where it may have missed some.
func (o *Oracle) Asked(owner string, most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[owner] = append(o.asked[owner], allowance{time.Now(), most})
}

// listing has all objects at one version.
type listing struct {
	version string
	objects []metav1.Object
}

func (o *Oracle) list(ctx context.Context, s *source) (*listing, error) {
	list, err := s.ListWithContext(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	all := &listing{version: accessor.GetResourceVersion()}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		all.objects = append(all.objects, item.(metav1.Object))
		return nil
	})
	return all, err
}

// follow watches from a version onwards. If the watch ends, follow resumes it where it ended.
func (o *Oracle) follow(ctx context.Context, s *source, version string) {
	for ctx.Err() == nil {
		w, err := s.WatchWithContext(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err == nil {
			version, err = o.drain(w, version)
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			version, err = o.relist(ctx, s, version)
		}
		if err != nil {
			pause(ctx, 100*time.Millisecond) // the API server may be about to restart
		}
	}
}

// relist starts over from the current objects, because a restarted API server has no older versions. The time in between is a gap. It is not known
// when an object was deleted in a gap, so the oracle assumes the earliest moment.
func (o *Oracle) relist(ctx context.Context, s *source, version string) (string, error) {
	list, err := o.list(ctx, s)
	if err != nil {
		return version, err
	}
	vanished := o.newest(s)
	for _, object := range list.objects {
		delete(vanished, object.GetUID())
		o.see(object, object.GetResourceVersion(), false)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gaps = append(o.gaps, time.Now())
	for _, seen := range vanished {
		if !seen.gone {
			seen.gone, seen.at = true, time.Now()
			if seen.version, err = strconv.ParseUint(version, 10, 64); err != nil {
				return version, err
			}
			o.sightings = append(o.sightings, seen)
		}
	}
	return list.version, nil
}

// drain records the events of a watch until the watch ends, and returns the last version.
func (o *Oracle) drain(w watch.Interface, version string) (string, error) {
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return version, apierrors.FromObject(event.Object)
		}
		object := event.Object.(metav1.Object)
		version = object.GetResourceVersion()
		if event.Type != watch.Bookmark {
			o.see(object, version, event.Type == watch.Deleted)
		}
	}
	return version, nil
}

// see records a version of an object.
func (o *Oracle) see(object metav1.Object, version string, gone bool) {
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		o.fail(err)
		return
	}
	seen := sighting{
		version: number, at: time.Now(), uid: object.GetUID(), gone: gone,
		name: cache.MetaObjectToName(object).String(),
	}
	switch object := object.(type) {
	case *v1.PodManager:
		seen.owner = stateOfPodManager(object)
	case *appsv1.ReplicaSet:
		seen.owner = stateOfReplicaSet(object)
	case *corev1.Pod:
		seen.pod = stateOfPod(object)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sightings = append(o.sightings, seen)
}

func (o *Oracle) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = errors.Join(o.err, err)
}

// catchUp waits until the oracle has seen everything up to now.
func (o *Oracle) catchUp(ctx context.Context) error {
	for _, s := range o.sources {
		list, err := o.list(ctx, s)
		if err != nil {
			return err
		}
		for !o.hasSeen(s, list) {
			if !pause(ctx, 20*time.Millisecond) {
				return fmt.Errorf("the oracle lags behind on %s: %w", s.resource, ctx.Err())
			}
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// hasSeen reports whether the watch has shown all objects of the list, and the deletion of all others.
func (o *Oracle) hasSeen(s *source, list *listing) bool {
	newest := o.newest(s)
	for _, object := range list.objects {
		if version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64); newest[object.GetUID()].version < version {
			return false
		}
		delete(newest, object.GetUID())
	}
	at, _ := strconv.ParseUint(list.version, 10, 64)
	for _, seen := range newest {
		if !seen.gone && seen.version <= at {
			return false
		}
	}
	return true
}

// newest returns the last sighting of each object of a resource.
func (o *Oracle) newest(s *source) map[types.UID]sighting {
	o.mu.Lock()
	defer o.mu.Unlock()
	newest := map[types.UID]sighting{}
	for _, seen := range o.sightings {
		if seen.resource() == s.resource {
			newest[seen.uid] = seen
		}
	}
	return newest
}

func (s sighting) resource() string {
	if s.pod != nil {
		return "pods"
	}
	return s.owner.resource
}
