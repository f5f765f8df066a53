package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is a parsed request of a client.
type Request struct {
	Client string
	// Verb is the verb of access reviews: get, list, watch, create, update, patch, delete or deletecollection. For a path that is not a resource,
	// it is the HTTP method in lower case.
	Verb string
	Path string
	// Resource is nil for a path that is not a resource.
	Resource                     *Resource
	Subresource, Namespace, Name string
	DryRun                       bool
	// Body is the body that the client sent.
	Body []byte

	text        string // what String returns; empty until the request has been parsed
	query       url.Values
	contentType string
	view        view
	epoch       int
	cut         <-chan struct{} // closed when the connection is cut
}

func (r *Request) String() string {
	if r.text != "" {
		return r.text
	}
	if r.Resource == nil {
		return fmt.Sprintf("%s: %s %s", r.Client, r.Verb, r.Path)
	}
	name := r.Resource.Name
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return fmt.Sprintf("%s: %s %s %s", r.Client, r.Verb, name, strings.Trim(r.key(), "/"))
}

// Sent returns the object that the client sent; nil if there is none.
func (r *Request) Sent() Object {
	if r.Resource == nil {
		return nil
	}
	sent, err := r.Resource.decode(r.Body)
	if err != nil {
		return nil
	}
	return sent
}

func (r *Request) key() string { return keyOf(r.Namespace, r.Name) }

// parse reads a request.
func (s *Server) parse(client string, request *http.Request) (*Request, error) {
	r := &Request{
		Client: client, Verb: strings.ToLower(request.Method), Path: request.URL.Path, query: request.URL.Query(),
		contentType: request.Header.Get("Content-Type"),
	}
	s.mu.Lock()
	r.epoch, r.cut = s.epoch, s.restarted
	s.mu.Unlock()
	r.DryRun = slices.Contains(r.query["dryRun"], metav1.DryRunAll)
	if request.Body != nil {
		defer request.Body.Close()
		r.Body = make([]byte, request.ContentLength)
		if _, err := io.ReadFull(request.Body, r.Body); err != nil {
			return nil, err
		}
	}
	if s.resolve(r, request.Method); r.Resource != nil {
		r.view = r.Resource.viewFor(request.Header.Get("Accept"))
	}
	r.text = r.String()
	return r, nil
}

// resolve finds the resource that a path refers to.
func (s *Server) resolve(r *Request, method string) {
	parts := strings.Split(strings.Trim(r.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = append([]string{""}, parts[1:]...)
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[1:]
	default:
		return
	}
	group, version, rest := parts[0], parts[1], parts[2:]
	if rest[0] == "namespaces" && len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
		r.Namespace, rest = rest[1], rest[2:]
	}
	i := slices.IndexFunc(s.resources, func(known *Resource) bool {
		return known.Group == group && known.Version == version && known.Name == rest[0]
	})
	if i < 0 || len(rest) > 3 || len(rest) == 3 && !slices.Contains(s.resources[i].subresources(), rest[2]) {
		return
	}
	r.Resource = s.resources[i]
	rest = append(rest, "", "")
	r.Name, r.Subresource = rest[1], rest[2]
	r.Verb = r.verb(method)
}

func (r *Request) verb(method string) string {
	switch {
	case method == http.MethodGet && r.Name != "":
		return "get"
	case method == http.MethodGet && isTrue(r.query.Get("watch")):
		return "watch"
	case method == http.MethodGet:
		return "list"
	case method == http.MethodDelete && r.Name == "":
		return "deletecollection"
	}
	return map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[method]
}

func isTrue(value string) bool { return value == "true" || value == "1" }

// serve carries out a request. An error breaks the connection.
func (s *Server) serve(ctx context.Context, r *Request) (*answer, error) {
	s.mu.Lock()
	isCut := s.epoch != r.epoch
	s.mu.Unlock()
	if isCut {
		return nil, errCut
	}
	if r.Resource == nil {
		return s.serveOther(r), nil
	}
	if !s.authorize(r) {
		return failure(forbidden(r)), nil
	}
	got, err := s.route(ctx, r)
	switch {
	case err == errCut: //nolint:errorlint // it is never wrapped
		return nil, err
	case err != nil:
		return failure(err), nil
	}
	return got, nil
}

// forbidden returns the error for a request that the client is not authorized to send.
func forbidden(r *Request) error {
	name := r.Resource.Name
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	where := "at the cluster scope"
	if r.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", r.Namespace)
	}
	reason := fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", r.Client, r.Verb, name, r.Resource.Group, where)
	return apierrors.NewForbidden(r.Resource.groupResource(), r.Name, errors.New(reason))
}

func (s *Server) route(ctx context.Context, r *Request) (*answer, error) {
	switch r.Subresource + " " + r.Verb {
	case " list":
		return s.list(ctx, r)
	case " watch":
		return s.watch(ctx, r)
	case " get", "status get", "resize get":
		return s.read(r)
	case " create":
		return s.create(ctx, r)
	case " update", "status update", "resize update", "finalize update", " patch", "status patch", "resize patch":
		return s.update(ctx, r)
	case " delete":
		return s.delete(ctx, r)
	case " deletecollection":
		return s.deleteCollection(ctx, r)
	case "scale get", "scale update", "scale patch":
		return s.scale(ctx, r)
	case "binding create":
		return s.bind(r)
	case "eviction create":
		return s.evict(ctx, r)
	}
	return nil, apierrors.NewMethodNotSupported(r.Resource.groupResource(), r.Verb)
}

func (s *Server) read(r *Request) (*answer, error) {
	found := s.get(r.Resource, r.key())
	if found == nil {
		return nil, apierrors.NewNotFound(r.Resource.groupResource(), r.Name)
	}
	return s.object(r, http.StatusOK, found), nil
}

// object returns the answer with an object, in the view that the client asked for.
func (s *Server) object(r *Request, code int, o *object) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &answer{code: code, body: o.in(r.view), view: r.view}
}
