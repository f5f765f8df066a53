package testenv

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
func (e *Env) Insist(request func() error) {
	ctx, cancel := context.WithTimeout(e.Ctx, patience)
	defer cancel()
	for {
		err := request()
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
			return
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			e.Must(errors.Join(errors.New("the API server does not accept requests"), err))
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
func (e *Env) Create(name string, replicas int, options OwnerOptions) {
	e.ask(name, replicas)
	e.Insist(func() error { return e.Contender.Create(e.Ctx, e.Namespace, name, replicas, options) })
	image := options.Image
	if image == "" {
		image = DefaultImage
	}
	e.set(name, Want{replicas, image})
	e.Logf("create %s with %d replicas", name, replicas)
}

// Scale changes the replicas of an owner.
func (e *Env) Scale(name string, replicas int) {
	e.ask(name, replicas)
	e.Insist(func() error {
		return e.Contender.Patch(e.Ctx, e.Namespace, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	})
	wanted := e.Wants()[name]
	wanted.Replicas = replicas
	e.set(name, wanted)
	e.Logf("scale %s to %d", name, replicas)
}

// Update changes the image of an owner.
func (e *Env) Update(name, image string) {
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"%s"}]}}}}`, image)
	e.Insist(func() error { return e.Contender.Patch(e.Ctx, e.Namespace, name, patch) })
	wanted := e.Wants()[name]
	wanted.Image = image
	e.set(name, wanted)
	e.Logf("update %s to %s", name, image)
}

// Remove deletes an owner with its pods.
func (e *Env) Remove(name string) {
	background := metav1.DeletePropagationBackground
	e.Insist(func() error {
		return e.Contender.Delete(e.Ctx, e.Namespace, name, metav1.DeleteOptions{PropagationPolicy: &background})
	})
	e.mu.Lock()
	delete(e.wanted, name)
	e.mu.Unlock()
	e.Logf("delete %s", name)
}

// ask tells the oracle about a change before it is made, including the surge of an update: 25 %, rounded up.
func (e *Env) ask(name string, replicas int) {
	e.Oracle.Asked(e.Namespace+"/"+name, replicas+(replicas+3)/4)
}

func (e *Env) set(name string, wanted Want) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wanted[name] = wanted
}

// Unset records that an owner is no longer wanted.
func (e *Env) Unset(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.wanted, name)
}

// Wants returns what the scenario has requested, by the name of the owner.
func (e *Env) Wants() map[string]Want {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.wanted)
}

// Pods returns the pods that are not terminating.
func (e *Env) Pods() []corev1.Pod {
	var active []corev1.Pod
	e.Insist(func() error {
		list, err := e.Cluster.Kube.CoreV1().Pods(e.Namespace).List(e.Ctx, metav1.ListOptions{})
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
func (e *Env) PodsOf(name string) []corev1.Pod {
	return slices.DeleteFunc(e.Pods(), func(pod corev1.Pod) bool {
		ref := metav1.GetControllerOf(&pod)
		return ref == nil || !isOwnerKind(ref) || ref.Name != name
	})
}

// DeletePod deletes a pod without a grace period, as if its node were removed.
func (e *Env) DeletePod(name string) {
	e.Insist(func() error {
		return e.Cluster.Kube.CoreV1().Pods(e.Namespace).Delete(e.Ctx, name, *metav1.NewDeleteOptions(0))
	})
	e.Logf("delete pod %s", name)
}
