package apiserver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

// olderCRD returns the custom resource of a CRD that lacks a field of the status.
func olderCRD(t *testing.T, field string) *apiserver.Resource {
	t.Helper()
	var crd map[string]any
	if err := yaml.Unmarshal(must(os.ReadFile("../../../artifacts/crd.yaml")), &crd); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	for _, version := range versions {
		unstructured.RemoveNestedField(version.(map[string]any), "schema", "openAPIV3Schema", "properties", "status", "properties", field)
	}
	if err := unstructured.SetNestedSlice(crd, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	return must(apiserver.ParseCRD(must(yaml.Marshal(crd))))
}

// If the CRD is older than the controller, the API server drops a field of the status. The controller still writes each status only once.
func TestPrunedStatusIsWrittenOnce(t *testing.T) {
	for _, field := range []string{"image", "podNames", "observedGeneration", "terminatingReplicas", "currentRevision", "updateRevision", "rollout", "conditions"} {
		t.Run(field, func(t *testing.T) {
			custom := olderCRD(t, field)
			synctest.Test(t, func(t *testing.T) {
				server := apiserver.New(apiserver.Config{Rand: rand.New(rand.NewPCG(1, 1)), Custom: []*apiserver.Resource{custom}})
				checkWrittenOnce(t, server)
			})
		})
	}
}

func checkWrittenOnce(t *testing.T, server *apiserver.Server) {
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
	config := configOf(server, "test", nil)
	kube, managers := kubernetes.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config).AppsV1().PodManagers("default")
	for i := range int32(5) { // the first has zero replicas
		manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i)}, Spec: v1.PodManagerSpec{Replicas: ptr.To(i), Image: "nginx:1"}}
		must(managers.Create(ctx, manager, create))
	}
	stop := startController(ctx, t, server)
	go tend(ctx, t, kube)
	time.Sleep(3 * time.Minute)
	for i := range 5 {
		must(managers.Patch(ctx, fmt.Sprint("web-", i), types.MergePatchType, []byte(`{"spec":{"image":"nginx:2"}}`), patch))
	}
	time.Sleep(20 * time.Minute)
	requests, calm := 0, server.Version()
	server.Admit(func(_ context.Context, review *apiserver.Review) error {
		requests++
		t.Log(review.Request)
		return nil
	})
	time.Sleep(20 * time.Minute)
	if writes := server.Version() - calm; writes > 0 || requests > 0 {
		t.Errorf("%d writes and %d requests to write while all was calm", writes, requests)
	}
	stop()
	cancel()
}
