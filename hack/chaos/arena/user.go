package arena

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// Insist repeats a request until it succeeds, because the API server may be down.
func (a *Arena) Insist(request func() error) {
	ctx, cancel := context.WithTimeout(a.Ctx, patience)
	defer cancel()
	for {
		err := request()
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
			return
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			a.Must(errors.Join(errors.New("the API server does not accept requests"), err))
		}
	}
}

// IgnoreConflict returns nil for a conflict. It is for a change that may lose against a concurrent one.
func IgnoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Create creates an owner.
func (a *Arena) Create(name string, replicas int, options OwnerOptions) {
	a.ask(name, replicas)
	a.Insist(func() error { return a.Contender.Create(a.Ctx, a.Namespace, name, replicas, options) })
	image := options.Image
	if image == "" {
		image = DefaultImage
	}
	a.set(name, Want{replicas, image})
	a.Logf("create %s with %d replicas", name, replicas)
}

// Scale changes the replicas of an owner.
func (a *Arena) Scale(name string, replicas int) {
	a.ask(name, replicas)
	a.Insist(func() error {
		return a.Contender.Patch(a.Ctx, a.Namespace, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	})
	wanted := a.Wants()[name]
	wanted.Replicas = replicas
	a.set(name, wanted)
	a.Logf("scale %s to %d", name, replicas)
}

// Update changes the image of an owner.
func (a *Arena) Update(name, image string) {
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"%s"}]}}}}`, image)
	a.Insist(func() error { return a.Contender.Patch(a.Ctx, a.Namespace, name, patch) })
	wanted := a.Wants()[name]
	wanted.Image = image
	a.set(name, wanted)
	a.Logf("update %s to %s", name, image)
}

// Remove deletes an owner with its pods.
func (a *Arena) Remove(name string) {
	background := metav1.DeletePropagationBackground
	a.Insist(func() error {
		return a.Contender.Delete(a.Ctx, a.Namespace, name, metav1.DeleteOptions{PropagationPolicy: &background})
	})
	a.mu.Lock()
	delete(a.wanted, name)
	a.mu.Unlock()
	a.Logf("delete %s", name)
}

// ask tells the oracle about a change before it is made, including the surge of an update: 25 %, rounded up.
func (a *Arena) ask(name string, replicas int) {
	a.Oracle.Asked(a.Namespace+"/"+name, replicas+(replicas+3)/4)
}

func (a *Arena) set(name string, wanted Want) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted[name] = wanted
}

// Unset records that an owner is no longer wanted.
func (a *Arena) Unset(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.wanted, name)
}

// Wants returns what the scenario has requested, by the name of the owner.
func (a *Arena) Wants() map[string]Want {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.wanted)
}

// Pods returns the pods that are not terminating.
func (a *Arena) Pods() []corev1.Pod {
	var active []corev1.Pod
	a.Insist(func() error {
		list, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).List(a.Ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		active = nil
		for _, pod := range list.Items {
			if pod.DeletionTimestamp == nil {
				active = append(active, pod)
			}
		}
		return nil
	})
	return active
}

// PodsOf returns the pods that an owner of this name controls, except terminating ones.
func (a *Arena) PodsOf(name string) []corev1.Pod {
	return slices.DeleteFunc(a.Pods(), func(pod corev1.Pod) bool {
		ref := metav1.GetControllerOf(&pod)
		return ref == nil || !isOwnerKind(ref) || ref.Name != name
	})
}

// DeletePod deletes a pod without a grace period, as if its node were removed.
func (a *Arena) DeletePod(name string) {
	a.Insist(func() error {
		return a.Cluster.Kube.CoreV1().Pods(a.Namespace).Delete(a.Ctx, name, *metav1.NewDeleteOptions(0))
	})
	a.Logf("delete pod %s", name)
}
