package census

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

// All has the censuses of all watched kinds.
type All struct {
	Pods                               *Pods
	Managers, ReplicaSets, Deployments *Owners
}

// New starts the watches, and returns when all existing objects have been counted. The watches end with ctx.
func New(ctx context.Context, kube kubernetes.Interface, podManagers versioned.Interface) (*All, error) {
	all := &All{}
	var err error
	if all.Pods, err = start(ctx, kube.CoreV1().Pods(""), kube, &corev1.Pod{}, stateOfPod); err != nil {
		return nil, err
	}
	if all.Managers, err = start(ctx, podManagers.AppsV1().PodManagers(""), podManagers, &v1.PodManager{}, stateOfOwner); err != nil {
		return nil, err
	}
	if all.ReplicaSets, err = start(ctx, kube.AppsV1().ReplicaSets(""), kube, &appsv1.ReplicaSet{}, stateOfOwner); err != nil {
		return nil, err
	}
	all.Deployments, err = start(ctx, kube.AppsV1().Deployments(""), kube, &appsv1.Deployment{}, stateOfOwner)
	return all, err
}
