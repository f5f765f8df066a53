//go:build e2e

package plugin

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// finding returns the line of a check: its result and its message.
func (s *space) finding(name string, arguments ...string) string {
	s.T.Helper()
	got := s.try(append([]string{"check"}, arguments...)...)
	for _, line := range strings.Split(got.out, "\n") {
		if strings.HasPrefix(line, name+" ") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return got.String()
}

// wants checks that got contains want.
func (s *space) wants(what, got, want string) {
	s.T.Helper()
	if !strings.Contains(got, want) {
		s.T.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

func TestCheck(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: 'app:1', updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceIfPossible}}}")
	s.pm("status", "web", "--timeout", "1m", "--until-available")
	got := s.pm("check", "web", "--controller-namespace", s.Name)
	for _, want := range []string{"PodManagers v1 are served by https://127.0.0.1:", "you may patch podmanagers", "the API server can resize pods in place", "Policy       ok",
		"the controller has seen generation", "no replica holds the Lease podmanager-controller in namespace " + s.Name, "no Deployment of the controller is in namespace " + s.Name} {
		s.wants("check", got, want)
	}
	if strings.Contains(got, "another version") {
		t.Errorf("the CRD of this tree should fit:\n%s", got)
	}
}

// check reports the leader and since when it leads: a controller acquires the Lease and releases it.
func TestCheckLeader(t *testing.T) {
	s := newSpace(t)
	s.Kubectl("create", "role", "leader", "--verb=create,get,update", "--resource=leases.coordination.k8s.io")
	s.Kubectl("create", "rolebinding", "leader", "--role=leader", "--serviceaccount=podmanager-system:podmanager-controller")
	controller, err := shared.cluster.Launch("leader", "-leader-elect", "-leader-elect-resource-namespace", s.Name, "-selector", "nobody=has-this", "-v", "2")
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			_ = controller.Kill()
		}
	})
	s.Await("a leader", func() (any, bool) {
		got := s.finding("Leader", "--controller-namespace", s.Name)
		return got + "\n" + controller.Tail(5), strings.HasPrefix(got, "Leader ok ")
	})
	s.golden("the leader", s.pm("check", "--controller-namespace", s.Name, "-o", "jsonpath={[1].result}"), "ok")
	holder := s.Kubectl("get", "lease", "podmanager-controller", "-o", "jsonpath={.spec.holderIdentity}")
	s.golden("the leader", strings.Replace(s.finding("Leader", "--controller-namespace", s.Name), holder, "HOLDER", 1), "Leader ok HOLDER holds the Lease for AGE")
	stopped = true
	if err := controller.Stop(); err != nil {
		t.Fatal(err)
	}
	s.wants("after the leader has stopped", s.finding("Leader", "--controller-namespace", s.Name), "Leader warning no replica holds the Lease")

	// A leader that died without releasing the Lease.
	s.Kubectl("patch", "lease", "podmanager-controller", "--type=merge", "-p",
		`{"spec":{"holderIdentity":"dead","renewTime":"2026-01-01T00:00:00.000000Z","acquireTime":"2026-01-01T00:00:00.000000Z"}}`)
	s.wants("after the leader has died", s.finding("Leader", "--controller-namespace", s.Name), "Leader failure dead holds the Lease")
	if got := s.try("check", "--controller-namespace", s.Name); got.code != 1 {
		t.Errorf("want exit code 1, because a user has to act: %v", got)
	}
}

// If replicas share the work, check reports how many shards each replica holds, and a shard without a holder.
func TestCheckShards(t *testing.T) {
	s := newSpace(t)
	s.Kubectl("create", "role", "shards", "--verb=create,get,list,watch,update,delete", "--resource=leases.coordination.k8s.io")
	s.Kubectl("create", "rolebinding", "shards", "--role=shards", "--serviceaccount=podmanager-system:podmanager-controller")
	for i := range 2 {
		controller, err := shared.cluster.Launch(fmt.Sprint("shards-", i), "-leader-elect", "-leader-elect-resource-namespace", s.Name, "-shards=5", "-selector", "nobody=has-this", "-v", "2")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = controller.Kill() })
	}
	s.Await("two replicas that share the shards", func() (any, bool) {
		got := s.finding("Shards", "--controller-namespace", s.Name)
		return got, got == "Shards ok 5 shards on 2 replicas: 2, 3"
	})
	s.wants("a group", s.finding("Leader", "--controller-namespace", s.Name), "Leader ok a group of replicas, which share 5 shards, holds the Lease for")
	// The Lease of a replica that is gone.
	s.Kubectl("patch", "lease", "podmanager-controller-shard-3-of-5", "--type=merge", "-p", `{"spec":{"holderIdentity":"gone","renewTime":"2026-01-01T00:00:00.000000Z"}}`)
	s.wants("a shard without a holder", s.finding("Shards", "--controller-namespace", s.Name), "Shards warning no replica holds 3-of-5; 4 shards on 2 replicas:")
}

// check reads the flags of a controller from its Deployment and reports whether they cover an object.
func TestCheckCoverage(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 0, image: 'app:1'}") // its label is team=a
	s.pm("status", "web", "--timeout", "1m", "--until-available")
	for _, step := range []struct {
		flags, want string
		code        int
	}{
		{`"-v=2"`, "Controller ok Deployment podmanager-controller has 1 pod available, and its -namespace and -selector include web", 0},
		{`"-namespace=elsewhere"`, "Controller failure Deployment podmanager-controller: -namespace is elsewhere, not " + s.Name, 1},
		{`"-namespace", "elsewhere", "--namespace=` + s.Name + `"`, "and its -namespace and -selector include web", 0},
		{`"-selector=team=b"`, "Controller failure Deployment podmanager-controller: -selector team=b does not select web", 1},
		{`"-selector", "team in (a,b)"`, "and its -namespace and -selector include web", 0},
	} {
		s.Apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: podmanager-controller, labels: {app.kubernetes.io/name: podmanager}}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app.kubernetes.io/name: podmanager}}
  template:
    metadata: {labels: {app.kubernetes.io/name: podmanager}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: controller, image: "podmanager:1", args: [` + step.flags + `]}]}
`)
		s.Await("what "+step.flags+" covers", func() (any, bool) {
			got := s.try("check", "web", "--controller-namespace", s.Name)
			return got, got.code == step.code && strings.Contains(strings.Join(strings.Fields(got.out), " "), step.want)
		})
	}
}

// check reports missing permissions, and what they are needed for.
func TestCheckRights(t *testing.T) {
	admin := newSpace(t)
	s := admin.user("viewer", "podmanager-view")
	s.Await("the rights to be there", func() (any, bool) {
		got := s.try("get")
		return got, got.code == 0
	})
	got := s.pm("check", "--controller-namespace", s.Name)
	for _, want := range []string{"you may not list pods", "you may not list controllerrevisions", "you may not get pods/log", "you may not patch podmanagers",
		"you may not update podmanagers/scale", "you may not create pods", "the role edit grants this right", "the role podmanager-edit (a Helm release may give it another name) grants this right: kubectl create rolebinding", "Leader       unknown", "Controller   unknown", "Policy       unknown"} {
		admin.wants("check", got, want)
	}
	if strings.Contains(got, "you may not list podmanagers") {
		t.Errorf("check denies a right that the viewer has:\n%s", got)
	}
}

// If one of the rules is missing in the cluster, check reports it and what to do.
func TestCheckPolicy(t *testing.T) {
	s := newSpace(t)
	without, _ := s.withMiddle(func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/validatingadmissionpolicies") { // the same length, because protobuf stores the length of a string
			return bytes.ReplaceAll(body, []byte("podmanager-pod-rights"), []byte("podmanager-pod-others"))
		}
		return body
	})
	s.wants("no rule", without.finding("Policy"), "Policy warning there is no ValidatingAdmissionPolicy podmanager-pod-rights, so that")
	got := without.try("check")
	s.wants("no rule", got.out, "kubectl apply -f artifacts/policy.yaml")
	if got.code != 0 || strings.Contains(got.out, "podmanager-revision-rights") {
		t.Errorf("want exit code 0, and no message about the other rule, which is there: %v", got)
	}
}

// The CRD is missing, or of another version. The responses come from the real API server, except for the missing parts.
func TestCheckCRD(t *testing.T) {
	s := newSpace(t)
	const group, schema = "/apis/apps.mycompany.com/v1", "/openapi/v3/apis/apps.mycompany.com/v1"
	missing, _ := s.withMiddle(func(path string, body []byte) []byte {
		if strings.HasPrefix(path, group) {
			return nil
		}
		return body
	})
	got := missing.try("check", "web")
	s.wants("no CRD", got.out, "does not serve PodManagers")
	s.wants("no CRD", got.out, "kubectl apply -f artifacts/crd.yaml")
	if got.code != 1 || strings.Contains(got.out, "Leader") {
		t.Errorf("no CRD: %v", got)
	}
	missing.refused(1, "install the CRD with kubectl apply -f artifacts/crd.yaml", "get")
	missing.refused(1, "install the CRD with kubectl apply -f artifacts/crd.yaml", "why", "web")

	older, _ := s.withMiddle(func(path string, body []byte) []byte {
		if path == schema {
			return bytes.Replace(body, []byte(`"scaleDown":`), []byte(`"slowDown":`), 1)
		}
		return body
	})
	s.wants("an older CRD", older.finding("CRD"), "CRD warning the CRD and this plugin are of different versions: the CRD has no spec.scaleDown")

	unscaled, _ := s.withMiddle(func(path string, body []byte) []byte {
		if path == group {
			return bytes.Replace(body, []byte("podmanagers/scale"), []byte("podmanagers/other"), 1)
		}
		return body
	})
	s.wants("a CRD without scale", unscaled.finding("CRD"), "CRD failure the CRD has no podmanagers/scale")
}
