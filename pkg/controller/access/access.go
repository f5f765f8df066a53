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

// reviewTimeout is how long the API server may take to answer all access reviews of a namespace.
const reviewTimeout = 10 * time.Second

// manifestUser is the ServiceAccount to which artifacts/rbac.yaml grants all rights.
const manifestUser = "system:serviceaccount:podmanager-system:podmanager-controller"

// Right is a verb on a resource or, as in RBAC, on resource/subresource.
type Right struct {
	Group, Resource, Verb string
}

// All are the rights that the controller needs in each namespace. The ClusterRole in artifacts/rbac.yaml grants them.
var All = slices.Concat(
	RightsOn(v1.GroupName, "podmanagers", "get", "list", "watch", "patch"),
	RightsOn(v1.GroupName, "podmanagers/status", "update", "patch"),
	RightsOn(v1.GroupName, "podmanagers/finalizers", "update"),
	RightsOn("", "pods", "get", "list", "watch", "create", "patch", "delete"),
	toResizeAndDrain,
	RightsOn("apps", "controllerrevisions", "get", "list", "watch", "create", "update", "delete"),
	RightsOn("events.k8s.io", "events", "create", "patch"),
)

// toResizeAndDrain has the rights for in-place updates that change CPU or memory, or that have a grace period.
var toResizeAndDrain = slices.Concat(RightsOn("", "pods/status", "patch"), RightsOn("", "pods/resize", "patch"))

// WithoutResizeAndDrain has the rights that the controller needs if it neither resizes nor drains pods.
var WithoutResizeAndDrain = slices.DeleteFunc(slices.Clone(All), func(r Right) bool { return slices.Contains(toResizeAndDrain, r) })

func RightsOn(group, resource string, verbs ...string) []Right {
	var all []Right
	for _, verb := range verbs {
		all = append(all, Right{group, resource, verb})
	}
	return all
}

// Verdict is the result of an access review of a namespace.
type Verdict struct {
	// Missing means that the namespace does not exist. A namespace that the controller may not get counts as existing.
	Missing bool
	Lacking []Right
	// User is the user that lacks the rights; empty if unknown.
	User string
}

// MayRead reports whether the informers have all the rights that they need.
func (v Verdict) MayRead() bool {
	return !v.Missing && !slices.ContainsFunc(v.Lacking, func(r Right) bool { return r.Verb == "list" || r.Verb == "watch" })
}

// IsComplete reports whether the namespace exists and no right is lacking.
func (v Verdict) IsComplete() bool {
	return !v.Missing && len(v.Lacking) == 0
}

// Review asks the API server which of these rights the controller has in a namespace, or in all namespaces (metav1.NamespaceAll).
func Review(ctx context.Context, client kubernetes.Interface, namespace string, rights []Right) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	var found Verdict
	var missingErr error
	var reviews sync.WaitGroup
	reviews.Go(func() { found.Missing, missingErr = isMissing(ctx, client, namespace) })
	allowed, errs := make([]bool, len(rights)), make([]error, len(rights))
	for i, right := range rights {
		reviews.Go(func() { allowed[i], errs[i] = has(ctx, client, namespace, right) })
	}
	reviews.Wait()
	if err := cmp.Or(append(errs, missingErr)...); err != nil { // the first is enough: all come from the same API server
		return Verdict{}, err
	}
	for i, right := range rights {
		if !allowed[i] {
			found.Lacking = append(found.Lacking, right)
		}
	}
	if len(found.Lacking) > 0 {
		var err error
		found.User, err = userName(ctx, client)
		return found, err
	}
	return found, nil
}

func isMissing(ctx context.Context, client kubernetes.Interface, namespace string) (bool, error) {
	if namespace == metav1.NamespaceAll {
		return false, nil
	}
	_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return false, nil // the controller works without this right
	}
	return false, err
}

func has(ctx context.Context, client kubernetes.Interface, namespace string, r Right) (bool, error) {
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: subresource,
		}},
	}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return true, nil // without access reviews, the first forbidden request will show what is lacking
	}
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// userName returns the user name of the controller. It is empty if the API server has no SelfSubjectReviews, as before Kubernetes 1.28.
func userName(ctx context.Context, client kubernetes.Interface) (string, error) {
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// describe formats rights for people: "list, watch pods; patch pods/resize".
func describe(all []Right) string {
	var resources []string
	verbs := map[string][]string{}
	for _, r := range all {
		resource, subresource, _ := strings.Cut(r.Resource, "/")
		if r.Group != "" {
			resource += "." + r.Group
		}
		if subresource != "" {
			resource += "/" + subresource
		}
		if verbs[resource] == nil {
			resources = append(resources, resource)
		}
		verbs[resource] = append(verbs[resource], r.Verb)
	}
	for i, resource := range resources {
		resources[i] = strings.Join(verbs[resource], ", ") + " " + resource
	}
	return strings.Join(resources, "; ")
}

// Refusal returns which rights are lacking and how to grant them.
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
	return fmt.Sprintf("%s may not %s; run %s", user, describe(v.Lacking), advice)
}
