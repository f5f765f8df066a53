package access

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

// Right is a verb on a resource; subresources are written as in RBAC.
type Right struct {
	Group, Resource, Verb string
}

// All are all that the controller needs in each namespace. They are those of the ClusterRole in artifacts/rbac.yaml.
var All = slices.Concat(
	RightsOn(v1.GroupName, "podmanagers", "get", "list", "watch", "patch"),
	RightsOn(v1.GroupName, "podmanagers/status", "update", "patch"),
	RightsOn(v1.GroupName, "podmanagers/finalizers", "update"),
	RightsOn("", "pods", "get", "list", "watch", "create", "patch", "delete"),
	RightsOn("", "pods/status", "patch"),
	RightsOn("", "pods/resize", "patch"),
	RightsOn("apps", "controllerrevisions", "get", "list", "watch", "create", "update", "delete"),
	RightsOn("events.k8s.io", "events", "create", "patch"),
)

func RightsOn(group, resource string, verbs ...string) []Right {
	var all []Right
	for _, verb := range verbs {
		all = append(all, Right{group, resource, verb})
	}
	return all
}

// ToRead are those without which the informers cannot work.
var ToRead = slices.DeleteFunc(slices.Clone(All), func(r Right) bool { return !r.isToRead() })

func (r Right) isToRead() bool {
	return r.Verb == "list" || r.Verb == "watch"
}

// Verdict is what was found out about the access to a namespace.
type Verdict struct {
	// missing says that the namespace does not exist. One that we may not look for counts as existing.
	Missing bool
	Lacking []Right
	// user is who lacks them; empty if that is not known.
	User string
}

// MayRead tells whether informers can be expected to work.
func (v Verdict) MayRead() bool {
	return !v.Missing && !slices.ContainsFunc(v.Lacking, Right.isToRead)
}

// IsAll tells whether nothing is left to wish for.
func (v Verdict) IsAll() bool {
	return !v.Missing && len(v.Lacking) == 0
}

// Reviewer asks the API server what the controller is permitted.
type Reviewer struct {
	Client kubernetes.Interface
}

// Look finds out about rights in a namespace, or (metav1.NamespaceAll) in all of them together.
func (a Reviewer) Look(ctx context.Context, namespace string, rights []Right) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, accessTimeout)
	defer cancel()
	var found Verdict
	var missingErr error
	var looking sync.WaitGroup
	looking.Go(func() { found.Missing, missingErr = a.isMissing(ctx, namespace) })
	allowed, errs := make([]bool, len(rights)), make([]error, len(rights))
	for i, right := range rights {
		looking.Go(func() { allowed[i], errs[i] = a.has(ctx, namespace, right) })
	}
	looking.Wait()
	if err := cmp.Or(append(errs, missingErr)...); err != nil { // one says it: they are all about the same server
		return Verdict{}, err
	}
	for i, right := range rights {
		if !allowed[i] {
			found.Lacking = append(found.Lacking, right)
		}
	}
	if len(found.Lacking) > 0 {
		var err error
		found.User, err = a.user(ctx)
		return found, err
	}
	return found, nil
}

func (a Reviewer) isMissing(ctx context.Context, namespace string) (bool, error) {
	if namespace == metav1.NamespaceAll {
		return false, nil
	}
	_, err := a.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return false, nil // we need not know
	}
	return false, err
}

func (a Reviewer) has(ctx context.Context, namespace string, r Right) (bool, error) {
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	review, err := a.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: subresource,
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
func (a Reviewer) user(ctx context.Context) (string, error) {
	review, err := a.Client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// list writes rights as a person would: "list, watch pods; patch pods/resize".
func list(all []Right) string {
	var parts []string
	for i, r := range all {
		if i > 0 && all[i-1].Group == r.Group && all[i-1].Resource == r.Resource {
			continue // is in the part before
		}
		var verbs []string
		for _, other := range all[i:] {
			if other.Group == r.Group && other.Resource == r.Resource {
				verbs = append(verbs, other.Verb)
			}
		}
		name := r.Resource
		if r.Group != "" {
			resource, subresource, found := strings.Cut(r.Resource, "/")
			name = resource + "." + r.Group
			if found {
				name += "/" + subresource
			}
		}
		parts = append(parts, strings.Join(verbs, ", ")+" "+name)
	}
	return strings.Join(parts, "; ")
}

// Refusal says which rights are lacking and how to get them.
func (v Verdict) Refusal(namespace string) string {
	user, binding := cmp.Or(v.User, "this user"), "--user "+cmp.Or(v.User, "NAME")
	account, isAccount := strings.CutPrefix(v.User, "system:serviceaccount:")
	if isAccount {
		binding = "--serviceaccount " + account
	}
	kind, where := "clusterrolebinding", ""
	if namespace != metav1.NamespaceAll {
		kind, where = "rolebinding", " --namespace "+namespace
	}
	advice := fmt.Sprintf("kubectl create %s podmanager-controller%s --clusterrole podmanager-controller %s", kind, where, binding)
	if v.User == manifestUser && namespace == metav1.NamespaceAll {
		advice = "kubectl apply -f artifacts/rbac.yaml"
	} else if v.User == manifestUser {
		advice = "kubectl apply -f artifacts/rbac.yaml, or for this namespace alone " + advice
	}
	return fmt.Sprintf("%s may not %s; run %s", user, list(v.Lacking), advice)
}
