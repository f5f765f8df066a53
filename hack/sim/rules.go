package sim

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/pkg/world/dice"
)

// rules are the admission policies, webhooks and quotas of a cluster. They come and go.
type rules struct {
	c *Cluster
	// prunes is a field of the status that the API server drops, as if the CRD were older than the controller. mirror is a namespace in which a webhook
	// maps the images of all pods, at all times.
	prunes, mirror string
	kinds          []string // the kinds of rules that come and go

	mu     sync.Mutex
	active []*rule
	count  int // the number of rules so far
}

// rule applies to some writes of the controller in one namespace.
type rule struct {
	namespace, resource string
	operation           apiserver.Operation // empty for any
	// wide means that the rule also applies to subresources, like a rule for "pods/*".
	wide bool
	// refusal is the API server's answer; nil if the write is admitted after delay. words is part of the answer's message.
	refusal error
	words   string
	delay   time.Duration
	// mapsImages replaces every image with the mirror's image, which is the same for all tags.
	mapsImages bool
	// quota is the name of a ResourceQuota, which the API server enforces.
	quota string
	what  string
}

func newRules(c *Cluster) *rules { return &rules{c: c} }

// admit implements apiserver.Admission.
func (r *rules) admit(ctx context.Context, review *apiserver.Review) error {
	request := review.Request
	if !strings.HasPrefix(request.Client, replicaPrefix) {
		return nil
	}
	if r.prunes != "" && request.Resource.Name == "podmanagers" && review.Object != nil {
		unstructured.RemoveNestedField(review.Object.(*unstructured.Unstructured).Object, "status", r.prunes)
	}
	matching, isAlone := r.matching(review)
	for _, rule := range matching {
		if rule.delay > 0 {
			pause(r.c.ctx, rule.delay)
		}
		if rule.refusal != nil {
			r.c.story.tell("refused (%s): %v", rule.what, request)
			r.c.judge.refuse(rule, review, isAlone)
			return rule.refusal
		}
		if pod, isPod := review.Object.(*corev1.Pod); rule.mapsImages && isPod {
			mapImages(pod)
		}
	}
	if r.mirror == request.Namespace && request.Resource.Name == "pods" && review.Object != nil {
		mapImages(review.Object.(*corev1.Pod))
	}
	return nil
}

// matching returns the rules that apply to a write. isAlone reports that the namespace has only one rule.
func (r *rules) matching(review *apiserver.Review) (matching []*rule, isAlone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	request, inNamespace := review.Request, 0
	for _, rule := range r.active {
		if rule.namespace != request.Namespace {
			continue
		}
		if inNamespace++; rule.quota != "" {
			continue // the API server enforces quotas
		}
		isWide := request.Subresource == "" || rule.wide && request.Resource.Name == "pods"
		if rule.resource == request.Resource.Name && (rule.operation == "" || rule.operation == review.Operation) && isWide {
			matching = append(matching, rule)
		}
	}
	return matching, inNamespace == 1
}

// mapImages acts like a webhook that maps all tags of an application to the same image.
func mapImages(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		if image := &pod.Spec.Containers[i].Image; strings.HasPrefix(*image, "app:") {
			*image = "app:1"
		}
	}
}

// refusals are the answers of policies and webhooks, which may use any code.
var refusals = []metav1.Status{
	{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid}, {Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid},
	{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}, {Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound},
	{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict},
}

// imposeRandom adds a random rule for a while.
func (r *rules) imposeRandom(d dice.Dice) {
	added := &rule{namespace: dice.Pick(d, namespaces...), operation: dice.Pick(d, apiserver.Create, apiserver.Update, apiserver.Delete, ""),
		resource: dice.Pick(d, "pods", "pods", "controllerrevisions", "podmanagers"), wide: d.Chance(0.3)}
	r.count++
	switch dice.Pick(d, r.kinds...) {
	case "refuse":
		status := dice.Pick(d, refusals...)
		added.words, added.what = fmt.Sprintf("rule %d says no", r.count), fmt.Sprint(status.Code)
		status.Status, status.Message = metav1.StatusFailure, fmt.Sprintf("admission webhook %q denied the request: %s", "rules", added.words)
		added.refusal = &apierrors.StatusError{ErrStatus: status}
	case "slow":
		added.delay, added.what = time.Second+upTo(d, 10*time.Second), "slow"
	case "map":
		added.mapsImages, added.resource, added.operation, added.what = true, "pods", dice.Pick(d, apiserver.Create, apiserver.Update), "images are mapped"
	default:
		added.quota, added.resource, added.what = fmt.Sprintf("quota-%d", r.count), "pods", fmt.Sprintf("a quota of %d", d.IntN(10))
	}
	lasts := time.Second + upTo(d, 5*time.Minute)
	r.c.story.tell("rule %d for %v: %q of %s in %s: %s", r.count, lasts, added.operation, added.resource, added.namespace, added.what)
	r.impose(added, lasts)
}

// impose adds a rule for a while.
func (r *rules) impose(added *rule, lasts time.Duration) {
	r.mu.Lock()
	r.active = append(r.active, added)
	r.mu.Unlock()
	r.c.judge.trouble(added.namespace, time.Now().Add(lasts))
	if added.quota != "" {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: added.quota}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse(strings.TrimPrefix(added.what, "a quota of ")),
		}}}
		_, _ = r.c.kube.CoreV1().ResourceQuotas(added.namespace).Create(r.c.ctx, quota, metav1.CreateOptions{})
	}
	r.c.running.Go(func() {
		pause(r.c.ctx, lasts)
		r.remove(added)
	})
}

func (r *rules) remove(gone *rule) {
	r.mu.Lock()
	r.active = slices.DeleteFunc(r.active, func(other *rule) bool { return other == gone })
	r.mu.Unlock()
	if gone.quota != "" {
		_ = r.c.kube.CoreV1().ResourceQuotas(gone.namespace).Delete(r.c.ctx, gone.quota, metav1.DeleteOptions{})
	}
}

// calm removes all rules, and quotas that are left: an outage may have lost the deletion of one, and a restore may have brought one back.
func (r *rules) calm() {
	r.mu.Lock()
	active := slices.Clone(r.active)
	r.mu.Unlock()
	for _, rule := range active {
		r.remove(rule)
	}
	for _, namespace := range namespaces {
		_ = r.c.kube.CoreV1().ResourceQuotas(namespace).DeleteCollection(r.c.ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}
}
