package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/faults"
	"github.com/mycompany/podmanager/hack/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// uidReuse replaces an object by another of its name while the controller cannot see it. The pods of the first one are
// not those of the second, whatever they are called.
func uidReuse(a *arena) {
	rounds := 6
	if a.short {
		rounds = 2
	}
	a.start()
	a.create("web", 5, ownerOptions{})
	for range rounds {
		a.awaitCalm()
		held := a.holdSome()
		see := a.blindfold()
		a.replace("web", a.random.IntN(9))
		lab.Pause(a.ctx, time.Duration(a.random.IntN(3000))*time.Millisecond)
		see()
		if len(held) > 0 { // for a while there are pods of both
			lab.Pause(a.ctx, time.Duration(a.random.IntN(2000))*time.Millisecond)
			a.letGo(held)
		}
	}
	a.settle()
	a.judge()
}

// blindfold keeps the controller from seeing owners or pods or both, or ends it, until what it returns is called.
func (a *arena) blindfold() (see func()) {
	if a.random.IntN(4) == 0 {
		a.kill()
		return func() { a.start() }
	}
	resources := [][]string{{a.contender.resource()}, {"pods"}, {a.contender.resource(), "pods"}}[a.random.IntN(3)]
	watches := a.anyOf(resources...)
	stall := a.proxy.Stall(watches)
	a.logf("the watches of %s stand still", strings.Join(resources, " and "))
	return func() { a.endStall(stall, watches) }
}

// replace deletes an object and makes another of its name. It is impatient: if a finalizer is in the way, as that of
// PodManagers with a pace is while their controller does not see the deletion, it is removed by force. The garbage
// collector then has the pods.
func (a *arena) replace(name string, replicas int) {
	before := a.wants()[name]
	a.remove(name)
	patience := time.Now().Add(time.Duration(a.random.IntN(2000)) * time.Millisecond)
	a.await(name+" to be gone", time.Minute, func() (string, bool) {
		owners, err := a.contender.owners(a.ctx, a.namespace)
		if err != nil {
			return err.Error(), false
		}
		if len(owners) > 0 && time.Now().After(patience) {
			a.insist(func() error { return a.contender.patch(a.ctx, a.namespace, name, `{"metadata":{"finalizers":null}}`) })
			a.logf("removed the finalizers of %s by force", name)
		}
		return fmt.Sprint(owners), len(owners) == 0
	})
	image := before.image
	if a.random.IntN(2) == 0 {
		image = "nginx:1.28"
	}
	options := ownerOptions{image: image}
	if a.people.IntN(2) == 0 { // then the next deletion has a finalizer in the way
		options.spec = paced
	}
	a.create(name, replicas, options)
}

// holdFinalizer keeps a pod from going.
const holdFinalizer = "chaos.mycompany.com/hold"

// holdSome makes some pods stay for longer than they are wanted, as those on a node that is slow or dead.
func (a *arena) holdSome() (held []string) {
	for _, pod := range a.pods() {
		if a.random.IntN(4) == 0 {
			a.setFinalizers(pod.Name, fmt.Sprintf("[%q]", holdFinalizer))
			held = append(held, pod.Name)
		}
	}
	a.logf("held pods: %v", held)
	return held
}

func (a *arena) letGo(pods []string) {
	for _, name := range pods {
		a.setFinalizers(name, "null")
	}
	a.logf("let the held pods go")
}

func (a *arena) setFinalizers(pod, finalizers string) {
	patch := fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, finalizers)
	a.insist(func() error {
		_, err := a.cluster.Kube.CoreV1().Pods(a.namespace).Patch(a.ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

// foreignName has pods of others in the way, which the oracle guards: with names that a PodManager would use, and with
// the labels by which pods are found. A pod with the label and no controller would be there to be adopted.
func foreignName(a *arena) {
	a.start()
	other := a.stranger()
	label := map[string]string{a.contender.selectorLabel(): "web"}
	a.decoy("web-0", nil, nil)
	a.decoy("web-2", nil, other)
	a.decoy("web-3", label, other)
	a.decoy("web-old", label, other)
	a.await("the decoys to run, after which nobody has a reason to change them", time.Minute, func() (string, bool) {
		ready := 0
		for _, pod := range a.pods() {
			if isReady(&pod) {
				ready++
			}
		}
		return fmt.Sprint(ready), ready == 4
	})
	a.create("web", 5, ownerOptions{})
	a.awaitCalm()
	if _, isOurs := a.contender.(ours); isOurs {
		a.expectNamesTaken("web-0", "web-2", "web-3")
	}
	steps := 10
	if a.short {
		steps = 4
	}
	for range steps {
		switch a.random.IntN(6) {
		case 0:
			a.restart()
		case 1:
			pods := a.pods()
			if pod := pods[a.random.IntN(len(pods))]; pod.Labels[faults.DecoyLabel] == "" && metav1.GetControllerOf(&pod) != nil {
				a.deletePod(pod.Name)
			}
		default:
			a.scale("web", a.random.IntN(9))
		}
		if a.random.IntN(2) == 0 {
			a.awaitCalm()
		}
	}
	a.settle()
	a.judge()
}

// stranger is a controller of pods that nobody here knows. It exists, or the garbage collector would take its pods.
func (a *arena) stranger() *metav1.OwnerReference {
	made, err := a.cluster.Kube.CoreV1().ConfigMaps(a.namespace).Create(a.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}}, metav1.CreateOptions{})
	a.must(err)
	return metav1.NewControllerRef(made, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

// decoy makes a pod that nobody may touch.
func (a *arena) decoy(name string, labels map[string]string, controller *metav1.OwnerReference) {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[faults.DecoyLabel] = "true"
	_, err := a.cluster.Kube.CoreV1().Pods(a.namespace).Create(a.ctx, foreignPod(name, labels, controller), metav1.CreateOptions{})
	a.must(err)
}

// foreignPod is a pod that nobody here has made, with a controller or none.
func foreignPod(name string, labels map[string]string, controller *metav1.OwnerReference) *corev1.Pod {
	template := ownerOptions{}.template(labels)
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name = name
	if controller != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	return pod
}

// expectNamesTaken wants our controller to tell that names are taken: in the message of Ready, and by an event each.
func (a *arena) expectNamesTaken(names ...string) {
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second) // events are sent in the background
	defer cancel()
	for {
		silence := a.silenceAbout(names)
		if silence == "" {
			return
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			a.violate(faults.Violation{Invariant: "I3", Object: "web", What: silence})
			return
		}
	}
}

// silenceAbout tells where it does not say that names are taken.
func (a *arena) silenceAbout(names []string) string {
	owners, err := a.contender.owners(a.ctx, a.namespace)
	a.must(err)
	hint := fmt.Sprintf("the pod %s and %d more are somebody else's", names[0], len(names)-1)
	if len(owners) != 1 || !strings.Contains(owners[0].says, hint) {
		return fmt.Sprintf("the status does not say that %s; it says: %v", hint, owners)
	}
	events, err := a.cluster.Kube.EventsV1().Events(a.namespace).List(a.ctx, metav1.ListOptions{FieldSelector: "reason=" + v1.EventNameTaken})
	a.must(err)
	notes := ""
	for _, event := range events.Items {
		notes += event.Note + "\n"
	}
	for _, name := range names {
		if !strings.Contains(notes, "Pod "+name+" is somebody else's") {
			return fmt.Sprintf("there is no event %s about pod %s; there are:\n%s", v1.EventNameTaken, name, notes)
		}
	}
	return ""
}
