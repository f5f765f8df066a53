package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/check"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/why"
	"github.com/mycompany/podmanager/pkg/policy"
)

// Facts reads the facts about the cluster that check needs, in parallel.
func (c *Cluster) Facts(ctx context.Context, namespace, controllerNamespace string) (check.Facts, error) {
	f := check.Facts{Server: c.Server, Namespace: controllerNamespace, Rights: check.Rights(), RightsIn: namespace, Now: time.Now()}
	version, err := c.Discovery.ServerVersion()
	if err != nil {
		return f, c.Advise(err, namespace)
	}
	f.ServerVersion = version.GitVersion
	var wait sync.WaitGroup
	wait.Go(func() { f.Resources, f.ResourcesError = c.resources(v1.GroupName + "/v1") })
	wait.Go(func() {
		core, err := c.resources("v1")
		f.Resizes, f.ResizesError = slices.Contains(core, "pods/resize"), err
	})
	wait.Go(func() { f.Unknown, f.SchemaError = c.unknownFields() })
	wait.Go(func() {
		f.Controllers, f.ControllersError = c.controllers(ctx, controllerNamespace)
		c.readLeases(ctx, &f)
	})
	wait.Go(func() { f.Rules, f.RulesError = c.rules(ctx) })
	for i := range f.Rights {
		wait.Go(func() { c.review(ctx, &f.Rights[i], namespace) })
	}
	wait.Wait()
	if slices.ContainsFunc(f.Rights, func(right check.Right) bool { return right.Err == nil && !right.Allowed }) {
		f.User = c.user(ctx)
	}
	return f, nil
}

// AddFactsOf adds a PodManager to the facts, with the PodDisruptionBudgets, the VerticalPodAutoscaler and the room for a surge pod that check needs.
func (c *Cluster) AddFactsOf(ctx context.Context, manager *v1.PodManager, f *check.Facts) {
	f.Manager = manager
	var wait sync.WaitGroup
	wait.Go(func() { f.Budgets, f.BudgetsError = c.budgets(ctx, manager.Namespace) })
	wait.Go(func() { f.VPA = c.autoscalerOf(ctx, manager) })
	wait.Go(func() { f.Room = c.Room(ctx, manager) })
	wait.Wait()
}

// resources returns the names of the resources that a group version serves. It returns none if the API server does not have the group version.
func (c *Cluster) resources(group string) ([]string, error) {
	list, err := c.Discovery.ServerResourcesForGroupVersion(group)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, resource := range list.APIResources {
		names = append(names, resource.Name)
	}
	return names, nil
}

// readLeases reads the Lease of the controller, and if replicas share the work, the Leases of shards and replicas.
func (c *Cluster) readLeases(ctx context.Context, f *check.Facts) {
	leases, name := c.Kube.CoordinationV1().Leases(f.Namespace), f.LeaseName()
	f.Lease, f.LeaseError = leases.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(f.LeaseError) {
		f.Lease, f.LeaseError = nil, nil
	}
	if f.ShardCount() == 0 {
		return
	}
	list, err := leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		f.ShardsError = err
		return
	}
	f.ShardLeases = slices.DeleteFunc(list.Items, func(lease coordinationv1.Lease) bool { return !strings.HasPrefix(lease.Name, name+"-") })
}

// controllerLabels selects the Deployments of controllers. A Deployment that only serves webhooks does not handle PodManagers.
const controllerLabels = "app.kubernetes.io/name=podmanager,app.kubernetes.io/component!=webhook"

func (c *Cluster) controllers(ctx context.Context, namespace string) ([]check.Controller, error) {
	list, err := c.Kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: controllerLabels})
	if err != nil {
		return nil, err
	}
	var controllers []check.Controller
	for _, deployment := range list.Items {
		controller := check.Controller{Name: deployment.Name, Available: deployment.Status.AvailableReplicas}
		for _, container := range deployment.Spec.Template.Spec.Containers {
			controller.Args = append(controller.Args, slices.Concat(container.Command, container.Args)...)
		}
		controllers = append(controllers, controller)
	}
	return controllers, nil
}

func (c *Cluster) budgets(ctx context.Context, namespace string) ([]policyv1.PodDisruptionBudget, error) {
	list, err := c.Kube.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// autoscalerOf returns the name of the VerticalPodAutoscaler that targets a PodManager. It is empty if there is none, or if it
// cannot be read. Most clusters do not have that kind.
func (c *Cluster) autoscalerOf(ctx context.Context, manager *v1.PodManager) string {
	if served, err := c.resources("autoscaling.k8s.io/v1"); err != nil || !slices.Contains(served, "verticalpodautoscalers") {
		return ""
	}
	data, err := c.Discovery.RESTClient().Get().AbsPath("/apis/autoscaling.k8s.io/v1/namespaces", manager.Namespace, "verticalpodautoscalers").DoRaw(ctx)
	if err != nil {
		return ""
	}
	var list struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Spec     struct {
				TargetRef struct{ Kind, Name, APIVersion string }
			}
		}
	}
	if json.Unmarshal(data, &list) != nil {
		return ""
	}
	for _, item := range list.Items {
		group, _, _ := strings.Cut(item.Spec.TargetRef.APIVersion, "/")
		if target := item.Spec.TargetRef; target.Kind == v1.Kind && target.Name == manager.Name && group == v1.GroupName {
			return item.Metadata.Name
		}
	}
	return ""
}

// rules returns the rules of artifacts/policy.yaml, whatever name the chart gave them.
func (c *Cluster) rules(ctx context.Context) ([]policy.Rule, error) {
	client, options := c.Kube.AdmissionregistrationV1(), metav1.ListOptions{LabelSelector: policy.Label}
	policies, err := client.ValidatingAdmissionPolicies().List(ctx, options)
	if err != nil {
		return nil, err
	}
	bindings, err := client.ValidatingAdmissionPolicyBindings().List(ctx, options)
	if err != nil {
		return nil, err
	}
	return policy.RulesIn(policy.DefaultPrefix, policies.Items, bindings.Items), nil
}

func (c *Cluster) review(ctx context.Context, right *check.Right, namespace string) {
	resource, subresource, _ := strings.Cut(right.Resource, "/")
	review, err := c.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: subresource,
		}},
	}, metav1.CreateOptions{})
	if right.Err = err; err == nil {
		right.Allowed = review.Status.Allowed
	}
}

// user returns the user's name as the API server knows it, for advice on rights. It is empty if the API server does not say it.
func (c *Cluster) user(ctx context.Context) string {
	review, err := c.Kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}

// unknownFields returns the fields of a PodManager's spec and status that the schema of the CRD in the cluster does not have.
func (c *Cluster) unknownFields() ([]string, error) {
	paths, err := c.Discovery.OpenAPIV3().Paths()
	if err != nil {
		return nil, err
	}
	path, found := paths["apis/"+v1.GroupName+"/v1"]
	if !found {
		return nil, errors.New("the API server has no schema of PodManagers")
	}
	data, err := path.Schema("application/json")
	if err != nil {
		return nil, err
	}
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Properties map[string]any `json:"properties"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	var unknown []string
	for name, schema := range document.Components.Schemas {
		if !strings.HasSuffix(name, ".v1.PodManager") {
			continue
		}
		for part, kind := range map[string]reflect.Type{"spec": reflect.TypeFor[v1.PodManagerSpec](), "status": reflect.TypeFor[v1.PodManagerStatus]()} {
			for i := range kind.NumField() {
				field, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
				if _, known := schema.Properties[part].Properties[field]; !known {
					unknown = append(unknown, part+"."+field)
				}
			}
		}
	}
	slices.Sort(unknown)
	return unknown, nil
}

// AddEvidence adds to an answer what only the API server knows, as far as the user may read it.
func (c *Cluster) AddEvidence(ctx context.Context, s snapshot.Snapshot, answer *why.Answer) {
	c.addDrain(ctx, s, answer)
	if outcome := follow.OutcomeFor(s.Manager); outcome == follow.Done || outcome == follow.Baking {
		return // old events would only mislead
	}
	answer.AddExit(s.Pods, s.Now)
	var events []corev1.Event
	for _, name := range slices.Compact([]string{answer.Pod, s.Manager.Name}) {
		if name == "" {
			continue
		}
		list, err := c.Kube.CoreV1().Events(s.Manager.Namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("involvedObject.name", name).String(),
		})
		if err != nil {
			answer.Evidence = append(answer.Evidence, "events cannot be read: "+c.Advise(err, s.Manager.Namespace).Error())
			break
		}
		events = append(events, list.Items...)
	}
	answer.AddEvent(events, s.Now)
	if !answer.HasLog {
		return
	}
	log, err := c.Kube.CoreV1().Pods(s.Manager.Namespace).GetLogs(answer.Pod, &corev1.PodLogOptions{
		Container: answer.Container, Previous: answer.Previous, TailLines: ptr.To[int64](why.LogLines), LimitBytes: ptr.To[int64](1 << 14),
	}).DoRaw(ctx)
	if err != nil {
		answer.Evidence = append(answer.Evidence, fmt.Sprintf("the log of container %s cannot be read: %v", answer.Container, err))
		return
	}
	answer.AddLog(string(log))
}
