package scenarios

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// banTime is how long a ban lasts. mostBanned is the largest number of writes in that time, without events, mostBannedLater the largest
	// number in its second half: the time between two tries has to grow. (On a busy machine it is long in any case.)
	banTime          = 15 * time.Second
	mostBanned       = 60
	mostBannedLater  = 15
	mostBannedEvents = 10
	// banOver is how soon everything must be done after the ban.
	banOver  = time.Minute
	banWords = "not before noon"
)

// ban is a policy that refuses the controller one kind of request.
type ban struct {
	name string
	// group, resource and operation are those of the ValidatingAdmissionPolicy; attempt makes such a request as a dry run.
	group, resource, operation string
	attempt                    func(ctx context.Context, kube kubernetes.Interface, pod corev1.Pod) error
	// before is how many pods there are before the ban; do changes what is wanted during the ban.
	before  int
	options arena.OwnerOptions
	do      func(a scene, name string)
	// anyone tells that the ReplicaSet controller makes such requests, too.
	anyone bool
}

func bans() []ban {
	inPlace := arena.OwnerOptions{Spec: func(spec *v1.PodManagerSpec) {
		spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{PodUpdatePolicy: v1.InPlaceIfPossible, InPlaceGracePeriodSeconds: 1}
	}}
	update := func(a scene, name string) { a.Update(name, "nginx:1.28") }
	dryRun := []string{metav1.DryRunAll}
	patch := func(subresources ...string) func(ctx context.Context, kube kubernetes.Interface, pod corev1.Pod) error {
		return func(ctx context.Context, kube kubernetes.Interface, pod corev1.Pod) error {
			_, err := kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"try":"it"}}}`),
				metav1.PatchOptions{DryRun: dryRun}, subresources...)
			return err
		}
	}
	return []ban{
		{name: "delete", resource: "pods", operation: "DELETE", before: 4, anyone: true,
			attempt: func(ctx context.Context, kube kubernetes.Interface, pod corev1.Pod) error {
				return kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{DryRun: dryRun})
			},
			do: func(a scene, name string) { a.Scale(name, 1) }},
		{name: "revision", group: "apps", resource: "controllerrevisions", operation: "CREATE", before: 3,
			attempt: func(ctx context.Context, kube kubernetes.Interface, pod corev1.Pod) error {
				revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "try"}, Data: runtime.RawExtension{Raw: []byte("{}")}, Revision: 1}
				_, err := kube.AppsV1().ControllerRevisions(pod.Namespace).Create(ctx, revision, metav1.CreateOptions{DryRun: dryRun})
				return err
			},
			do: update},
		{name: "gate", resource: "pods/status", operation: "UPDATE", before: 3, options: inPlace, attempt: patch("status"), do: update},
		{name: "patch", resource: "pods", operation: "UPDATE", before: 3, options: inPlace, attempt: patch(), do: update},
	}
}

// refusedThenAllowed lets a policy refuse one kind of request to the controller for a while. The controller tells about it, tries again,
// but not all the time, and does what is wanted within a minute after the ban.
func refusedThenAllowed(a scene) {
	var parts []func()
	for _, b := range bans() {
		if !b.anyone && !a.Contender.Updates() {
			continue
		}
		parts = append(parts, func() {
			part := a.branch(b.name)
			defer part.Close()
			part.banAndLift(b)
		})
	}
	a.InParallel(parts...)
}

func (a scene) banAndLift(b ban) {
	a.Blind = banTime + banOver
	a.Start()
	a.Create("web", b.before, b.options)
	a.awaitCalm()
	lift := a.imposeBan(b)
	defer lift()
	log, began := a.AuditFromNow(), time.Now()
	b.do(a, "web")
	if a.Contender.Updates() { // a ReplicaSet has no condition about deletes
		a.expect("I5", b.name+" told", "a condition or an event with the refusal", toldTime, func() (string, bool) {
			said := a.said("web")
			return said, strings.Contains(said, banWords)
		})
	}
	lab.Pause(a.Ctx, time.Until(began.Add(banTime/2)))
	later := a.AuditFromNow()
	lab.Pause(a.Ctx, time.Until(began.Add(banTime)))
	a.boundBanned(b.name+" in all", log, mostBanned)
	a.boundBanned(b.name+" in the second half", later, mostBannedLater)
	lift()
	lifted := time.Now()
	problems := a.AwaitSettled(banOver)
	for _, problem := range problems {
		problem.What = fmt.Sprintf("%s: not done %v after the ban: %s", b.name, banOver, problem.What)
		a.Violate(problem)
	}
	if len(problems) == 0 {
		a.Run.Converged(time.Since(lifted))
		a.Logf("%s: done %v after the ban", b.name, time.Since(lifted).Round(time.Millisecond))
	}
	a.expect("I5", b.name+" over", "ReplicaFailure to be gone", 5*time.Second, func() (string, bool) {
		message := a.condition("web", v1.ConditionReplicaFailure)
		return message, message == ""
	})
	a.StayQuiet()
	a.Judge()
}

// imposeBan makes the policy, and waits until it is in force.
func (a scene) imposeBan(b ban) (lift func()) {
	lift = a.imposeDenial(denial{group: b.group, operation: b.operation, resource: b.resource,
		who: fmt.Sprintf("request.userInfo.username == '%s'", a.Contender.User()), words: banWords})
	config := rest.CopyConfig(a.Cluster.Config)
	config.Impersonate.UserName = a.Contender.User()
	kube, err := kubernetes.NewForConfig(config)
	a.Must(err)
	pod := a.Pods()[0]
	a.Await("the policy to be in force", func() (string, bool) {
		err := b.attempt(a.Ctx, kube, pod)
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), banWords)
	})
	return lift
}

// said is the text of an owner's conditions and events.
func (a scene) said(name string) string {
	said := slices.Collect(maps.Values(a.conditions(name)))
	events, err := a.Cluster.Kube.EventsV1().Events(a.Namespace).List(a.Ctx, metav1.ListOptions{})
	a.Must(err)
	for _, event := range events.Items {
		said = append(said, event.Note)
	}
	return strings.Join(said, "\n")
}

// boundBanned checks how often the controller has written during the ban, since a time.
func (a scene) boundBanned(when string, since *audit.Log, most int) {
	all := a.NextWrites(since)
	writes := slices.DeleteFunc(slices.Clone(all), func(r audit.Request) bool { return r.ObjectRef.Resource == "events" })
	events := len(all) - len(writes)
	a.Logf("%s: %d writes, and %d writes of events, during the ban", when, len(writes), events)
	if len(writes) > most {
		a.Violate(faults.Violation{Invariant: "I3", Object: when + " writes",
			What: fmt.Sprintf("%s: %d writes during the ban, more than %d; the last was %v", when, len(writes), most, writes[len(writes)-1])})
	}
	if events > mostBannedEvents {
		a.Violate(faults.Violation{Invariant: "I3", Object: when + " events",
			What: fmt.Sprintf("%s: %d writes of events during the ban, more than %d", when, events, mostBannedEvents)})
	}
}
