package apiserver

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// object is one version of an object. It is immutable.
type object struct {
	Object
	key     string // namespace/name
	version int64
	labels  labels.Set
	encoded [views][]byte // one per view, filled on first use
}

func newObject(content Object, version int64) *object {
	if version > 0 {
		content.SetResourceVersion(strconv.FormatInt(version, 10))
	}
	return &object{Object: content, key: keyOf(content.GetNamespace(), content.GetName()), version: version, labels: content.GetLabels()}
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

func (o *object) in(v view) []byte {
	if o.encoded[v] == nil {
		o.encoded[v] = v.encode(o.Object)
	}
	return o.encoded[v]
}

// Change is one write: one version in the history of a resource.
type Change struct {
	Version int64
	// Request is the request that caused the write. One request may cause several writes.
	Request *Request
	// Old is nil for a creation, New is nil for a deletion.
	Old, New Object

	old, new *object
	gone     *object // the old state with the version of the deletion, filled on first use
	lines    map[line][]byte
}

// JSON returns the new state. Only observers may call it, while they handle the change.
func (c *Change) JSON() []byte { return c.new.in(inJSON) }

func (c *Change) departed() *object {
	if c.gone == nil {
		c.gone = newObject(copyOf(c.old.Object), c.Version)
	}
	return c.gone
}

// table holds the objects of one resource.
type table struct {
	objects []*object // sorted by key
	history []*Change
	streams []*Stream
}

func (t *table) find(key string) (int, bool) {
	return slices.BinarySearchFunc(t.objects, key, func(o *object, key string) int { return strings.Compare(o.key, key) })
}

func (t *table) get(key string) *object {
	if i, found := t.find(key); found {
		return t.objects[i]
	}
	return nil
}

func (t *table) put(key string, o *object) {
	switch i, found := t.find(key); {
	case o == nil && found:
		t.objects = slices.Delete(t.objects, i, i+1)
	case o == nil:
	case found:
		t.objects[i] = o
	default:
		t.objects = slices.Insert(t.objects, i, o)
	}
}

// at returns the objects as of a version, which the history has to cover.
func (t *table) at(version int64) []*object {
	past := table{objects: slices.Clone(t.objects)}
	for _, c := range slices.Backward(t.history) {
		if c.Version <= version {
			break
		}
		if c.old != nil {
			past.put(c.old.key, c.old)
		} else {
			past.put(c.new.key, nil)
		}
	}
	return past.objects
}

// get returns the present state of an object; nil if there is none.
func (s *Server) get(r *Resource, key string) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[r.storage()].get(key)
}

// commit replaces the old state of an object with the new one, and notifies all streams. As in etcd, an unchanged state is not written. The caller
// holds the lock.
func (s *Server) commit(r *Request, old *object, content Object) *object {
	if old != nil && content != nil && old.isSame(content) {
		return old
	}
	t := s.tables[r.Resource.storage()]
	s.version++
	c := &Change{Version: s.version, Request: r, New: content, old: old}
	if old != nil {
		c.Old = old.Object
	}
	if content != nil {
		c.new = newObject(content, s.version)
		t.put(c.new.key, c.new)
	} else {
		t.put(old.key, nil)
	}
	t.history = append(t.history, c)
	for _, stream := range t.streams {
		stream.see(c)
	}
	if s.versionReached != nil {
		close(s.versionReached)
		s.versionReached = nil
	}
	for _, observe := range s.observers {
		observe(c)
	}
	if c.new == nil {
		return c.departed()
	}
	return c.new
}

// isSame reports whether content would be stored as the same state, ignoring the version.
func (o *object) isSame(content Object) bool {
	content.SetResourceVersion(o.GetResourceVersion())
	if custom, isCustom := content.(*unstructured.Unstructured); isCustom {
		return reflect.DeepEqual(custom.Object, o.Object.(*unstructured.Unstructured).Object)
	}
	return bytes.Equal(inProtobuf.encode(content), o.in(inProtobuf))
}

// modify changes an object. It calls next with the present state, and commits the result. If another client has written in between, modify starts
// over.
func (s *Server) modify(r *Request, next func(present *object) (Object, error)) (*object, error) {
	for {
		present := s.get(r.Resource, r.key())
		if present == nil {
			return nil, apierrors.NewNotFound(r.Resource.groupResource(), r.Name)
		}
		content, err := next(present)
		if err != nil {
			return nil, err
		}
		written, isCurrent, err := s.replace(r, present, content)
		if isCurrent || err != nil {
			return written, err
		}
	}
}

// replace commits the new state if the present one has not changed. If the update removes the last finalizer of a terminating object, it deletes
// the object instead.
func (s *Server) replace(r *Request, present *object, content Object) (written *object, isCurrent bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != r.epoch {
		return nil, false, errCut
	}
	if s.tables[r.Resource.storage()].get(present.key) != present {
		return nil, false, nil
	}
	switch {
	case isFinished(present, content):
		if !r.DryRun {
			s.commit(r, present, nil)
		}
		return newObject(content, 0), true, nil // the answer is the object that the client wrote
	case r.DryRun:
		return newObject(content, 0), true, nil
	default:
		return s.commit(r, present, content), true, nil
	}
}

// isFinished reports whether an update has removed the last finalizer of an object that is being deleted.
func isFinished(present *object, next Object) bool {
	if present.GetDeletionTimestamp() == nil || len(next.GetFinalizers()) > 0 {
		return false
	}
	if namespace, isNamespace := next.(*corev1.Namespace); isNamespace && len(namespace.Spec.Finalizers) > 0 {
		return false
	}
	grace := present.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// checkUID refuses a write that names another UID than the present object's.
func checkUID(r *Request, wanted string, present *object) error {
	var actual string
	if present != nil {
		actual = string(present.GetUID())
	}
	if wanted == "" || wanted == actual {
		return nil
	}
	return apierrors.NewConflict(r.Resource.groupResource(), r.Name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: /registry/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"Precondition failed: UID in precondition: %s, UID in object meta: %s", r.Resource.etcdPrefix(), strings.TrimPrefix(r.key(), "/"), wanted, actual))
}

func (r *Resource) etcdPrefix() string {
	if r.schema != nil {
		return r.Group + "/" + r.Name
	}
	return r.Name
}

// now returns the current time in the precision of objects.
func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// created201 returns the answer to a binding or an eviction.
func created201() *answer {
	status := success(nil)
	status.Code = http.StatusCreated
	return &answer{code: http.StatusCreated, body: encode(status)}
}

// success returns the answer to a request that returns no object.
func success(details *metav1.StatusDetails) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Details: details}
}
