package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request is a line of the log, with the fields that somebody here needs.
type Request struct {
	Stage, Verb, UserAgent string
	User                   struct {
		Username string
		Extra    map[string][]string
	}
	// ObjectRef is empty for a request about no object, such as GET /apis.
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

// isRepeated tells of one of the two lines about a long request: a watch counts when it begins, anything else when it has ended.
func (r Request) isRepeated() bool {
	return r.Stage == "ResponseComplete" && r.Verb == "watch" || r.Stage == "ResponseStarted" && r.Verb != "watch"
}

// What is the verb and the resource, such as "update podmanagers/status".
func (r Request) What() string {
	if r.ObjectRef.Resource == "" {
		return r.Verb + " other paths"
	}
	return strings.TrimSuffix(r.Verb+" "+r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/")
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s by %s -> %d", r.What(), strings.TrimPrefix(r.ObjectRef.Namespace+"/"+r.ObjectRef.Name, "/"), r.User.Username, r.ResponseStatus.Code)
}

// IsWrite tells whether the request was to store something.
func (r Request) IsWrite() bool { return IsWrite(r.What()) }

// IsWrite tells it of a verb and a resource. It leaves out the questions about one's own rights: they are created, but stored nowhere.
func IsWrite(what string) bool {
	verb, resource, _ := strings.Cut(what, " ")
	return !slices.Contains([]string{"get", "list", "watch"}, verb) && !strings.HasPrefix(resource, "selfsubject")
}

// IsWriteOf tells whether the request was a write of a user to something in a namespace, other than a Lease.
func (r Request) IsWriteOf(user, namespace string) bool {
	return r.IsWrite() && r.User.Username == user && r.ObjectRef.Namespace == namespace && r.ObjectRef.Resource != "leases"
}

// Succeeded tells whether the API server has done what was asked.
func (r Request) Succeeded() bool {
	return r.ResponseStatus.Code >= http.StatusOK && r.ResponseStatus.Code < http.StatusMultipleChoices
}

// IsForbidden tells whether the authorizer has refused the request. The status code does not tell: a quota forbids, too.
func (r Request) IsForbidden() bool {
	return r.Annotations["authorization.k8s.io/decision"] == "forbid"
}

// Credential is the token that the request came with.
func (r Request) Credential() string {
	return strings.Join(r.User.Extra["authentication.kubernetes.io/credential-id"], " ")
}
