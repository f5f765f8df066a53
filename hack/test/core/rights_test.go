//go:build e2e

package core

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
)

const (
	ourAccount = "podmanager-controller"
	ourUser    = "system:serviceaccount:" + systemSpace + ":" + ourAccount
)

// unseen has permissions whose use the audit log does not show, and why each of them is needed or not seen.
var unseen = map[string]string{
	"update podmanagers/finalizers.apps.mycompany.com": "the admission plugin OwnerReferencesPermissionEnforcement asks for it when a pod is created",
	"list nodes":  "the audit log leaves nodes out, because of their heartbeats",
	"watch nodes": "the audit log leaves nodes out, because of their heartbeats",
}

// grant is a permission that artifacts/rbac.yaml grants to the controller.
type grant struct {
	// namespace is empty for a permission in the whole cluster. names is empty for objects of any name.
	namespace string
	names     []string
	// what is the verb and the resource, such as "update podmanagers/status.apps.mycompany.com".
	what string
	used int
}

func describeRight(verb, group, resource, subresource string) string {
	return verb + " " + strings.TrimSuffix(strings.TrimSuffix(resource+"/"+subresource, "/")+"."+group, ".")
}

// rightsWatch compares the requests of all controllers under test, from the audit log, with their permissions.
type rightsWatch struct {
	log    *audit.Log
	grants []*grant
	// refused are requests for which the controller had no permission. elsewhere are requests that something other than rbac.yaml permits.
	refused, elsewhere map[string]int
	err                error
	stop, stopped      chan struct{}
}

// watchRights starts to read the audit log. It continues until judge is called, so that a rotation of the log loses nothing.
func watchRights() (*rightsWatch, error) {
	w := &rightsWatch{refused: map[string]int{}, elsewhere: map[string]int{}, stop: make(chan struct{}), stopped: make(chan struct{})}
	var err error
	if w.log, err = audit.Open(os.Getenv("PODMANAGER_AUDIT_LOG")); err != nil {
		return nil, fmt.Errorf("PODMANAGER_AUDIT_LOG must name the audit log; make e2e sees to that: %w", err)
	}
	if w.grants, err = readGrants("artifacts/rbac.yaml"); err != nil {
		return nil, err
	}
	go func() {
		defer close(w.stopped)
		for ended := false; !ended && w.err == nil; {
			select {
			case <-time.After(5 * time.Second):
			case <-w.stop:
				ended = true // after one more read
			}
			w.err = w.read()
		}
	}()
	return w, nil
}

func (w *rightsWatch) read() error {
	requests, err := w.log.Read(`"` + ourUser + `"`)
	for _, r := range requests {
		if r.User.Username == ourUser {
			w.add(r)
		}
	}
	return err
}

func (w *rightsWatch) add(r audit.Request) {
	object := r.ObjectRef
	what := describeRight(r.Verb, object.APIGroup, object.Resource, object.Subresource)
	if r.IsForbidden() {
		w.refused[fmt.Sprintf("%s in namespace %q, name %q", what, object.Namespace, object.Name)]++
		return
	}
	isGranted := false
	for _, g := range w.grants {
		if g.what == what && (g.namespace == "" || g.namespace == object.Namespace) && (len(g.names) == 0 || slices.Contains(g.names, object.Name)) {
			g.used++
			isGranted = true
		}
	}
	// Every client may use discovery, and ask about itself.
	if !isGranted && object.Resource != "" && !strings.HasPrefix(object.Resource, "selfsubject") {
		w.elsewhere[what+": "+r.Annotations["authorization.k8s.io/reason"]]++
	}
}

// judge ends the watch, and returns the differences. Only if all tests have run does it report permissions that were never used.
func (w *rightsWatch) judge(all bool) error {
	close(w.stop)
	<-w.stopped
	problems := []error{w.err, w.log.Close()}
	for _, what := range slices.Sorted(maps.Keys(w.refused)) {
		problems = append(problems, fmt.Errorf("used, but not granted in artifacts/rbac.yaml, %d times: %s", w.refused[what], what))
	}
	for _, what := range slices.Sorted(maps.Keys(w.elsewhere)) {
		problems = append(problems, fmt.Errorf("used and permitted, but not by artifacts/rbac.yaml, %d times: %s", w.elsewhere[what], what))
	}
	for _, g := range w.grants {
		switch {
		case g.used > 0 && unseen[g.what] != "":
			problems = append(problems, fmt.Errorf("%s was used %d times, but is listed as a permission that no request shows", g.what, g.used))
		case g.used == 0 && unseen[g.what] == "" && all:
			problems = append(problems, fmt.Errorf("granted in artifacts/rbac.yaml and never used: %s, namespace %q, names %q", g.what, g.namespace, g.names))
		}
	}
	return errors.Join(problems...)
}

// ranAll reports whether the command line has excluded no test, except for those on separate clusters.
func ranAll() bool {
	value := func(name string) string { return flag.Lookup(name).Value.String() }
	return value("test.run") == "" && value("test.list") == "" && (value("test.skip") == "" || value("test.skip") == "^TestSeparate")
}

// readGrants reads the permissions of the controller's ServiceAccount.
func readGrants(file string) ([]*grant, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rules, bindings := map[string][]rbacv1.PolicyRule{}, []rbacv1.RoleBinding{}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		// A Role is a ClusterRole with a namespace; the same holds for their bindings.
		var role rbacv1.Role
		var binding rbacv1.RoleBinding
		if err := errors.Join(yaml.Unmarshal([]byte(document), &role), yaml.Unmarshal([]byte(document), &binding)); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		isOurs := func(s rbacv1.Subject) bool {
			return s.Kind == rbacv1.ServiceAccountKind && s.Name == ourAccount && s.Namespace == systemSpace
		}
		if strings.HasSuffix(role.Kind, "Role") {
			rules[role.Kind+"/"+role.Namespace+"/"+role.Name] = role.Rules
		} else if slices.ContainsFunc(binding.Subjects, isOurs) {
			bindings = append(bindings, binding)
		}
	}
	var grants []*grant
	for _, binding := range bindings {
		space := ""
		if binding.RoleRef.Kind == "Role" {
			space = binding.Namespace
		}
		found := rules[binding.RoleRef.Kind+"/"+space+"/"+binding.RoleRef.Name]
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: the binding %s refers to a role that the file does not define", file, binding.Name)
		}
		for _, rule := range found {
			grants = append(grants, grantsOf(rule, binding.Namespace)...)
		}
	}
	return grants, nil
}

func grantsOf(rule rbacv1.PolicyRule, namespace string) (grants []*grant) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				grants = append(grants, &grant{namespace: namespace, names: rule.ResourceNames, what: describeRight(verb, group, resource, "")})
			}
		}
	}
	return grants
}
