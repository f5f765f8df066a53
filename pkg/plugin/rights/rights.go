package rights

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Right is what RBAC allows: a verb on a resource of a group. The resource includes the subresource, such as pods/log.
type Right struct {
	Verb, Group, Resource string
}

// String returns the right as users say it: "list pods".
func (r Right) String() string { return r.Verb + " " + r.Resource }

// rule is a rule of a ClusterRole.
type rule struct {
	role, group      string
	resources, verbs []string
}

var read = []string{"get", "list", "watch"}

// ownRoles is the prefix of the ClusterRoles in artifacts/rbac.yaml. Kubernetes has the others.
const ownRoles = "podmanager-"

// rules are the rules that the verbs of the plugin may need. A role for PodManagers comes before the built-in one that includes it, because it
// gives a user no right to anything else.
var rules = []rule{
	{"podmanager-view", v1.GroupName, []string{"podmanagers", "podmanagers/status", "podmanagers/scale"}, read},
	{"podmanager-edit", v1.GroupName, []string{"podmanagers"}, []string{"create", "update", "patch", "delete", "deletecollection"}},
	{"podmanager-edit", v1.GroupName, []string{"podmanagers/scale"}, []string{"update", "patch"}},
	{"view", "", []string{"pods", "pods/log", "events"}, read},
	{"view", "apps", []string{"controllerrevisions", "deployments", "replicasets", "statefulsets"}, read},
	{"view", "autoscaling", []string{"horizontalpodautoscalers"}, read},
	{"view", "policy", []string{"poddisruptionbudgets"}, read},
	{"edit", "", []string{"pods"}, []string{"create", "update", "patch", "delete"}},
	{"edit", "", []string{"pods/exec", "pods/portforward"}, []string{"get", "create"}},
}

// Role returns the ClusterRole that gives the right, or empty if no role for users does.
func (r Right) Role() string {
	for _, rule := range rules {
		if rule.group == r.Group && slices.Contains(rule.resources, r.Resource) && slices.Contains(rule.verbs, r.Verb) {
			return rule.role
		}
	}
	return ""
}

// Advice returns the role that gives the right, and the command that binds it to a user in a namespace, or in all of them if namespace is empty.
// If the user's name is not known, the command has a placeholder. The advice is empty if no role for users gives the right. Our own roles have the
// names of artifacts/rbac.yaml: a user who lacks rights may not look for the names that a Helm release gave them.
func (r Right) Advice(user, namespace string) string {
	role := r.Role()
	if role == "" {
		return ""
	}
	named := role
	if strings.HasPrefix(role, ownRoles) {
		named += " (a Helm release may give it another name)"
	}
	return fmt.Sprintf("the role %s grants this right: %s", named, bind(role, user, namespace))
}

// Missing says that a user lacks the right in a namespace, and which role helps. user is empty if the name is not known.
func (r Right) Missing(user, namespace string) string {
	said := fmt.Sprintf("you may not %s in namespace %s", r, namespace)
	if advice := r.Advice(user, namespace); advice != "" {
		said += "; " + advice
	}
	return said
}

// placeholder stands for a user whose name is not known.
const placeholder = "USER"

// bind returns the command that binds a ClusterRole to a user.
func bind(role, user, namespace string) string {
	if user == "" {
		user = placeholder
	}
	name, subject := user, "--user="+quote(user)
	if account, isAccount := strings.CutPrefix(user, "system:serviceaccount:"); isAccount {
		name = account // with its namespace, because accounts in several namespaces may have the same name
		subject = "--serviceaccount=" + quote(account)
	}
	name = strings.Trim(strange.ReplaceAllString(name, "-"), "-") + "-" + role
	if namespace == "" {
		return fmt.Sprintf("kubectl create clusterrolebinding %s --clusterrole=%s %s", name, role, subject)
	}
	return fmt.Sprintf("kubectl create rolebinding %s --clusterrole=%s %s --namespace=%s", name, role, subject, quote(namespace))
}

// strange are the characters that a name of an object should not have.
var strange = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// plain is a text that a shell takes as it is.
var plain = regexp.MustCompile(`^[A-Za-z0-9@%_+=:,./-]+$`)

func quote(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// These patterns match the messages with which RBAC and the rule in artifacts/policy.yaml refuse a request. A refusal has no field for the verb, so
// the verb is taken from the message.
var (
	byRBAC   = regexp.MustCompile(`User "([^"]*)" cannot (\w+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`)
	byPolicy = regexp.MustCompile(`user "([^"]*)" may not create pods in namespace "([^"]*)"`)
)

// Refused returns the advice for the message with which the API server refuses a request. It is empty if the message does not name a right, or no
// role for users gives it.
func Refused(message string) string {
	if found := byRBAC.FindStringSubmatch(message); found != nil {
		right := Right{Verb: found[2], Group: found[4], Resource: found[3]}
		return right.Advice(found[1], found[5]) + right.alsoNeeded(found[1], found[5])
	}
	if found := byPolicy.FindStringSubmatch(message); found != nil {
		return CreatePods.Advice(found[1], found[2])
	}
	return ""
}

// alsoNeeded says what else a change of a PodManager may need, so that the user need not ask twice. Only the role edit includes everything.
func (r Right) alsoNeeded(user, namespace string) string {
	if r.Role() != "podmanager-edit" || r.Resource != "podmanagers" || strings.HasPrefix(r.Verb, "delete") {
		return ""
	}
	return "; it grants no right to read PodManagers (podmanager-view does), nor to create pods, which the policy podmanager-pod-rights requires for a change " +
		"of the pods; the role edit grants all three: " + bind(CreatePods.Role(), user, namespace)
}

// User returns the user whom a refusal by RBAC names, or empty if it names none.
func User(message string) string {
	if found := byRBAC.FindStringSubmatch(message); found != nil {
		return found[1]
	}
	return ""
}

// Rights that verbs name in their own messages.
var (
	ListPods      = Right{Verb: "list", Resource: "pods"}
	ListRevisions = Right{Verb: "list", Group: "apps", Resource: "controllerrevisions"}
	CreatePods    = Right{Verb: "create", Resource: "pods"}
)
