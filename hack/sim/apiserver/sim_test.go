package apiserver_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

// podManagers is the custom resource, parsed once for all tests.
var podManagers = sync.OnceValue(func() *apiserver.Resource {
	definition, err := os.ReadFile("../../../artifacts/crd.yaml")
	if err != nil {
		panic(err)
	}
	resource, err := apiserver.ParseCRD(definition)
	if err != nil {
		panic(err)
	}
	return resource
})

// sim is a server with the clients of one process.
type sim struct {
	*apiserver.Server
	kube     kubernetes.Interface
	managers versioned.Interface
}

// simulate runs a test against a new server in a synctest bubble.
func simulate(t *testing.T, faults apiserver.Faults, test func(t *testing.T, s sim)) {
	t.Helper()
	custom := podManagers()
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(apiserver.Config{Rand: rand.New(rand.NewPCG(1, 1)), Custom: []*apiserver.Resource{custom}})
		config := configOf(server, "test", faults)
		kube, err := kubernetes.NewForConfig(inProtobuf(config))
		if err != nil {
			t.Fatal(err)
		}
		managers, err := versioned.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		test(t, sim{server, kube, managers})
	})
}

func configOf(server *apiserver.Server, name string, faults apiserver.Faults) *rest.Config {
	return &rest.Config{Host: "http://sim", Transport: server.Client(name, faults), QPS: -1}
}

// inProtobuf returns the configuration that the controller uses for built-in kinds. JSON is tested with PodManagers here, and with all kinds by
// hack/test/simulation.
func inProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	return config
}

var (
	get    = metav1.GetOptions{}
	list   = metav1.ListOptions{}
	create = metav1.CreateOptions{}
	update = metav1.UpdateOptions{}
	patch  = metav1.PatchOptions{}
	remove = metav1.DeleteOptions{}
)

func newPod(name string, labels ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.29"}}}}
	for i := 0; i+1 < len(labels); i += 2 {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, labels[i], labels[i+1])
	}
	return pod
}

// must returns value and panics if there is an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (s sim) pods() typedcorev1.PodInterface { return s.kube.CoreV1().Pods("default") }

// running creates a pod that runs on a node.
func (s sim) running(ctx context.Context, t *testing.T, name string, labels ...string) *corev1.Pod {
	t.Helper()
	pod := must(s.pods().Create(ctx, newPod(name, labels...), create))
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Name: "node"}}
	if err := s.pods().Bind(ctx, binding, create); err != nil {
		t.Fatal(err)
	}
	pod.ResourceVersion = ""
	pod.Status.Phase, pod.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return must(s.pods().UpdateStatus(ctx, pod, update))
}

// checkError checks that an error has the wanted code and contains the wanted message. Code 0 means no error.
func checkError(t *testing.T, err error, code int, message string) {
	t.Helper()
	var status apierrors.APIStatus
	switch {
	case code == 0 && err != nil:
		t.Errorf("got the error %v", err)
	case code == 0:
	case !errors.As(err, &status) || int(status.Status().Code) != code || !strings.Contains(err.Error(), message):
		t.Errorf("got the error %v, want %d %q", err, code, message)
	}
}

func resourceOf(text string) resource.Quantity { return resource.MustParse(text) }
