package source

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

// Clients are the connections to the API server.
type Clients struct {
	Kube        kubernetes.Interface
	PodManagers versioned.Interface
	// Dynamic reads PodManagers one by one, see tolerantSource.
	Dynamic dynamic.Interface
	// Metadata reads what pods are called and who they belong to.
	Metadata metadata.Interface
	// Reports and Statuses write events and statuses. They have a limit of their own, so that what is told about pods never
	// keeps the pods themselves waiting.
	Reports  kubernetes.Interface
	Statuses versioned.Interface
}
