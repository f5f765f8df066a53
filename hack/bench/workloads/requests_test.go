package workloads

import (
	"maps"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
)

func TestRequestCounts(t *testing.T) {
	got := requestCounts{}
	request := func(user, verb, resource string) audit.Request {
		r := audit.Request{Verb: verb}
		r.User.Username, r.ObjectRef.Resource = user, resource
		return r
	}
	added := got.add([]audit.Request{request("me", "create", "pods"), request("you", "create", "pods"), request("me", "create", "pods"), request("me", "list", "pods")},
		func(r audit.Request) bool { return r.User.Username == "me" })
	if want := (requestCounts{"create pods": 2, "list pods": 1}); added != 3 || !maps.Equal(got, want) {
		t.Errorf("added %d: %v, want %v", added, got, want)
	}
}

func TestRequestCountsSum(t *testing.T) {
	requests := requestCounts{
		"create pods": 5, "get pods": 1, "list pods": 1, "watch pods": 1, "update replicasets/status": 2, "patch podmanagers/status": 3, "patch pods/status": 4,
	}
	for name, test := range map[string]struct {
		is   func(string) bool
		want int
	}{
		"all":           {isAny, 17},
		"writes":        {audit.IsWrite, 14},
		"status writes": {isStatusWrite, 5},
	} {
		if got := requests.sum(test.is); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
