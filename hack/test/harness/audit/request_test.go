package audit

import (
	"fmt"
	"testing"
)

func TestRequest(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{
			`{"verb":"create","user":{"username":"me"},"objectRef":{"resource":"pods","namespace":"ns","name":"web-0"},"responseStatus":{"code":201}}`,
			`create pods ns/web-0 by me -> 201: write true, succeeded true, forbidden false, credential ""`,
		},
		{
			`{"verb":"create","user":{"username":"me"},"objectRef":{"resource":"pods","namespace":"ns"},"responseStatus":{"code":403},` +
				`"annotations":{"authorization.k8s.io/decision":"allow"}}`,
			`create pods ns/ by me -> 403: write true, succeeded false, forbidden false, credential ""`,
		},
		{
			`{"verb":"list","user":{"username":"me"},"objectRef":{"resource":"nodes"},"responseStatus":{"code":403},` +
				`"annotations":{"authorization.k8s.io/decision":"forbid"}}`,
			`list nodes  by me -> 403: write false, succeeded false, forbidden true, credential ""`,
		},
		{
			`{"verb":"patch","user":{"username":"me","extra":{"authentication.kubernetes.io/credential-id":["JTI=1"]}},` +
				`"objectRef":{"resource":"podmanagers","subresource":"status","namespace":"ns","name":"web"},"responseStatus":{"code":200}}`,
			`patch podmanagers/status ns/web by me -> 200: write true, succeeded true, forbidden false, credential "JTI=1"`,
		},
		{
			`{"verb":"create","user":{"username":"me"},"objectRef":{"resource":"selfsubjectaccessreviews"},"responseStatus":{"code":201}}`,
			`create selfsubjectaccessreviews  by me -> 201: write false, succeeded true, forbidden false, credential ""`,
		},
		{
			`{"verb":"get","user":{"username":"me"},"responseStatus":{"code":200}}`,
			`get other paths  by me -> 200: write false, succeeded true, forbidden false, credential ""`,
		},
	} {
		r, err := parse([]byte(test.line))
		got := fmt.Sprintf("%v: write %v, succeeded %v, forbidden %v, credential %q", r, r.IsWrite(), r.Succeeded(), r.IsForbidden(), r.Credential())
		if err != nil || got != test.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", test.line, err, got, test.want)
		}
	}
}

func TestIsWriteOf(t *testing.T) {
	for name, test := range map[string]struct {
		verb, user, resource, namespace string
		want                            bool
	}{
		"a write":        {"patch", "us", "pods", "ns", true},
		"a read":         {"list", "us", "pods", "ns", false},
		"a Lease":        {"update", "us", "leases", "ns", false},
		"another user":   {"patch", "you", "pods", "ns", false},
		"somewhere else": {"patch", "us", "pods", "other", false},
	} {
		var r Request
		r.Verb, r.User.Username, r.ObjectRef.Resource, r.ObjectRef.Namespace = test.verb, test.user, test.resource, test.namespace
		if got := r.IsWriteOf("us", "ns"); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
