package apiserver_test

import (
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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

// sim is a server with clients of one process.
type sim struct {
	*apiserver.Server
	kube     kubernetes.Interface
	managers versioned.Interface
}

// simulate runs a test in a bubble with a new server.
func simulate(t *testing.T, faults apiserver.Faults, test func(t *testing.T, s sim)) {
	t.Helper()
	custom := podManagers()
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(apiserver.Config{Rand: rand.New(rand.NewPCG(1, 1)), Custom: []*apiserver.Resource{custom}})
		config := configOf(server, "test", faults)
		kube, err := kubernetes.NewForConfig(config)
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
	return &rest.Config{
		Host: "http://sim", Transport: server.Client(name, faults), QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}
}

var (
	get    = metav1.GetOptions{}
	list   = metav1.ListOptions{}
	create = metav1.CreateOptions{}
	update = metav1.UpdateOptions{}
	patch  = metav1.PatchOptions{}
	remove = metav1.DeleteOptions{}
)
