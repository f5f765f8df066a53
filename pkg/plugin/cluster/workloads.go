package cluster

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/mycompany/podmanager/pkg/plugin/convert"
)

// Workloads reads objects of kinds other than PodManager. It asks the API server only once which kinds exist.
type Workloads struct {
	*Cluster
	mapper meta.RESTMapper
	client dynamic.Interface
}

// Workloads creates the client. It does not send a request.
func (c *Cluster) Workloads() (*Workloads, error) {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(c.Discovery)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	return &Workloads{Cluster: c, mapper: mapper, client: client}, nil
}

// Workload is a live object.
type Workload struct {
	*unstructured.Unstructured
	// Resource is the name of the object's resource, with the group.
	Resource string
}

// Named reads objects that a user names as in kubectl: deployment/web sts/db, or deployment web api.
func (w *Workloads) Named(ctx context.Context, arguments []string) ([]Workload, error) {
	if len(arguments) > 1 && !strings.Contains(arguments[0], "/") {
		named := make([]string, 0, len(arguments)-1)
		for _, name := range arguments[1:] {
			named = append(named, arguments[0]+"/"+name)
		}
		arguments = named
	}
	var found []Workload
	for _, argument := range arguments {
		kind, name, hasKind := strings.Cut(argument, "/")
		if !hasKind || kind == "" || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%q is not KIND/NAME, such as deployment/web", argument)
		}
		mapping, err := w.mappingOf(kind)
		if err != nil {
			return nil, err
		}
		workload, err := w.read(ctx, mapping, w.Namespace, name)
		if err != nil {
			return nil, err
		}
		found = append(found, workload)
	}
	return found, nil
}

// Same reads the live object that corresponds to an object from a file.
func (w *Workloads) Same(ctx context.Context, object *unstructured.Unstructured) (Workload, error) {
	mapping, err := w.mapper.RESTMapping(object.GroupVersionKind().GroupKind())
	if err != nil {
		return Workload{}, w.Advise(err, w.Namespace)
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = w.Namespace
	}
	return w.read(ctx, mapping, namespace, object.GetName())
}

// mappingOf finds the resource for a user's spelling, such as deploy, deployments or deployments.v1.apps.
func (w *Workloads) mappingOf(name string) (*meta.RESTMapping, error) {
	full, short := schema.ParseResourceArg(strings.ToLower(name))
	gvk := schema.GroupVersionKind{}
	var err error
	if full != nil {
		gvk, err = w.mapper.KindFor(*full)
	}
	if gvk.Empty() {
		gvk, err = w.mapper.KindFor(short.WithVersion(""))
	}
	switch {
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("%s knows no kind %s; convert takes %s", w.Server, name, convert.Kinds())
	case err != nil:
		return nil, w.Advise(err, w.Namespace)
	}
	if err := convert.Check(gvk.GroupKind()); err != nil {
		return nil, err
	}
	return w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}

func (w *Workloads) read(ctx context.Context, mapping *meta.RESTMapping, namespace, name string) (Workload, error) {
	object, err := w.client.Resource(mapping.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Workload{}, fmt.Errorf("there is no %s %s in namespace %s", mapping.GroupVersionKind.Kind, name, namespace)
	}
	if err != nil {
		return Workload{}, w.Advise(err, namespace)
	}
	return Workload{object, mapping.Resource.GroupResource().String()}, nil
}

// Around reads the objects that refer to a live object, as far as the user may: autoscalers and disruption budgets.
func (w *Workloads) Around(ctx context.Context, object *unstructured.Unstructured) convert.Live {
	live, namespace := convert.Live{}, object.GetNamespace()
	autoscalers, err := w.Kube.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, metav1.ListOptions{})
	if wasRead(&live, "HorizontalPodAutoscalers", err) {
		live.Autoscalers = namesOf(autoscalers.Items, func(item *autoscalingv2.HorizontalPodAutoscaler) bool {
			target := item.Spec.ScaleTargetRef
			return target.Kind == object.GetKind() && target.Name == object.GetName()
		})
	}
	budgets, err := w.Kube.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if wasRead(&live, "PodDisruptionBudgets", err) {
		podLabels, _, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "labels")
		live.Budgets = namesOf(budgets.Items, func(item *policyv1.PodDisruptionBudget) bool {
			selector, err := metav1.LabelSelectorAsSelector(item.Spec.Selector)
			return err == nil && selector.Matches(labels.Set(podLabels))
		})
	}
	return live
}

// AddOwned adds the ReplicaSets or ControllerRevisions that an object controls.
func (w *Workloads) AddOwned(ctx context.Context, object *unstructured.Unstructured, live *convert.Live) error {
	if object.GetKind() == "Deployment" {
		sets, err := w.Kube.AppsV1().ReplicaSets(object.GetNamespace()).List(ctx, metav1.ListOptions{})
		if err != nil {
			return w.Advise(err, object.GetNamespace())
		}
		for _, set := range sets.Items {
			if metav1.IsControlledBy(&set, object) {
				live.Sets = append(live.Sets, convert.Set{Name: set.Name, UID: set.UID, Replicas: set.Status.Replicas})
			}
		}
		return nil
	}
	revisions, err := w.Kube.AppsV1().ControllerRevisions(object.GetNamespace()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return w.Advise(err, object.GetNamespace())
	}
	live.Revisions = namesOf(revisions.Items, func(item *appsv1.ControllerRevision) bool { return metav1.IsControlledBy(item, object) })
	return nil
}

// wasRead reports whether a kind was read. If it was not, wasRead adds the kind and the error to live.Unread.
func wasRead(live *convert.Live, kind string, err error) bool {
	if err != nil {
		live.Unread = append(live.Unread, kind+" cannot be read ("+strings.TrimSpace(err.Error())+")")
	}
	return err == nil
}

// namesOf returns the names of the items for which chosen is true.
func namesOf[T any, P interface {
	*T
	metav1.Object
}](items []T, chosen func(P) bool) []string {
	var names []string
	for i := range items {
		if item := P(&items[i]); chosen(item) {
			names = append(names, item.GetName())
		}
	}
	return names
}
