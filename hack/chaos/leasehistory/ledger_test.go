package leasehistory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/pkg/shard"
)

// Each write belongs to a replica, by its token, and to a PodManager, by the name of the object.
func TestLedger(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		verb, user, token, resource, subresource, name string
		code, second                                   int
		judged                                         int
		violation                                      string
	}{
		"a pod":              {"create", "us", "1", "pods", "", "web-a-0", 201, 1, 1, ""},
		"a revision":         {"create", "us", "1", "controllerrevisions", "", "web-a-5f7c", 201, 1, 1, ""},
		"the status":         {"update", "us", "1", "podmanagers", "status", "web-a", 200, 1, 1, ""},
		"not of the holder":  {"patch", "us", "2", "pods", "", "web-a-0", 200, 1, 1, "host_one had taken it"},
		"late on the way":    {"delete", "us", "1", "pods", "", "web-a-0", 200, 7, 1, ""},
		"too late":           {"delete", "us", "1", "pods", "", "web-a-0", 200, 9, 1, "the Lease had run out"},
		"an unknown replica": {"patch", "us", "3", "pods", "", "web-a-0", 200, 1, 1, "the writer is not a replica"},
		"refused":            {"patch", "us", "2", "pods", "", "web-a-0", 409, 1, 0, ""},
		"a read":             {"get", "us", "2", "pods", "", "web-a-0", 200, 1, 0, ""},
		"an event":           {"create", "us", "2", "events", "", "web-a.1", 201, 1, 0, ""},
		"another user":       {"delete", "you", "2", "pods", "", "web-a-0", 200, 1, 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := &Ledger{user: "us", namespace: "ns"}
			at := began.Add(time.Duration(test.second) * time.Second)
			l.add(newRequest(test.verb, test.user, test.token, test.resource, test.subresource, "ns", test.name, test.code, at))
			part := shard.Of("ns", "web-a", 4)
			h := &History{versions: map[string][]leaseVersion{
				fmt.Sprint("ns-shard-", part): {{version: "3", holder: "host_one", from: began, acquired: began, until: began.Add(6 * time.Second)}},
			}}
			onTheWay := func(time.Time) time.Duration { return 2 * time.Second }
			holder := func(credential string) string {
				return map[string]string{"JTI=1": "host_one", "JTI=2": "host_two"}[credential]
			}
			judged, violations := l.Judge(h, "ns", 4, holder, onTheWay, func(string, time.Time) string { return "" })
			if judged != test.judged || (len(violations) == 0) != (test.violation == "") || !strings.Contains(fmt.Sprint(violations), test.violation) {
				t.Errorf("judged %d: %v; want %d, %q", judged, violations, test.judged, test.violation)
			}
		})
	}
}

func newRequest(verb, user, token, resource, subresource, namespace, name string, code int, received time.Time) audit.Request {
	r := audit.Request{Verb: verb, Received: received}
	r.User.Username, r.User.Extra = user, map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=" + token}}
	r.ObjectRef.Resource, r.ObjectRef.Subresource, r.ObjectRef.Namespace, r.ObjectRef.Name = resource, subresource, namespace, name
	r.ResponseStatus.Code = code
	return r
}
