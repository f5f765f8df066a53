//go:build e2e

package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// subject is a PodManager that the test brings into a state and out of it.
type subject struct {
	*harness.Space
	name string
	state
	// pods are its pods in that state, by name.
	pods map[string]types.UID
	// generation is the generation of its last change. The witness may not have seen it yet.
	generation int64
}

// view is a PodManager and its pods at a time.
type view struct {
	manager *v1.PodManager // nil if it is gone
	pods    []*corev1.Pod
}

// course is the steps that a subject goes through.
type course struct {
	*subject
	steps []step
}

// ownerOf returns the name of the PodManager that an object belongs to. It goes by the object's name, because labels and references are under test.
func ownerOf(kind, name string) string {
	if kind != v1.Kind {
		name = name[:max(0, strings.LastIndexByte(name, '-'))] // an index, or a hash
	}
	return name
}

// travel takes all subjects through their steps, in parallel.
func (f *fleet) travel(all ...[]course) {
	f.T.Helper()
	courses := slices.Concat(all...)
	for i := 0; ; i++ {
		var under []course
		for _, each := range courses {
			if i < len(each.steps) {
				under = append(under, each)
				each.change(each.steps[i].spec)
			}
		}
		if len(under) == 0 {
			return
		}
		harness.Await(f.T, fmt.Sprintf("all PodManagers to take step %d", i+1), func() (any, bool) {
			views, waiting := f.views(), []string{}
			for _, each := range under {
				if step := each.steps[i]; !each.try(step, views[each.key()]) {
					waiting = append(waiting, each.key()+": "+views[each.key()].String())
				}
			}
			return strings.Join(waiting, "\n"), len(waiting) == 0
		})
	}
}

// try reports whether a step is done, and otherwise continues it.
func (s *subject) try(step step, v view) bool {
	s.T.Helper()
	if v.manager != nil && v.manager.Generation < s.generation {
		return false
	}
	if step.done(v) {
		return true
	}
	if step.do != nil {
		if err := step.do(s.Ctx, s, v.pods); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			s.T.Fatalf("%s: %v", s.key(), err)
		}
	}
	return false
}

func (s *subject) key() string { return s.Name + "/" + s.name }

func (v view) String() string {
	if v.manager == nil {
		return fmt.Sprintf("gone, with %d pods left", len(v.pods))
	}
	text := harness.Brief(v.manager)
	for _, pod := range v.pods {
		text += fmt.Sprintf(", pod %s with %s", pod.Name, pod.Spec.Containers[0].Image)
	}
	return text
}

// views returns all PodManagers with their pods, as the witness has last seen them.
func (w *witness) views() map[string]view {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]view{}
	for _, manager := range w.managers {
		found[manager.Namespace+"/"+manager.Name] = view{manager: manager}
	}
	for _, pod := range w.pods {
		key := pod.Namespace + "/" + ownerOf(pod.Kind, pod.Name)
		v := found[key]
		v.pods = append(v.pods, pod)
		found[key] = v
	}
	return found
}

// change changes the spec, or creates the PodManager if it does not exist.
func (s *subject) change(spec string) {
	s.T.Helper()
	if spec == "" {
		return
	}
	data, err := yaml.YAMLToJSON([]byte("spec: " + spec))
	if err != nil {
		s.T.Fatal(err)
	}
	client := s.Cluster.Managers.AppsV1().PodManagers(s.Name)
	manager, err := client.Patch(s.Ctx, s.name, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		manager = &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
		if err = json.Unmarshal(data, manager); err == nil {
			manager, err = client.Create(s.Ctx, manager, metav1.CreateOptions{})
		}
	}
	if err != nil {
		s.T.Fatalf("%s: %v", s.key(), err)
	}
	s.generation = manager.Generation
}

// openGates opens the readiness gates of all pods.
func openGates(ctx context.Context, s *subject, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if conditionOf(pod, goGate) == corev1.ConditionTrue {
			continue
		}
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":"True"}]}}`, goGate)
		if err := s.patchPod(ctx, pod, patch, "status"); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom lets the nodes resize the pods.
func makeRoom(ctx context.Context, s *subject, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if pod.Annotations[roomless] == "" {
			continue
		}
		if err := s.patchPod(ctx, pod, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, roomless)); err != nil {
			return err
		}
	}
	return nil
}

// releasePods removes the finalizer of terminating pods.
func releasePods(ctx context.Context, s *subject, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil || !slices.Contains(pod.Finalizers, holder) {
			continue
		}
		if err := s.patchPod(ctx, pod, `{"metadata":{"finalizers":null}}`); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) patchPod(ctx context.Context, pod *corev1.Pod, patch string, subresources ...string) error {
	_, err := s.Cluster.Kube.CoreV1().Pods(s.Name).Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// remove deletes the PodManager.
func remove(ctx context.Context, s *subject, _ []*corev1.Pod) error {
	return s.Cluster.Managers.AppsV1().PodManagers(s.Name).Delete(ctx, s.name, metav1.DeleteOptions{})
}
