package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// object is one version of an object. It never changes.
type object struct {
	*unstructured.Unstructured
	key     string // namespace/name
	version int64
	labels  labels.Set
	encoded [views][]byte // for each view, once it was asked for
}

func newObject(content map[string]any, version int64) *object {
	o := &object{Unstructured: &unstructured.Unstructured{Object: content}, version: version}
	if version > 0 {
		o.SetResourceVersion(strconv.FormatInt(version, 10))
	}
	o.key, o.labels = keyOf(o.GetNamespace(), o.GetName()), o.GetLabels()
	return o
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

// at is the same state with another version, as the event of a deletion has it.
func (o *object) at(version int64) *object {
	content := maps.Clone(o.Object)
	content["metadata"] = maps.Clone(content["metadata"].(map[string]any))
	return newObject(content, version)
}

// view is a form in which clients see objects.
type view int

const (
	whole view = iota
	metadataOnly
	views
)

func (o *object) in(v view) []byte {
	if o.encoded[v] == nil {
		o.encoded[v] = encode(v.of(o.Object))
	}
	return o.encoded[v]
}

func (v view) of(content map[string]any) map[string]any {
	if v == metadataOnly {
		return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": content["metadata"]}
	}
	return content
}

func encode(content any) []byte {
	encoded, err := json.Marshal(content)
	if err != nil {
		panic(err) // cannot happen: the content was decoded from JSON
	}
	return encoded
}

// Change is one write, and a version in the history of a resource.
type Change struct {
	Version int64
	// Request is what was asked for. One request may be several writes.
	Request *Request
	// Old and New are the states before and after; nil before the creation and after the deletion.
	Old, New map[string]any

	old, new *object
	gone     *object // the old state with this version, once it was asked for
	lines    map[line][]byte
}

func (c *Change) departed() *object {
	if c.gone == nil {
		c.gone = c.old.at(c.Version)
	}
	return c.gone
}

// table has the objects of one resource.
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

// at are the objects as they were at a version, which the history has to reach.
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

// get is the present state of an object; nil if there is none.
func (s *Server) get(r *Resource, key string) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[r.storage()].get(key)
}

// commit replaces one state of an object by the next one, and tells all streams. The caller holds the lock. A state that is the same as before
// is not written, as in etcd.
func (s *Server) commit(r *Request, old *object, content map[string]any) *object {
	if old != nil && content != nil && isSame(old.Object, content) {
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

// isSame compares all but the version.
func isSame(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, found := b[name]
		if name == "metadata" {
			value, other = withoutVersion(value), withoutVersion(other)
		}
		if !found || !equal(value, other) {
			return false
		}
	}
	return true
}

func withoutVersion(metadata any) map[string]any {
	fields := maps.Clone(metadata.(map[string]any))
	delete(fields, "resourceVersion")
	return fields
}

// modify changes an object. It calls next with the present state until no other client has written in between, and commits what next returns.
func (s *Server) modify(r *Request, next func(present *object) (map[string]any, error)) (*object, error) {
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

// replace commits the new state if the present one has not changed. An object whose last finalizer goes is deleted instead.
func (s *Server) replace(r *Request, present *object, content map[string]any) (written *object, isCurrent bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != r.epoch {
		return nil, false, errCut
	}
	if s.tables[r.Resource.storage()].get(present.key) != present {
		return nil, false, nil
	}
	switch next := (&object{Unstructured: &unstructured.Unstructured{Object: content}}); {
	case isFinished(r.Resource, present, next):
		if !r.DryRun {
			s.commit(r, present, nil)
		}
		return newObject(content, 0), true, nil // the answer is the object that the client has written
	case r.DryRun:
		return newObject(content, 0), true, nil
	default:
		return s.commit(r, present, content), true, nil
	}
}

// isFinished reports whether an update has removed the last finalizer of an object that is being deleted.
func isFinished(r *Resource, present, next *object) bool {
	if present.GetDeletionTimestamp() == nil || len(next.GetFinalizers()) > 0 {
		return false
	}
	if remaining, _, _ := unstructured.NestedSlice(next.Object, "spec", "finalizers"); r.Kind == "Namespace" && len(remaining) > 0 {
		return false
	}
	grace := present.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// checkUID refuses a write for an object with another UID.
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

// success is the answer to a request that returns no object.
func success(details *metav1.StatusDetails) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Details: details}
}
