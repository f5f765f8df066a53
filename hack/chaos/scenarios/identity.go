package scenarios

import (
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// uidReuse replaces an object by another of the same name while the controller cannot see it. The pods of the first object do not belong
// to the second, whatever their names are.
func uidReuse(a scene) {
	rounds := 6
	if a.Short {
		rounds = 2
	}
	a.Start()
	a.Create("web", 5, arena.OwnerOptions{})
	for range rounds {
		a.awaitCalm()
		held := a.holdSome()
		see := a.blindfold()
		a.replace("web", a.Random.IntN(9))
		lab.Pause(a.Ctx, time.Duration(a.Random.IntN(3000))*time.Millisecond)
		see()
		if len(held) > 0 { // for a while there are pods of both objects
			lab.Pause(a.Ctx, time.Duration(a.Random.IntN(2000))*time.Millisecond)
			a.letGo(held)
		}
	}
	a.Settle()
	a.Judge()
}

// blindfold stalls the watches of owners or pods or both, or kills the controller, and returns the function that ends this.
func (a scene) blindfold() (see func()) {
	if a.Random.IntN(4) == 0 {
		a.Kill()
		return func() { a.Start() }
	}
	resources := [][]string{{a.Contender.Resource()}, {"pods"}, {a.Contender.Resource(), "pods"}}[a.Random.IntN(3)]
	watches := a.anyOf(resources...)
	stall := a.Proxy.Stall(watches)
	a.Logf("the watches of %s stand still", strings.Join(resources, " and "))
	return func() { a.endStall(stall, watches) }
}

// replace deletes an object and creates another of the same name. If a finalizer keeps the object, as for a PodManager with a pace whose
// controller does not see the deletion, replace removes the finalizer by force. The garbage collector then deletes the pods.
func (a scene) replace(name string, replicas int) {
	before := a.Wants()[name]
	a.Remove(name)
	forceFrom := time.Now().Add(time.Duration(a.Random.IntN(2000)) * time.Millisecond)
	a.Await(name+" to be gone", func() (string, bool) {
		owners, err := a.Contender.Owners(a.Ctx, a.Namespace)
		if err != nil {
			return err.Error(), false
		}
		if len(owners) > 0 && time.Now().After(forceFrom) {
			a.Insist(func() error { return a.Contender.Patch(a.Ctx, a.Namespace, name, `{"metadata":{"finalizers":null}}`) })
			a.Logf("removed the finalizers of %s by force", name)
		}
		return fmt.Sprint(owners), len(owners) == 0
	})
	image := before.Image
	if a.Random.IntN(2) == 0 {
		image = "nginx:1.28"
	}
	options := arena.OwnerOptions{Image: image}
	if a.People.IntN(2) == 0 { // a finalizer will delay the next deletion
		options.Spec = arena.Paced
	}
	a.Create(name, replicas, options)
}

// holdFinalizer keeps a pod terminating.
const holdFinalizer = "chaos.mycompany.com/hold"

// holdSome makes some pods stay terminating for long, as on a slow or dead node.
func (a scene) holdSome() (held []string) {
	for _, pod := range a.Pods() {
		if a.Random.IntN(4) == 0 {
			a.setFinalizers(pod.Name, fmt.Sprintf("[%q]", holdFinalizer))
			held = append(held, pod.Name)
		}
	}
	a.Logf("held pods: %v", held)
	return held
}

func (a scene) letGo(pods []string) {
	for _, name := range pods {
		a.setFinalizers(name, "null")
	}
	a.Logf("let the held pods go")
}

func (a scene) setFinalizers(pod, finalizers string) {
	patch := fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, finalizers)
	a.Insist(func() error {
		_, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).Patch(a.Ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

// foreignName creates pods of somebody else, which the oracle guards, with names that a PodManager would use, and with the labels by
// which a controller finds its pods. All of them have a controller: without one, they would be adopted.
func foreignName(a scene) {
	a.Start()
	other := a.stranger()
	label := map[string]string{a.Contender.SelectorLabel(): "web"}
	a.decoy("web-0", nil, nil)
	a.decoy("web-2", nil, other)
	a.decoy("web-3", label, other)
	a.decoy("web-old", label, other)
	a.Await("the decoys to run, after which nobody has a reason to change them", func() (string, bool) {
		ready := 0
		for _, pod := range a.Pods() {
			if arena.IsReady(&pod) {
				ready++
			}
		}
		return fmt.Sprint(ready), ready == 4
	})
	a.Create("web", 5, arena.OwnerOptions{})
	a.awaitCalm()
	if a.Contender.Name() == arena.OurName {
		a.expectNamesTaken("web-0", "web-2", "web-3")
	}
	steps := 10
	if a.Short {
		steps = 4
	}
	for range steps {
		switch a.Random.IntN(6) {
		case 0:
			a.Restart()
		case 1:
			pods := a.Pods()
			if pod := pods[a.Random.IntN(len(pods))]; pod.Labels[faults.DecoyLabel] == "" && metav1.GetControllerOf(&pod) != nil {
				a.DeletePod(pod.Name)
			}
		default:
			a.Scale("web", a.Random.IntN(9))
		}
		if a.Random.IntN(2) == 0 {
			a.awaitCalm()
		}
	}
	a.Settle()
	a.Judge()
}

// stranger is the controller of foreign pods. It exists: otherwise the garbage collector would delete the pods.
func (a scene) stranger() *metav1.OwnerReference {
	made, err := a.Cluster.Kube.CoreV1().ConfigMaps(a.Namespace).Create(a.Ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}}, metav1.CreateOptions{})
	a.Must(err)
	return metav1.NewControllerRef(made, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

// decoy creates a pod that nobody may touch.
func (a scene) decoy(name string, labels map[string]string, controller *metav1.OwnerReference) {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[faults.DecoyLabel] = "true"
	_, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).Create(a.Ctx, foreignPod(name, labels, controller), metav1.CreateOptions{})
	a.Must(err)
}

// foreignPod is a pod of somebody else, with a controller or without.
func foreignPod(name string, labels map[string]string, controller *metav1.OwnerReference) *corev1.Pod {
	template := arena.OwnerOptions{}.Template(labels)
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name = name
	if controller != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	return pod
}

// expectNamesTaken checks that our controller tells about taken names: in the message of Ready, and by an event for each name.
func (a scene) expectNamesTaken(names ...string) {
	const limit = 10 * time.Second // the controller sends events in the background
	for began := time.Now(); ; {
		silence := a.silenceAbout(names)
		if silence == "" {
			return
		}
		if a.IsOver(began, limit) || !lab.Pause(a.Ctx, 100*time.Millisecond) {
			a.Violate(faults.Violation{Invariant: "I3", Object: "web", What: silence})
			return
		}
	}
}

// silenceAbout tells where our controller does not tell about taken names.
func (a scene) silenceAbout(names []string) string {
	owners, err := a.Contender.Owners(a.Ctx, a.Namespace)
	a.Must(err)
	hint := fmt.Sprintf("the pod %s and %d more are somebody else's", names[0], len(names)-1)
	if len(owners) != 1 || !strings.Contains(owners[0].Says, hint) {
		return fmt.Sprintf("the status does not say that %s; it says: %v", hint, owners)
	}
	events, err := a.Cluster.Kube.EventsV1().Events(a.Namespace).List(a.Ctx, metav1.ListOptions{FieldSelector: "reason=" + v1.EventNameTaken})
	a.Must(err)
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
