package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/pkg/consistency"
)

// rewindInterval is how often a source is checked while its informer sends no requests. rewindRetry is how soon a failed check is repeated.
// It is short because a restored API server may soon reach the versions from before the restore.
const (
	rewindInterval = 15 * time.Second
	rewindRetry    = time.Second
)

// maxWitnesses is how many witnesses a source has. One is not enough: after a restore, a single object may by chance have been written again at the
// version that its witness recorded.
const maxWitnesses = 3

var errRewound = errors.New("the API server has gone back in time")

// checkedSource is the ListWatch of an informer. It detects that the API server has gone back in time, for example because etcd was restored
// from a backup.
//
// Without this check, an informer would resume its watch at a version that the restored API server has yet to reach, and miss every change up to
// that version. So before each request the source checks whether the API server still has the history that it has sent before. The witnesses are
// the objects that changed last. The source compares them as of the version that the informer has reached, not as of now: an object whose latest
// event has yet to arrive is no evidence.
type checkedSource struct {
	resource            schema.GroupVersionResource
	namespace, selector string
	client              metadata.Interface // reads the witnesses
	source              *cache.ListWatch
	// consistentList makes lists consistent: the source drops resourceVersion=0, which an informer sends first. Such a list may come from the API
	// server's cache and be older than the last writes of the shard's previous holder. A watch that starts with all objects is consistent
	// anyway.
	consistentList bool
	// answered is called after each request of the informer, and rewound when the source detects that the API server has gone back in time. Both
	// are set before the informer starts.
	answered func(ctx context.Context, err error)
	rewound  func(err error)

	mu sync.Mutex
	// version is the version up to which the API server has sent everything. It is empty until the first list is complete.
	version   string
	witnesses []witness   // the newest first
	watch     *notedWatch // the current one: events of an earlier watch may be late
}

// witness is an object as it was after its last change.
type witness struct {
	name    cache.ObjectName
	uid     types.UID
	version string
	isGone  bool
}

// confirms reports whether a list of the objects with the witness's name shows the state that the witness recorded.
func (w witness) confirms(list *metav1.PartialObjectMetadataList) bool {
	if w.isGone || len(list.Items) == 0 {
		return w.isGone && len(list.Items) == 0
	}
	return list.Items[0].UID == w.uid && list.Items[0].ResourceVersion == w.version
}

// isNewer reports whether a list shows an older version of the object than the witness recorded.
func (w witness) isNewer(list *metav1.PartialObjectMetadataList) bool {
	return len(list.Items) > 0 && list.Items[0].UID == w.uid && consistency.IsNewer(w.version, list.Items[0].ResourceVersion)
}

// listWatch returns the ListWatch for the informer. Its objects are trimmed.
func (s *checkedSource) listWatch() *cache.ListWatch {
	return &cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.beginWatch}
}

func (s *checkedSource) list(ctx context.Context, options metav1.ListOptions) (list runtime.Object, err error) {
	isFirstPage := options.Continue == ""
	if isFirstPage {
		err = s.check(ctx, maxWitnesses)
	}
	if s.consistentList && options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
	if err == nil {
		list, err = s.source.ListWithContextFunc(ctx, options)
	}
	s.answered(ctx, err)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if isFirstPage {
		s.version, s.witnesses, s.watch = "", nil, nil
	}
	err = meta.EachListItem(list, func(object runtime.Object) error {
		Trim(object)
		s.note(object.(metav1.Object), false)
		return nil
	})
	if page, isList := list.(metav1.ListInterface); isList && page.GetContinue() == "" {
		s.version = page.GetResourceVersion()
	}
	return list, err
}

func (s *checkedSource) beginWatch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	err := s.check(ctx, maxWitnesses)
	var inner watch.Interface
	if err == nil {
		inner, err = s.source.WatchFuncWithContext(ctx, options)
	}
	s.answered(ctx, err)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch = &notedWatch{Interface: inner, source: s, events: make(chan watch.Event), stopped: make(chan struct{})}
	if ptr.Deref(options.SendInitialEvents, false) { // the watch starts with a list
		s.version, s.witnesses = "", nil
	}
	go s.watch.forward()
	return s.watch, nil
}

// note makes an object a witness if it is one of the newest ones. The caller holds the lock.
func (s *checkedSource) note(object metav1.Object, isGone bool) {
	w := witness{cache.MetaObjectToName(object), object.GetUID(), object.GetResourceVersion(), isGone}
	s.witnesses = slices.DeleteFunc(s.witnesses, func(other witness) bool { return other.name == w.name })
	rank := 0
	for rank < len(s.witnesses) && consistency.IsNewer(s.witnesses[rank].version, w.version) {
		rank++
	}
	s.witnesses = slices.Insert(s.witnesses, rank, w)
	s.witnesses = s.witnesses[:min(len(s.witnesses), maxWitnesses)]
}

// check returns an error if the API server has gone back in time or does not answer. It asks for at most this many witnesses.
func (s *checkedSource) check(ctx context.Context, most int) (err error) {
	s.mu.Lock()
	version, witnesses := s.version, slices.Clone(s.witnesses[:min(most, len(s.witnesses))])
	s.mu.Unlock()
	if version == "" {
		return nil
	}
	if len(witnesses) == 0 {
		_, err = s.ask(ctx, version, s.namespace, metav1.ListOptions{Limit: 1}) // any object: finding a selected one may be a long search
	}
	for i := 0; err == nil && i < len(witnesses); i++ {
		err = s.hear(ctx, version, witnesses[i])
	}
	if errors.Is(err, errRewound) {
		s.rewound(err)
	}
	return err
}

// hear compares a witness with the current state of its object. If they differ, and a later change may be the reason, it compares the witness with
// the state that the object had at the version.
func (s *checkedSource) hear(ctx context.Context, version string, w witness) error {
	named := metav1.ListOptions{LabelSelector: s.selector, FieldSelector: fields.OneTermEqualSelector("metadata.name", w.name.Name).String()}
	list, err := s.ask(ctx, version, w.name.Namespace, named)
	if err == nil && !w.confirms(list) && !w.isNewer(list) {
		named.ResourceVersion, named.ResourceVersionMatch = version, metav1.ResourceVersionMatchExact
		list, err = s.ask(ctx, version, w.name.Namespace, named)
		if answer := apierrors.APIStatus(nil); errors.As(err, &answer) {
			// The state at the version is unknown. The version may be compacted; then the informer's watch is refused, too, and it lists
			// again. Or the object was stored in an API version that is no longer served. The informer must not wait for an answer that never
			// comes.
			return nil
		}
	}
	if err != nil || w.confirms(list) {
		return err
	}
	return fmt.Errorf("%w: %s %s at resourceVersion %s differs from what was read before", errRewound, s.resource.Resource, w.name, version)
}

// ask lists metadata, and fails if the API server has not reached the version yet.
func (s *checkedSource) ask(ctx context.Context, version, namespace string, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	list, err := s.client.Resource(s.resource).Namespace(namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("checking whether the API server has gone back in time: %w", err)
	}
	if consistency.IsNewer(version, list.ResourceVersion) {
		return nil, fmt.Errorf("%w: the resourceVersion of %s was %s, and is %s", errRewound, s.resource.Resource, version, list.ResourceVersion)
	}
	return list, nil
}

// watchFailed handles the errors that make an informer relist. Refusals, a missing CRD and a rewind are logged elsewhere, so they are only
// logged at V(4) here.
func watchFailed(ctx context.Context, r *cache.Reflector, err error) {
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || errors.Is(err, errRewound) {
		klog.FromContext(ctx).V(4).Info("A list or watch failed", "type", r.TypeDescription(), "err", err)
		return
	}
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

// notedWatch forwards trimmed events, and records what they show.
type notedWatch struct {
	watch.Interface
	source   *checkedSource
	events   chan watch.Event
	stopped  chan struct{}
	stopOnce sync.Once
}

func (w *notedWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *notedWatch) Stop() {
	w.stopOnce.Do(func() { close(w.stopped) })
	w.Interface.Stop()
}

func (w *notedWatch) forward() {
	defer close(w.events)
	for event := range w.Interface.ResultChan() {
		if object, isObject := event.Object.(metav1.Object); isObject {
			w.note(event.Type, object)
		}
		if event.Type != watch.Bookmark && event.Type != watch.Error {
			Trim(event.Object)
		}
		select {
		case w.events <- event:
		case <-w.stopped:
			return
		}
	}
}

func (w *notedWatch) note(event watch.EventType, object metav1.Object) {
	w.source.mu.Lock()
	defer w.source.mu.Unlock()
	if w.source.watch != w {
		return
	}
	if event != watch.Bookmark {
		w.source.note(object, event == watch.Deleted)
	}
	if event == watch.Bookmark || w.source.version != "" { // the objects of a list come in any order; the first bookmark ends it
		w.source.version = object.GetResourceVersion()
	}
}
