package rights

import (
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// shipped returns the ClusterRoles of artifacts/rbac.yaml that are for users.
func shipped(t *testing.T) map[string]rbacv1.ClusterRole {
	t.Helper()
	data, err := os.ReadFile("../../../artifacts/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]rbacv1.ClusterRole{}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for label := range role.Labels {
			if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") {
				roles[role.Name] = role
			}
		}
	}
	if len(roles) != 2 {
		t.Fatalf("%d roles for users", len(roles))
	}
	return roles
}

// For PodManagers, rules has the same rights and roles as artifacts/rbac.yaml, and no others.
func TestRolesAreThoseOfTheManifest(t *testing.T) {
	given := map[Right]string{}
	for name, role := range shipped(t) {
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					given[Right{Verb: verb, Group: rule.APIGroups[0], Resource: resource}] = name
				}
			}
		}
	}
	for right, role := range given {
		if got := right.Role(); got != role {
			t.Errorf("%s: got the role %q, want %q", right, got, role)
		}
	}
	for _, rule := range rules {
		if rule.group != v1.GroupName {
			continue
		}
		for _, resource := range rule.resources {
			for _, verb := range rule.verbs {
				if right := (Right{verb, rule.group, resource}); given[right] != rule.role {
					t.Errorf("%s: the manifest's role is %q, and not %q", right, given[right], rule.role)
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	const rbac = `podmanagers.apps.mycompany.com "web" is forbidden: `
	tests := map[string]struct{ message, want string }{
		"patch": {rbac + `User "jane" cannot patch resource "podmanagers" in API group "apps.mycompany.com" in the namespace "shop"`,
			"the role podmanager-edit (a Helm release may give it another name) grants this right: kubectl create rolebinding jane-podmanager-edit --clusterrole=podmanager-edit --user=jane --namespace=shop" +
				"; it grants no right to read PodManagers (podmanager-view does), nor to create pods, which the policy podmanager-pod-rights requires for a change " +
				"of the pods; the role edit grants all three: kubectl create rolebinding jane-edit --clusterrole=edit --user=jane --namespace=shop"},
		"scale": {rbac + `User "jane" cannot update resource "podmanagers/scale" in API group "apps.mycompany.com" in the namespace "shop"`,
			"the role podmanager-edit (a Helm release may give it another name) grants this right: kubectl create rolebinding jane-podmanager-edit --clusterrole=podmanager-edit --user=jane --namespace=shop"},
		"list in all namespaces": {`podmanagers.apps.mycompany.com is forbidden: User "jane" cannot list resource "podmanagers" in API group "apps.mycompany.com" at the cluster scope`,
			"the role podmanager-view (a Helm release may give it another name) grants this right: kubectl create clusterrolebinding jane-podmanager-view --clusterrole=podmanager-view --user=jane"},
		"a ServiceAccount": {rbac + `User "system:serviceaccount:ci:robot" cannot get resource "podmanagers" in API group "apps.mycompany.com" in the namespace "shop"`,
			"the role podmanager-view (a Helm release may give it another name) grants this right: kubectl create rolebinding ci-robot-podmanager-view --clusterrole=podmanager-view --serviceaccount=ci:robot --namespace=shop"},
		"a name for a shell": {rbac + `User "oidc:Jane's; rm" cannot delete resource "podmanagers" in API group "apps.mycompany.com" in the namespace "shop"`,
			`the role podmanager-edit (a Helm release may give it another name) grants this right: kubectl create rolebinding oidc-Jane-s-rm-podmanager-edit --clusterrole=podmanager-edit --user='oidc:Jane'\''s; rm' --namespace=shop`},
		"another kind": {`deployments.apps "web" is forbidden: User "jane" cannot get resource "deployments" in API group "apps" in the namespace "shop"`,
			"the role view grants this right: kubectl create rolebinding jane-view --clusterrole=view --user=jane --namespace=shop"},
		"our policy": {rbac + `ValidatingAdmissionPolicy 'podmanager-pod-rights' with binding 'podmanager-pod-rights' denied request: ` +
			`user "jane" may not create pods in namespace "shop", and a PodManager would do it for them`,
			"the role edit grants this right: kubectl create rolebinding jane-edit --clusterrole=edit --user=jane --namespace=shop"},
		"another policy":           {rbac + "admission webhook denied the request: not on Fridays", ""},
		"what is not for users":    {`secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "shop"`, ""},
		"a verb that no role has":  {rbac + `User "jane" cannot escalate resource "podmanagers" in API group "apps.mycompany.com" in the namespace "shop"`, ""},
		"the status is not theirs": {rbac + `User "jane" cannot patch resource "podmanagers/status" in API group "apps.mycompany.com" in the namespace "shop"`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Refused(test.message); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// The rule of artifacts/policy.yaml refuses a user in the words that Refused knows.
func TestPolicyIsKnown(t *testing.T) {
	data, err := os.ReadFile("../../../artifacts/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const template = `'user "' + request.userInfo.username + '" may not create pods in namespace "' + request.namespace + '", and`
	if !strings.Contains(string(data), template) {
		t.Error("the policy has another message")
	}
	if !byPolicy.MatchString(`user "jane" may not create pods in namespace "shop", and`) {
		t.Error("the message is not known")
	}
}

// A refusal by RBAC names the user.
func TestUser(t *testing.T) {
	tests := map[string]string{
		`pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "shop"`: "jane",
		`pods is forbidden: not on Fridays`: "",
	}
	for message, want := range tests {
		if got := User(message); got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

// A user whose name is not known gets a command to fill in.
func TestAdviceWithoutUser(t *testing.T) {
	const want = "the role view grants this right: kubectl create rolebinding USER-view --clusterrole=view --user=USER --namespace=shop"
	for _, right := range []Right{ListPods, ListRevisions} {
		if got := right.Advice("", "shop"); got != want {
			t.Errorf("%s: got %s", right, got)
		}
	}
	if role := CreatePods.Role(); role != "edit" {
		t.Errorf("the role to create pods is %q", role)
	}
}
