package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/dice"
	"github.com/mycompany/podmanager/pkg/world/users"
)

// user owns one PodManager.
type user struct {
	c               *Cluster
	namespace, name string
	dice            dice.Dice
	user            *users.User
	// leaving are the dice for the user's rules about pods that leave their nodes; nil if no node of the cluster has an outage.
	leaving *dice.Dice
	rules   *v1.Disruption
	// isDone is set when the user has deleted the PodManager for good.
	isDone bool
}

func (c *Cluster) newUser(index int) *user {
	name := fmt.Sprintf("web-%d", index)
	d := dice.Dice{Rand: rand.New(rand.NewPCG(c.seed, hashOf(name)))}
	u := &user{c: c, namespace: namespaces[index%len(namespaces)], name: name, dice: d}
	if c.outages != nil {
		u.leaving = ptr.To(dice.New(c.seed ^ hashOf(name+" leaving")))
		u.rules = randomDisruption(*u.leaving)
	}
	u.user = users.New(d, func(format string, arguments ...any) { c.story.tell(name+": "+format, arguments...) })
	return u
}

// create creates the PodManager.
func (u *user) create() {
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: u.name, Namespace: u.namespace}}
	u.user.Create(manager)
	u.bound(manager)
	u.c.story.tell("%s: created with %s", u.name, users.Describe(manager))
	_, err := u.c.managers.AppsV1().PodManagers(u.namespace).Create(u.c.ctx, manager, metav1.CreateOptions{})
	u.note("create", err)
}

// bound limits the replicas, which keeps the simulation small, and sets the rules about pods that leave their nodes.
func (u *user) bound(manager *v1.PodManager) {
	manager.Spec.Replicas = ptr.To(min(*manager.Spec.Replicas, 10))
	if u.leaving != nil && u.leaving.Chance(0.2) {
		u.rules = randomDisruption(*u.leaving)
		text, _ := json.Marshal(u.rules)
		u.c.story.tell("%s: disruption %s", u.name, text)
	}
	manager.Spec.Disruption = u.rules
}

func (u *user) note(what string, err error) {
	if err != nil && u.c.ctx.Err() == nil {
		u.c.story.tell("%s: cannot %s: %v", u.name, what, err)
	}
}

// live acts from time to time until the deadline.
func (u *user) live(deadline time.Time, every time.Duration) {
	for pause(u.c.ctx, upTo(u.dice, 2*every)) && time.Now().Before(deadline) && !u.c.judge.isBroken() {
		u.act()
	}
}

func (u *user) act() {
	manager, err := u.c.managers.AppsV1().PodManagers(u.namespace).Get(u.c.ctx, u.name, metav1.GetOptions{})
	switch what := u.dice.IntN(40); {
	case apierrors.IsNotFound(err):
		u.create()
	case err != nil: // the object cannot be decoded
		u.repair()
	case manager.DeletionTimestamp != nil:
	case what < 3:
		u.delete()
	case what == 3:
		u.spoil()
	case what < 8:
		u.disturbPod(what)
	case what == 8:
		u.pester()
	default:
		u.edit(func(m *v1.PodManager) { u.user.Edit(m, time.Now()) })
	}
}

// edit changes the PodManager, and retries on conflicts.
func (u *user) edit(change func(*v1.PodManager)) {
	client := u.c.managers.AppsV1().PodManagers(u.namespace)
	for range 20 {
		manager, err := client.Get(u.c.ctx, u.name, metav1.GetOptions{})
		if err != nil {
			u.note("edit", err)
			return
		}
		change(manager)
		u.bound(manager)
		if _, err = client.Update(u.c.ctx, manager, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			u.note("edit", err)
			return
		}
	}
}

func (u *user) delete() {
	policy := dice.Pick(u.dice, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)
	u.deleteWith(policy)
	if policy == metav1.DeletePropagationOrphan && u.dice.Chance(0.5) {
		pause(u.c.ctx, upTo(u.dice, 5*time.Second))
		u.handOver()
	}
	if u.dice.Chance(0.5) {
		pause(u.c.ctx, upTo(u.dice, 20*time.Second))
		u.create()
	}
	if u.dice.Chance(0.2) { // delete it a second time
		pause(u.c.ctx, upTo(u.dice, 3*time.Second))
		u.deleteWith(dice.Pick(u.dice, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan))
	}
}

func (u *user) deleteWith(policy metav1.DeletionPropagation) {
	u.c.story.tell("%s: deleted, %s", u.name, policy)
	u.note("delete", u.c.managers.AppsV1().PodManagers(u.namespace).Delete(u.c.ctx, u.name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

// pester lets another client write to the PodManager continuously, as a controller that stamps objects would, while the user scales it.
func (u *user) pester() {
	u.c.story.tell("%s: another client writes to the PodManager ten times a second", u.name)
	for i := range 200 {
		u.patch(fmt.Sprintf(`{"metadata":{"annotations":{"stamp":"%d"}}}`, i))
		if i == 50 {
			u.edit(func(m *v1.PodManager) { *m.Spec.Replicas++ })
		}
		if !pause(u.c.ctx, 100*time.Millisecond) {
			return
		}
	}
}

// spoil writes a value that the CRD admits but the Go type cannot hold.
func (u *user) spoil() {
	u.c.story.tell("%s: cannot be decoded any more", u.name)
	u.patch(dice.Pick(u.dice, `{"spec":{"template":{"spec":{"overhead":{"cpu":"1e1.5"}}}}}`, `{"spec":{"template":{"spec":{"priority":3000000000}}}}`))
}

// repair reverts spoil, or deletes the object.
func (u *user) repair() {
	if u.dice.Chance(0.3) {
		u.deleteWith(metav1.DeletePropagationBackground)
		return
	}
	u.c.story.tell("%s: can be decoded again", u.name)
	u.patch(`{"spec":{"template":{"spec":{"overhead":null,"priority":null}}}}`)
}

// patch sends a merge patch without decoding the object.
func (u *user) patch(patch string) {
	_, err := u.c.graph.Resource(podManagers).Namespace(u.namespace).Patch(u.c.ctx, u.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	u.note("patch", err)
}

// handOver relabels an orphan for the PodManager of another user.
func (u *user) handOver() {
	other := u.c.users[u.dice.IntN(len(u.c.users))]
	for _, pod := range u.pods() {
		if len(pod.OwnerReferences) == 0 && other.namespace == u.namespace {
			u.c.story.tell("%s: the orphan %s is given to %s", u.name, pod.Name, other.name)
			_, err := u.c.kube.CoreV1().Pods(u.namespace).Patch(u.c.ctx, pod.Name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, v1.LabelManager, other.name), metav1.PatchOptions{})
			u.note("hand over", err)
			return
		}
	}
}

// pods returns the pods with the label of the PodManager.
func (u *user) pods() []corev1.Pod {
	list, err := u.c.kube.CoreV1().Pods(u.namespace).List(u.c.ctx, metav1.ListOptions{LabelSelector: v1.LabelManager + "=" + u.name})
	if err != nil {
		return nil
	}
	return list.Items
}

// disturbPod does something to one of the pods.
func (u *user) disturbPod(what int) {
	pods := u.pods()
	if len(pods) == 0 {
		return
	}
	pod := pods[u.dice.IntN(len(pods))]
	client := u.c.kube.CoreV1().Pods(u.namespace)
	var err error
	switch what {
	case 4:
		name := fmt.Sprintf("%s-%d", u.name, u.dice.IntN(10))
		u.c.story.tell("%s: another client creates an unrelated pod named %s", u.name, name)
		stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: pod.Spec.Containers}}
		_, err = client.Create(u.c.ctx, stranger, metav1.CreateOptions{})
	case 5:
		u.c.story.tell("%s: a user deletes %s", u.name, pod.Name)
		err = client.Delete(u.c.ctx, pod.Name, metav1.DeleteOptions{})
	case 6:
		marked := []corev1.Pod{pod}
		if u.dice.Chance(0.3) {
			marked = pods
		}
		for _, pod := range marked {
			u.c.story.tell("%s: a user marks %s for deletion", u.name, pod.Name)
			_, err = client.Patch(u.c.ctx, pod.Name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, v1.AnnotationDelete), metav1.PatchOptions{})
		}
	default:
		label := dice.Pick(u.dice, v1.LabelManager, v1.LabelShard)
		value := dice.Pick(u.dice, `null`, `"debug"`, `"1-of-4"`)
		u.c.story.tell("%s: a user gives %s the label %s=%s", u.name, pod.Name, label, value)
		_, err = client.Patch(u.c.ctx, pod.Name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, label, value), metav1.PatchOptions{})
	}
	u.note("change a pod", err)
}

// release edits the PodManager so that nothing prevents its rollout.
func (u *user) release() {
	switch manager, err := u.c.managers.AppsV1().PodManagers(u.namespace).Get(u.c.ctx, u.name, metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		u.create()
	case err != nil: // the object cannot be decoded
		u.deleteWith(metav1.DeletePropagationBackground)
		fallthrough
	case manager.DeletionTimestamp != nil:
		u.isDone = true
		return
	}
	u.c.story.tell("%s: a good release", u.name)
	u.edit(func(m *v1.PodManager) {
		m.Spec.Paused, m.Spec.ProgressDeadlineSeconds = false, ptr.To[int32](600)
		m.Spec.Template.Annotations = map[string]string{"note": "good"}
		for _, list := range [][]corev1.Container{m.Spec.Template.Spec.Containers, m.Spec.Template.Spec.InitContainers} {
			for i := range list {
				list[i].Image = list[i].Name + ":9"
			}
		}
		m.Spec.UpdateStrategy.Type = v1.RollingUpdateStrategy
		if m.Spec.UpdateStrategy.RollingUpdate == nil {
			m.Spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{}
		}
		rolling := m.Spec.UpdateStrategy.RollingUpdate
		rolling.Partition = nil
		if rolling.PodUpdatePolicy == v1.InPlaceOnly {
			rolling.PodUpdatePolicy = v1.InPlaceIfPossible
		}
	})
}

// crowd creates many small PodManagers in one namespace and releases them together from time to time.
func (c *Cluster) crowd(deadline time.Time) {
	client := c.managers.AppsV1().PodManagers(namespaces[0])
	for release := 1; time.Now().Before(deadline) && !c.judge.isBroken(); release++ {
		c.story.tell("the crowd: release %d", release)
		for i := range 30 {
			pause(c.ctx, 5*time.Millisecond) // a client is not infinitely fast
			manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("crowd-%d", i)}}
			manager.Spec.Replicas, manager.Spec.Image = ptr.To[int32](2), fmt.Sprintf("app:%d", release)
			if release == 1 {
				_, _ = client.Create(c.ctx, manager, metav1.CreateOptions{})
			} else {
				_, _ = client.Patch(c.ctx, manager.Name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"image":%q}}`, manager.Spec.Image), metav1.PatchOptions{})
			}
		}
		pause(c.ctx, time.Duration(1+c.seed%3)*time.Minute)
	}
}

// sorted returns the keys in order.
func sorted[T any](all map[string]T) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
