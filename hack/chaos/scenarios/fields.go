package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/chaos/fields"
	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// fieldWorkers is the number of objects that get values concurrently.
	fieldWorkers = 6
	// trialLimit is how long one value may take, and how long the reversal.
	trialLimit = 30 * time.Second
	trialImage = "nginx:1.28"
)

// everyField sets every field of the spec, according to the schema that the API server serves, to valid and invalid values. The API server must
// refuse invalid values with a message that names the field. The controller must carry out valid values, or the status must report why it does not.
// Then the original spec is restored, and the controller must carry it out.
func everyField(a scene) {
	a.Start()
	trials := fields.Trials(a.specSchema())
	a.Random.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
	queue := make(chan fields.Trial, len(trials))
	var greedy, short []fields.Trial
	for _, t := range trials {
		switch {
		case t.IsGreedy():
			greedy = append(greedy, t)
		case t.IsShort():
			short = append(short, t)
		default:
			queue <- t
		}
	}
	close(queue)
	var parts []func()
	for i := range fieldWorkers {
		name := fmt.Sprintf("field-%d", i)
		a.Create(name, 2, testenv.OwnerOptions{})
		parts = append(parts, func() {
			for t := range queue {
				a.try(name, t)
			}
		})
	}
	a.Create("short", 2, testenv.OwnerOptions{Spec: func(spec *v1.PodManagerSpec) { spec.Image, spec.Template = testenv.DefaultImage, nil }})
	a.awaitCalm()
	a.InParallel(append(parts, func() {
		for _, t := range short {
			a.try("short", t)
		}
	})...)
	a.awaitCalm()
	a.imposeQuota(20) // the other objects have all their pods by now
	for _, t := range greedy {
		a.try("field-0", t)
	}
	a.Logf("%d values were tried", len(trials))
	a.Settle()
	a.Judge()
}

// imposeQuota limits the number of pods in the namespace.
func (a scene) imposeQuota(pods int) {
	_, err := a.Cluster.Kubectl(a.Ctx, "create", "quota", "few", "--namespace", a.Namespace, fmt.Sprint("--hard=pods=", pods))
	a.Must(err)
	a.Await("the quota to be in force", func() (string, bool) {
		out, err := a.Cluster.Kubectl(a.Ctx, "get", "quota", "few", "--namespace", a.Namespace, "-o", "jsonpath={.status.hard.pods}")
		return out, err == nil && out == fmt.Sprint(pods)
	})
}

// specSchema returns the schema of the spec that the API server serves.
func (a scene) specSchema() map[string]any {
	out, err := a.Cluster.Kubectl(a.Ctx, "get", "crd", v1.Resource("podmanagers").String(), "-o", "json")
	a.Must(err)
	var crd map[string]any
	a.Must(json.Unmarshal([]byte(out), &crd))
	versions, _ := descend(crd, "spec")["versions"].([]any)
	schema := descend(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec")
	if len(descend(schema, "properties")) == 0 {
		a.Must(errors.New("the CRD has no schema for spec"))
	}
	return schema
}

// descend returns the object at a path of fields.
func descend(object map[string]any, path ...string) map[string]any {
	for _, field := range path {
		object, _ = object[field].(map[string]any)
	}
	return object
}

func (a scene) wrongValue(invariant string, t fields.Trial, format string, arguments ...any) {
	a.Violate(faults.Violation{Invariant: invariant, Object: t.String(), What: t.String() + " " + fmt.Sprintf(format, arguments...)})
}

// try sets a value in an object, checks the result, and restores the spec.
func (a scene) try(name string, t fields.Trial) {
	managers := a.Cluster.Managers.AppsV1().PodManagers(a.Namespace)
	if t.Refused {
		_, err := managers.Patch(a.Ctx, name, types.MergePatchType, []byte(t.Patch(trialImage)), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		a.checkRefusal(t, err)
		return
	}
	first, err := managers.Get(a.Ctx, name, metav1.GetOptions{})
	a.Must(err)
	began := time.Now()
	if err := a.Contender.Patch(a.Ctx, a.Namespace, name, t.Patch(trialImage)); err != nil {
		a.wrongValue("I3", t, "is allowed by the schema, but refused: %v", err)
		return
	}
	a.awaitVerdict(name, t, t.Held)
	took := time.Since(began)
	a.Insist(func() error {
		live, err := managers.Get(a.Ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		live.Spec = first.Spec
		_, err = managers.Update(a.Ctx, live, metav1.UpdateOptions{})
		return err
	})
	back := time.Now()
	if a.awaitVerdict(name, t, nil) {
		a.Run.Converged(time.Since(back))
	}
	a.Logf("%s: the value %v took %v, the reversal %v", name, t, took.Round(time.Millisecond), time.Since(back).Round(time.Millisecond))
}

// checkRefusal checks the API server's message about an invalid value.
func (a scene) checkRefusal(t fields.Trial, err error) {
	switch word := t.Word(); {
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		a.wrongValue("I3", t, "is not allowed by the schema, but not refused: %v", err)
	case !strings.Contains(err.Error(), word):
		a.wrongValue("I3", t, "is refused with a message that does not contain %s: %v", word, err)
	}
}

// awaitVerdict waits until the status reflects the current spec, and the spec is either carried out or blocked for one of the given reasons.
func (a scene) awaitVerdict(name string, t fields.Trial, held []string) bool {
	what, ctx := "Ready", a.Ctx
	if len(held) > 0 {
		what = "Ready to be False because of " + strings.Join(held, " or ")
	}
	return a.expect("I5", name+" "+t.String(), what, trialLimit, func() (string, bool) {
		m, err := a.Cluster.Managers.AppsV1().PodManagers(a.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		ready := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionReady)
		seen := fmt.Sprintf("generation %d, status of %d: %d pods, %d ready; Ready: %+v",
			m.Generation, m.Status.ObservedGeneration, m.Status.Replicas, m.Status.ReadyReplicas, ready)
		switch {
		case m.Status.ObservedGeneration != m.Generation || ready == nil || ready.ObservedGeneration != m.Generation:
			return seen, false
		case len(held) > 0:
			isHeld := ready.Status == metav1.ConditionFalse
			return seen, isHeld && slices.Contains(held, ready.Reason) && ready.Message != ""
		default:
			active, isTrue := a.isCarriedOut(ctx, m)
			return fmt.Sprintf("%s; there are %d active pods", seen, active), ready.Status == metav1.ConditionTrue && isTrue
		}
	})
}

// isCarriedOut reports whether there are as many pods as wanted, all ready, and whether the status has counted them.
func (a scene) isCarriedOut(ctx context.Context, m *v1.PodManager) (active int, isTrue bool) {
	list, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).List(ctx, metav1.ListOptions{LabelSelector: v1.LabelManager + "=" + m.Name})
	if err != nil {
		return 0, false
	}
	ready := 0
	for _, pod := range list.Items {
		if metav1.IsControlledBy(&pod, m) && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed {
			active++
			if testenv.IsReady(&pod) {
				ready++
			}
		}
	}
	return active, active == m.DesiredReplicas() && ready == active && int(m.Status.Replicas) == active && int(m.Status.ReadyReplicas) == ready
}
