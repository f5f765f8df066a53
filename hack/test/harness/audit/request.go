package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request is a line of the log, with the fields that are used here.
type Request struct {
	Stage, Verb, UserAgent string
	User                   struct {
		Username string
		Extra    map[string][]string
	}
	// ObjectRef is empty for a request that concerns no object, such as GET /apis.
	ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
	// Received is when the API server received the request.
	Received    time.Time `json:"requestReceivedTimestamp"`
	Annotations map[string]string
}

func parse(line []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("the audit log has %s: %w", line, err)
	}
	return r, nil
}

// isRepeated reports whether this is the redundant line of a long request, for which the log has two. For a watch the line about its start counts,
// for any other request the line about its end.
func (r Request) isRepeated() bool {
	return r.Stage == "ResponseComplete" && r.Verb == "watch" || r.Stage == "ResponseStarted" && r.Verb != "watch"
}

// What returns the verb and the resource, such as "update podmanagers/status".
func (r Request) What() string {
	if r.ObjectRef.Resource == "" {
		return r.Verb + " other paths"
	}
	return strings.TrimSuffix(r.Verb+" "+r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/")
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s by %s -> %d", r.What(), strings.TrimPrefix(r.ObjectRef.Namespace+"/"+r.ObjectRef.Name, "/"), r.User.Username, r.ResponseStatus.Code)
}

// IsWrite reports whether the request stores something.
func (r Request) IsWrite() bool { return IsWrite(r.What()) }

// IsWrite reports whether a verb and resource, as returned by What, store something. Self-subject reviews do not count: they are created, but not
// stored.
func IsWrite(what string) bool {
	verb, resource, _ := strings.Cut(what, " ")
	return !slices.Contains([]string{"get", "list", "watch"}, verb) && !strings.HasPrefix(resource, "selfsubject")
}

// IsWriteOf reports whether the request is a write of a user in a namespace, other than to a Lease.
func (r Request) IsWriteOf(user, namespace string) bool {
	return r.IsWrite() && r.User.Username == user && r.ObjectRef.Namespace == namespace && r.ObjectRef.Resource != "leases"
}

// Succeeded reports whether the API server has carried out the request.
func (r Request) Succeeded() bool {
	return r.ResponseStatus.Code >= http.StatusOK && r.ResponseStatus.Code < http.StatusMultipleChoices
}

// IsForbidden reports whether the authorizer has refused the request. The status code is not enough, because a quota causes the same one.
func (r Request) IsForbidden() bool {
	return r.Annotations["authorization.k8s.io/decision"] == "forbid"
}

// Credential returns the ID of the token that the request came with.
func (r Request) Credential() string {
	return strings.Join(r.User.Extra["authentication.kubernetes.io/credential-id"], " ")
}
