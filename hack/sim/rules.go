package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/pkg/world/dice"
)

// rules are the admission policies and webhooks of a cluster. They come and go.
type rules struct {
	c *Cluster
	// prunes tells that the CRD is an older one, which drops a field of the status.
	prunes bool

	mu     sync.Mutex
	active []*rule
}

// rule is about some writes of the controller in one namespace.
type rule struct {
	namespace, resource string
	operation           apiserver.Operation
	// refusal is what the API server answers; nil if the write is admitted after delay.
	refusal error
	delay   time.Duration
	// mapsImages replaces every image by one of a mirror, which is the same for all tags.
	mapsImages bool
	what       string
}

func newRules(c *Cluster) *rules { return &rules{c: c} }

// admit implements apiserver.Admission.
func (r *rules) admit(ctx context.Context, review *apiserver.Review) error {
	request := review.Request
	if !strings.HasPrefix(request.Client, replicaPrefix) {
		return nil
	}
	if r.prunes && request.Resource.Name == "podmanagers" && review.Object != nil {
		unstructured.RemoveNestedField(review.Object.Object, "status", "image")
	}
	for _, rule := range r.matching(review) {
		if rule.delay > 0 {
			pause(r.c.ctx, rule.delay)
		}
		if rule.refusal != nil {
			r.c.story.tell("refused (%s): %v", rule.what, request)
			return rule.refusal
		}
		if rule.mapsImages && review.Object != nil {
			mapImages(review.Object)
		}
	}
	return nil
}

func (r *rules) matching(review *apiserver.Review) (matching []*rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rule := range r.active {
		if rule.namespace == review.Request.Namespace && rule.resource == review.Request.Resource.Name && rule.operation == review.Operation &&
			review.Request.Subresource != "status" {
			matching = append(matching, rule)
		}
	}
	return matching
}

// mapImages is what a webhook does that pins all images of one application to the digest that is in the mirror.
func mapImages(pod *unstructured.Unstructured) {
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	for _, container := range containers {
		if fields, ok := container.(map[string]any); ok && strings.HasPrefix(fields["image"].(string), "app:") {
			fields["image"] = "app:1"
		}
	}
	_ = unstructured.SetNestedSlice(pod.Object, containers, "spec", "containers")
}

// imposeRandom adds a rule for a while.
func (r *rules) imposeRandom(d dice.Dice) {
	added := &rule{namespace: dice.Pick(d, namespaces...), operation: dice.Pick(d, apiserver.Create, apiserver.Update, apiserver.Delete),
		resource: dice.Pick(d, "pods", "pods", "controllerrevisions", "podmanagers")}
	group := schema.GroupResource{Resource: added.resource}
	switch d.IntN(8) {
	case 0, 1:
		added.refusal, added.what = apierrors.NewInvalid(schema.GroupKind{Kind: added.resource}, "", nil), "422"
	case 2:
		added.refusal, added.what = apierrors.NewForbidden(group, "", errors.New("the policy says no")), "403"
	case 3:
		added.refusal, added.what = apierrors.NewNotFound(group, "webhook"), "404"
	case 4:
		added.refusal, added.what = apierrors.NewConflict(group, "webhook", errors.New("the webhook says no")), "409"
	case 5, 6:
		added.delay, added.what = time.Duration(1+d.IntN(9))*time.Second, "slow"
	default:
		added.mapsImages, added.resource, added.what = true, "pods", "images are mapped"
	}
	lasts := time.Duration(1+d.IntN(300)) * time.Second
	r.c.story.tell("rule for %v: %s of %s in %s: %s", lasts, added.operation, added.resource, added.namespace, added.what)
	r.mu.Lock()
	r.active = append(r.active, added)
	r.mu.Unlock()
	r.c.running.Go(func() {
		pause(r.c.ctx, lasts)
		r.remove(added)
	})
}

func (r *rules) remove(gone *rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = slices.DeleteFunc(r.active, func(other *rule) bool { return other == gone })
}

// calm removes all rules.
func (r *rules) calm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = nil
}
