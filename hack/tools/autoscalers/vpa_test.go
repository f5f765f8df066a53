package autoscalers

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/vpa"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpalisters "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/listers/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target"
	controllerfetcher "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target/controller_fetcher"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/restriction"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

const namespace = "shop"

func verticalAutoscaler(t *testing.T) *vpav1.VerticalPodAutoscaler {
	t.Helper()
	autoscaler := &vpav1.VerticalPodAutoscaler{}
	example(t, "vpa.yaml", "VerticalPodAutoscaler", autoscaler)
	autoscaler.Namespace = namespace
	return autoscaler
}

// pods returns running pods of a controller.
func pods(kind, version, name string, count int) []*corev1.Pod {
	var made []*corev1.Pod
	controller := true
	for i := range count {
		made = append(made, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i), Labels: map[string]string{"podmanager": name},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, Controller: &controller}},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
	}
	return made
}

// The autoscaler's own admission webhook accepts the example.
func TestVerticalAutoscalerIsAdmitted(t *testing.T) {
	admit := func(autoscaler *vpav1.VerticalPodAutoscaler) error {
		raw, err := json.Marshal(autoscaler)
		if err != nil {
			t.Fatal(err)
		}
		request := &admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}}
		_, refused := vpa.NewResourceHandler(vpa.NewDefaultPreProcessor()).GetPatches(t.Context(), request)
		return refused.ToAggregate()
	}
	autoscaler := verticalAutoscaler(t)
	if err := admit(autoscaler); err != nil {
		t.Error(err)
	}
	policy := &autoscaler.Spec.ResourcePolicy.ContainerPolicies[0]
	policy.MinAllowed, policy.MaxAllowed = policy.MaxAllowed, policy.MinAllowed
	if err := admit(autoscaler); err == nil {
		t.Error("the example is also admitted with minAllowed above maxAllowed")
	}
}

// The autoscaler finds the pods of a PodManager through the scale subresource. For a pod, it finds the VerticalPodAutoscaler of the pod's PodManager.
func TestVerticalAutoscalerFindsThePods(t *testing.T) {
	config := serve(t)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	selectors := target.NewVpaTargetSelectorFetcher(config, client, factory, t.Context().Done())
	autoscaler := verticalAutoscaler(t)
	selector, err := selectors.Fetch(t.Context(), autoscaler)
	if err != nil {
		t.Fatal(err)
	}
	if !selector.Matches(labels.Set{"podmanager": "worker"}) || selector.Matches(labels.Set{"podmanager": "other"}) {
		t.Errorf("the selector is %s", selector)
	}
	controllers := controllerfetcher.NewControllerFetcher(config, client, factory, time.Hour, time.Hour, 1, t.Context().Done())
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := store.Add(autoscaler); err != nil {
		t.Fatal(err)
	}
	matcher := vpa.NewMatcher(vpalisters.NewVerticalPodAutoscalerLister(store), selectors, controllers)
	const version = "apps.mycompany.com/v1"
	if found := matcher.GetMatchingVPA(t.Context(), pods("PodManager", version, "worker", 1)[0]); found == nil || found.Name != "worker" {
		t.Errorf("for a pod of the PodManager the matcher finds %v", found)
	}
	if found := matcher.GetMatchingVPA(t.Context(), pods("PodManager", version, "other", 1)[0]); found != nil {
		t.Errorf("for a pod of another PodManager the matcher finds %s", found.Name)
	}
}

// The autoscaler does not know how many pods a PodManager wants, and would evict them all at once. Therefore the example has a PodDisruptionBudget.
// If this test fails one day for the PodManager, the example may no longer need it.
func TestVerticalAutoscalerHoldsNothingBack(t *testing.T) {
	for kind, test := range map[string]struct {
		version string
		want    int
	}{
		"PodManager": {"apps.mycompany.com/v1", 4},
		"ReplicaSet": {"apps/v1", 2},
	} {
		t.Run(kind, func(t *testing.T) {
			all := pods(kind, test.version, "worker", 4)
			client := fake.NewClientset(all[0], all[1], all[2], all[3])
			factory := informers.NewSharedInformerFactory(client, 0)
			replicas := int32(4)
			set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "worker"}, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
			if err := factory.Apps().V1().ReplicaSets().Informer().GetStore().Add(set); err != nil {
				t.Fatal(err)
			}
			// The updater's defaults: it evicts pods only if there are at least two, and at most half of them.
			restrictions := restriction.NewPodsRestrictionFactory(client, factory, 2, 0.5, nil, false)
			autoscaler := verticalAutoscaler(t)
			groups, owners, err := restrictions.GetCreatorMaps(all, autoscaler)
			if err != nil {
				t.Fatal(err)
			}
			evictions, evicted := restrictions.NewPodsEvictionRestriction(groups, owners), 0
			for _, pod := range all {
				if err := evictions.Evict(pod, autoscaler, record.NewFakeRecorder(8)); err == nil {
					evicted++
				}
			}
			if evicted != test.want {
				t.Errorf("%d pods of 4 are evicted, want %d", evicted, test.want)
			}
		})
	}
}
