package apiserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

// selection describes which objects of a resource a list or watch covers.
type selection struct {
	namespace string
	view      view
	labels    labels.Selector
	fields    fields.Selector
}

func newSelection(r *Request) (selection, error) {
	selected := selection{namespace: r.Namespace, view: r.view}
	var err error
	if selected.labels, err = labels.Parse(r.query.Get("labelSelector")); err != nil {
		return selected, apierrors.NewBadRequest(fmt.Sprintf("unable to parse requirement: %v", err))
	}
	if selected.fields, err = fields.ParseSelector(r.query.Get("fieldSelector")); err != nil {
		return selected, apierrors.NewBadRequest(err.Error())
	}
	for _, requirement := range selected.fields.Requirements() {
		known := requirement.Field == "metadata.name" || requirement.Field == "metadata.namespace" && !r.Resource.has(clusterWide)
		if !known && !slices.Contains(r.Resource.fields, requirement.Field) {
			return selected, apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	return selected, nil
}

func (s selection) isEverything() bool { return s.labels.Empty() && s.fields.Empty() }

func (s selection) matches(o *object) bool {
	switch {
	case o == nil, s.namespace != "" && !strings.HasPrefix(o.key, s.namespace+"/"), !s.labels.Matches(o.labels):
		return false
	}
	return s.fields.Empty() || s.fields.Matches(fieldsOf{o})
}

// fieldsOf presents an object to field selectors.
type fieldsOf struct{ *object }

func (f fieldsOf) Has(path string) bool { return f.Get(path) != "" }

func (f fieldsOf) Get(path string) string {
	switch path {
	case "metadata.name":
		return f.GetName()
	case "metadata.namespace":
		return f.GetNamespace()
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(f.Object)
	if err != nil {
		panic(err) // cannot happen: API types can be converted
	}
	value, found, err := unstructured.NestedFieldNoCopy(content, strings.Split(path, ".")...)
	if !found || err != nil {
		return ""
	}
	return fmt.Sprint(value)
}

// page describes which part of which state a list asks for.
type page struct {
	version  int64 // of the state; 0 for the present state
	notOlder int64 // the version that the server must have reached before it answers
	start    string
	limit    int
	// isContinued is true if the client continues an earlier list.
	isContinued bool
}

func (s *Server) list(ctx context.Context, r *Request) (*answer, error) {
	selected, err := newSelection(r)
	if err != nil {
		return nil, err
	}
	wanted, err := newPage(r)
	if err != nil {
		return nil, err
	}
	if err := s.awaitVersion(ctx, max(wanted.version, wanted.notOlder)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[r.Resource.storage()]
	objects, version := t.objects, s.version
	if wanted.version > 0 {
		if wanted.version < s.compacted {
			return nil, expiredList(wanted)
		}
		objects, version = t.at(wanted.version), wanted.version
	}
	return wanted.encode(r, selected, objects, version), nil
}

// encode returns the answer with the objects of this page.
func (p page) encode(r *Request, selected selection, objects []*object, version int64) *answer {
	metadata := metav1.ListMeta{ResourceVersion: strconv.FormatInt(version, 10)}
	var items []*object
	left := int64(0)
	for _, o := range objects {
		switch {
		case o.key < p.start || !selected.matches(o):
		case p.limit > 0 && len(items) == p.limit:
			left++
		default:
			items = append(items, o)
		}
	}
	if left > 0 {
		metadata.Continue = newToken(version, items[len(items)-1].key+"\x00")
		if selected.isEverything() {
			metadata.RemainingItemCount = &left
		}
	}
	list := r.Resource.encodeList
	if r.view == inProtobuf {
		list = r.Resource.encodeProtobufList
	}
	return &answer{code: http.StatusOK, body: list(r.view, metadata, items), view: r.view}
}

// encodeList assembles a list from its items. Each item is encoded once for all lists.
func (r *Resource) encodeList(v view, metadata metav1.ListMeta, items []*object) []byte {
	kind := metav1.TypeMeta{Kind: r.Kind, APIVersion: r.GroupVersion().String()}
	if v == metadataInJSON {
		kind = partial
	}
	list := fmt.Appendf(nil, `{"kind":"%sList","apiVersion":"%s","metadata":%s,"items":[`, kind.Kind, kind.APIVersion, encode(metadata))
	for i, o := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, o.in(v)...)
	}
	return append(list, "]}\n"...)
}

func (r *Resource) encodeProtobufList(v view, metadata metav1.ListMeta, items []*object) []byte {
	kind := r.GroupVersion().WithKind(r.Kind + "List")
	list, err := scheme.Scheme.New(kind)
	if err != nil {
		panic(err) // cannot happen: the scheme has lists of all built-in kinds
	}
	list.GetObjectKind().SetGroupVersionKind(kind)
	*list.(metav1.ListMetaAccessor).GetListMeta().(*metav1.ListMeta) = metadata
	objects := make([]runtime.Object, 0, len(items))
	for _, o := range items {
		objects = append(objects, o.Object)
	}
	if err := meta.SetList(list, objects); err != nil {
		panic(err) // cannot happen: these are the items of the list
	}
	return v.encode(list)
}

func newPage(r *Request) (page, error) {
	limit, _ := strconv.Atoi(r.query.Get("limit"))
	p := page{limit: limit}
	match, token := metav1.ResourceVersionMatch(r.query.Get("resourceVersionMatch")), r.query.Get("continue")
	version, err := parseVersion(r)
	if err != nil {
		return p, err
	}
	switch {
	case token != "" && version != 0:
		return p, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	case token != "":
		return p, p.resume(token)
	case match == metav1.ResourceVersionMatchExact, match == "" && limit > 0: // by default, a list with a limit is exact
		p.version = version
	default:
		p.notOlder = version
	}
	return p, nil
}

func parseVersion(r *Request) (int64, error) {
	text := r.query.Get("resourceVersion")
	if text == "" {
		return 0, nil
	}
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 0 {
		return 0, apierrors.NewInvalid(schema.GroupKind{Group: r.Resource.Group, Kind: r.Resource.Name}, "", field.ErrorList{
			field.Invalid(field.NewPath("resourceVersion"), text, fmt.Sprintf("strconv.ParseUint: parsing %q: invalid syntax", text))})
	}
	return version, nil
}

// token is the content of a continue token, in the API server's format.
type token struct {
	APIVersion string `json:"v"`
	Version    int64  `json:"rv"`
	Start      string `json:"start"`
}

func newToken(version int64, start string) string {
	return base64.RawURLEncoding.EncodeToString(encode(token{"meta.k8s.io/v1", version, start}))
}

// resume continues where an earlier page ended. A token without a version continues with the present state.
func (p *page) resume(text string) error {
	var t token
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil || t.Start == "" {
		return apierrors.NewBadRequest("continue key is not valid")
	}
	p.version, p.start, p.isContinued = max(t.Version, 0), t.Start, true
	return nil
}

func expiredList(p page) error {
	if !p.isContinued {
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new " +
		"list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with " +
		"the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was " +
		"returned and now may show up in the list.")
	expired.ErrStatus.Continue = newToken(-1, p.start)
	return expired
}

// maxVersionWait is how long a request waits for a version that has not been written yet.
const maxVersionWait = 3 * time.Second

// awaitVersion waits until the given version has been written.
func (s *Server) awaitVersion(ctx context.Context, version int64) error {
	limit := time.After(maxVersionWait)
	for {
		s.mu.Lock()
		present := s.version
		if present < version && s.versionReached == nil {
			s.versionReached = make(chan struct{})
		}
		reached := s.versionReached
		s.mu.Unlock()
		if present >= version {
			return nil
		}
		select {
		case <-reached:
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			late := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, present), 1)
			late.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
			return late
		}
	}
}
