package autoscalers

import (
	"net/http"
	"strings"
	"testing"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func scaledObject(t *testing.T) *kedav1alpha1.ScaledObject {
	t.Helper()
	object := &kedav1alpha1.ScaledObject{}
	example(t, "keda.yaml", "ScaledObject", object)
	object.Namespace = namespace
	return object
}

// admit asks KEDA's admission webhook about a ScaledObject, in a cluster with these objects.
func admit(t *testing.T, object *kedav1alpha1.ScaledObject, cluster ...client.Object) (warnings []string, refused error) {
	t.Helper()
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kedav1alpha1.AddToScheme} {
		if err := add(all); err != nil {
			t.Fatal(err)
		}
	}
	known := mapper(t).(*meta.DefaultRESTMapper)
	known.Add(kedav1alpha1.SchemeGroupVersion.WithKind("ScaledObject"), meta.RESTScopeNamespace)
	known.Add(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), meta.RESTScopeNamespace)
	// target is the function of the indices below, in which the webhook looks for objects with the same target.
	target := func(object client.Object) []string {
		if hpa, ok := object.(*autoscalingv2.HorizontalPodAutoscaler); ok {
			return []string{hpa.Spec.ScaleTargetRef.Name}
		}
		return []string{object.(*kedav1alpha1.ScaledObject).Spec.ScaleTargetRef.Name}
	}
	reader := fake.NewClientBuilder().WithScheme(all).WithObjects(cluster...).
		WithIndex(&kedav1alpha1.ScaledObject{}, "spec.scaleTargetRef.name", target).
		WithIndex(&kedav1alpha1.ScaledObject{}, "spec.hpaName", func(client.Object) []string { return nil }).
		WithIndex(&autoscalingv2.HorizontalPodAutoscaler{}, "spec.scaleTargetRef.name", target).Build()
	manager, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme:         all,
		Metrics:        server.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return known, nil },
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return reader, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := object.SetupWebhookWithManager(manager, false); err != nil {
		t.Fatal(err)
	}
	dryRun := false
	return object.ValidateCreate(&dryRun)
}

func TestScaledObjectIsAdmitted(t *testing.T) {
	if warnings, err := admit(t, scaledObject(t)); err != nil || len(warnings) > 0 {
		t.Errorf("warnings %q, error %v", warnings, err)
	}
}

// The webhook resolves the target. It refuses a ScaledObject for a PodManager that another object already scales, or for a kind that does not exist.
func TestScaledObjectIsRefused(t *testing.T) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	example(t, "hpa.yaml", "HorizontalPodAutoscaler", hpa)
	hpa.Namespace, hpa.Spec.ScaleTargetRef.Name = namespace, "office"
	want := "'apps.mycompany.com/v1.PodManager' is already managed by the hpa 'web'"
	if _, err := admit(t, scaledObject(t), hpa); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("beside a HorizontalPodAutoscaler of the same PodManager: %v", err)
	}
	object := scaledObject(t)
	object.Spec.ScaleTargetRef.Kind = "PodManagers"
	if _, err := admit(t, object); !meta.IsNoMatchError(err) {
		t.Errorf("with another kind: %v", err)
	}
}

// With these bounds, KEDA itself scales to zero and back to one, and the HorizontalPodAutoscaler does the rest.
func TestScaledObjectScalesToZero(t *testing.T) {
	object := scaledObject(t)
	if object.Spec.MinReplicaCount == nil || *object.Spec.MinReplicaCount != 0 || object.Spec.IdleReplicaCount != nil {
		t.Errorf("minReplicaCount is %v, idleReplicaCount %v", object.Spec.MinReplicaCount, object.Spec.IdleReplicaCount)
	}
	if least := object.GetHPAMinReplicas(); least == nil || *least != 1 {
		t.Errorf("the HorizontalPodAutoscaler gets %v as its minimum, want 1", least)
	}
	if object.UsesHPAObservations() {
		t.Error("KEDA leaves the triggers to the HorizontalPodAutoscaler, which does not scale up from zero")
	}
}
