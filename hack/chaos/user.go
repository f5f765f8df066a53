package main

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

// insist repeats a request until it succeeds: the API server may be away.
func (a *arena) insist(request func() error) {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	for {
		err := request()
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
			return
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			a.must(errors.Join(errors.New("the API server does not accept requests"), err))
		}
	}
}

// ignoreConflict is for a change that may come too late, because another was faster.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// create creates an owner.
func (a *arena) create(name string, replicas int, options ownerOptions) {
	a.ask(name, replicas)
	a.insist(func() error { return a.contender.create(a.ctx, a.namespace, name, replicas, options) })
	image := options.image
	if image == "" {
		image = defaultImage
	}
	a.set(name, want{replicas, image})
	a.logf("create %s with %d replicas", name, replicas)
}

// scale changes the replicas of an owner.
func (a *arena) scale(name string, replicas int) {
	a.ask(name, replicas)
	a.insist(func() error {
		return a.contender.patch(a.ctx, a.namespace, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	})
	wanted := a.wants()[name]
	wanted.replicas = replicas
	a.set(name, wanted)
	a.logf("scale %s to %d", name, replicas)
}

// update changes the image of an owner.
func (a *arena) update(name, image string) {
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"%s"}]}}}}`, image)
	a.insist(func() error { return a.contender.patch(a.ctx, a.namespace, name, patch) })
	wanted := a.wants()[name]
	wanted.image = image
	a.set(name, wanted)
	a.logf("update %s to %s", name, image)
}

// remove deletes an owner with its pods.
func (a *arena) remove(name string) {
	background := metav1.DeletePropagationBackground
	a.insist(func() error {
		return a.contender.delete(a.ctx, a.namespace, name, metav1.DeleteOptions{PropagationPolicy: &background})
	})
	a.mu.Lock()
	delete(a.wanted, name)
	a.mu.Unlock()
	a.logf("delete %s", name)
}

// ask tells the oracle about a change before it is made, with the surge of an update: 25 %, rounded up.
func (a *arena) ask(name string, replicas int) {
	a.oracle.Asked(a.namespace+"/"+name, replicas+(replicas+3)/4)
}

func (a *arena) set(name string, wanted want) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted[name] = wanted
}

// unset says that an owner is no longer wanted.
func (a *arena) unset(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.wanted, name)
}

func (a *arena) wants() map[string]want {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.wanted)
}

// pods are the pods that are not terminating, as the API server has them.
func (a *arena) pods() []corev1.Pod {
	var active []corev1.Pod
	a.insist(func() error {
		list, err := a.cluster.Kube.CoreV1().Pods(a.namespace).List(a.ctx, metav1.ListOptions{})
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

// podsOf are the pods that an owner of this name controls, without terminating ones.
func (a *arena) podsOf(name string) []corev1.Pod {
	return slices.DeleteFunc(a.pods(), func(pod corev1.Pod) bool {
		ref := metav1.GetControllerOf(&pod)
		return ref == nil || !isOwnerKind(ref) || ref.Name != name
	})
}

// awaitPods waits until there are count pods.
func (a *arena) awaitPods(count int) {
	a.await(fmt.Sprintf("%d pods", count), func() (string, bool) {
		n := len(a.pods())
		return fmt.Sprint(n), n == count
	})
}

// deletePod deletes a pod without a grace period, as if its node were removed.
func (a *arena) deletePod(name string) {
	a.insist(func() error {
		return a.cluster.Kube.CoreV1().Pods(a.namespace).Delete(a.ctx, name, *metav1.NewDeleteOptions(0))
	})
	a.logf("delete pod %s", name)
}
