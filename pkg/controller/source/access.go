package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// accessTimeout is how long the API server may take to say what is permitted.
const accessTimeout = 10 * time.Second

// manifestUser is whom artifacts/rbac.yaml gives all rights to.
const manifestUser = "system:serviceaccount:podmanager-system:podmanager-controller"

// right is a verb on a resource; subresources are written as in RBAC.
type right struct {
	group, resource, verb string
}

// rights are all that the controller needs in each namespace. They are those of the ClusterRole in artifacts/rbac.yaml.
var rights = slices.Concat(
	rightsOn(v1.GroupName, "podmanagers", "get", "list", "watch", "patch"),
	rightsOn(v1.GroupName, "podmanagers/status", "update", "patch"),
	rightsOn(v1.GroupName, "podmanagers/finalizers", "update"),
	rightsOn("", "pods", "get", "list", "watch", "create", "patch", "delete"),
	rightsOn("", "pods/status", "patch"),
	rightsOn("", "pods/resize", "patch"),
	rightsOn("apps", "controllerrevisions", "get", "list", "watch", "create", "update", "delete"),
	rightsOn("events.k8s.io", "events", "create", "patch"),
)

func rightsOn(group, resource string, verbs ...string) []right {
	var all []right
	for _, verb := range verbs {
		all = append(all, right{group, resource, verb})
	}
	return all
}

// toRead are those without which the informers cannot work.
var toRead = slices.DeleteFunc(slices.Clone(rights), func(r right) bool { return !r.isToRead() })

func (r right) isToRead() bool {
	return r.verb == "list" || r.verb == "watch"
}

// verdict is what was found out about the access to a namespace.
type verdict struct {
	// missing says that the namespace does not exist. One that we may not look for counts as existing.
	missing bool
	lacking []right
	// user is who lacks them; empty if that is not known.
	user string
}

// mayRead tells whether informers can be expected to work.
func (v verdict) mayRead() bool {
	return !v.missing && !slices.ContainsFunc(v.lacking, right.isToRead)
}

// isAll tells whether nothing is left to wish for.
func (v verdict) isAll() bool {
	return !v.missing && len(v.lacking) == 0
}

// access asks the API server what the controller is permitted.
type access struct {
	client kubernetes.Interface
}

// look finds out about rights in a namespace, or (metav1.NamespaceAll) in all of them together.
func (a access) look(ctx context.Context, namespace string, rights []right) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, accessTimeout)
	defer cancel()
	var found verdict
	var missingErr error
	var looking sync.WaitGroup
	looking.Go(func() { found.missing, missingErr = a.isMissing(ctx, namespace) })
	allowed, errs := make([]bool, len(rights)), make([]error, len(rights))
	for i, right := range rights {
		looking.Go(func() { allowed[i], errs[i] = a.has(ctx, namespace, right) })
	}
	looking.Wait()
	if err := cmp.Or(append(errs, missingErr)...); err != nil { // one says it: they are all about the same server
		return verdict{}, err
	}
	for i, right := range rights {
		if !allowed[i] {
			found.lacking = append(found.lacking, right)
		}
	}
	if len(found.lacking) > 0 {
		var err error
		found.user, err = a.user(ctx)
		return found, err
	}
	return found, nil
}

func (a access) isMissing(ctx context.Context, namespace string) (bool, error) {
	if namespace == metav1.NamespaceAll {
		return false, nil
	}
	_, err := a.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return false, nil // we need not know
	}
	return false, err
}

func (a access) has(ctx context.Context, namespace string, r right) (bool, error) {
	resource, subresource, _ := strings.Cut(r.resource, "/")
	review, err := a.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource,
		}},
	}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return true, nil // where one may not even ask, trying shows it
	}
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// user is how the API server calls us; empty if it does not tell, which it does since Kubernetes 1.28.
func (a access) user(ctx context.Context) (string, error) {
	review, err := a.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// list writes rights as a person would: "list, watch pods; patch pods/resize".
func list(all []right) string {
	var parts []string
	for i, r := range all {
		if i > 0 && all[i-1].group == r.group && all[i-1].resource == r.resource {
			continue // is in the part before
		}
		var verbs []string
		for _, other := range all[i:] {
			if other.group == r.group && other.resource == r.resource {
				verbs = append(verbs, other.verb)
			}
		}
		name := r.resource
		if r.group != "" {
			resource, subresource, found := strings.Cut(r.resource, "/")
			name = resource + "." + r.group
			if found {
				name += "/" + subresource
			}
		}
		parts = append(parts, strings.Join(verbs, ", ")+" "+name)
	}
	return strings.Join(parts, "; ")
}

// refusal says which rights are lacking and how to get them.
func (v verdict) refusal(namespace string) string {
	user, binding := cmp.Or(v.user, "this user"), "--user "+cmp.Or(v.user, "NAME")
	account, isAccount := strings.CutPrefix(v.user, "system:serviceaccount:")
	if isAccount {
		binding = "--serviceaccount " + account
	}
	kind, where := "clusterrolebinding", ""
	if namespace != metav1.NamespaceAll {
		kind, where = "rolebinding", " --namespace "+namespace
	}
	advice := fmt.Sprintf("kubectl create %s podmanager-controller%s --clusterrole podmanager-controller %s", kind, where, binding)
	if v.user == manifestUser && namespace == metav1.NamespaceAll {
		advice = "kubectl apply -f artifacts/rbac.yaml"
	} else if v.user == manifestUser {
		advice = "kubectl apply -f artifacts/rbac.yaml, or for this namespace alone " + advice
	}
	return fmt.Sprintf("%s may not %s; run %s", user, list(v.lacking), advice)
}
