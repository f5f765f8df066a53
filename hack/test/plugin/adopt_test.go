//go:build e2e

package plugin

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// pod is the part of a pod that must not change when the pod is handed over.
type pod struct {
	name, uid, node string
	restarts        int32
	containers      string
}

// pods returns the pods that are not terminating, by name, and their controllers.
func (s *space) pods() (pods []pod, owners []string) {
	s.T.Helper()
	for _, item := range s.AllPods() {
		if item.DeletionTimestamp != nil {
			continue
		}
		is := pod{name: item.Name, uid: string(item.UID), node: item.Spec.NodeName}
		for _, status := range item.Status.ContainerStatuses {
			is.restarts += status.RestartCount
			is.containers += status.ContainerID + " "
		}
		pods = append(pods, is)
		if owner := metav1.GetControllerOf(&item); owner != nil && !slices.Contains(owners, owner.Kind+" "+owner.Name) {
			owners = append(owners, owner.Kind+" "+owner.Name)
		}
	}
	return pods, owners
}

// tryScript runs a script as the user would, with these additions to the environment.
func (s *space) tryScript(script string, environment ...string) (string, error) {
	s.T.Helper()
	file := filepath.Join(s.T.TempDir(), "handover.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		s.T.Fatal(err)
	}
	command := exec.CommandContext(s.T.Context(), "sh", file)
	command.Env = slices.Concat(os.Environ(), []string{"KUBECONFIG=" + s.kubeconfig}, environment)
	out, err := command.CombinedOutput()
	return string(out), err
}

func (s *space) runScript(script string) {
	s.T.Helper()
	if out, err := s.tryScript(script); err != nil {
		s.T.Fatalf("%v\n%s\n%s", err, out, script)
	}
}

// awaitPods waits until the pods of a workload are ready, and returns them.
func (s *space) awaitPods(kind string, count int) []pod {
	s.T.Helper()
	s.Await(fmt.Sprintf("%d ready pods", count), func() (any, bool) {
		out := s.Kubectl("get", kind, "web", "-o", "jsonpath={.status.readyReplicas}/{.status.replicas}/{.status.observedGeneration}")
		return out, strings.HasPrefix(out, fmt.Sprintf("%d/%[1]d/", count))
	})
	pods, _ := s.pods()
	return pods
}

// stayed checks that the pods are the same as before, that only the PodManager owns them, and that it is Ready.
func (s *space) stayed(before []pod) *v1.PodManager {
	s.T.Helper()
	after, owners := s.pods()
	if !slices.Equal(before, after) {
		s.T.Errorf("there were\n%+v\nthere are\n%+v", before, after)
	}
	if !slices.Equal(owners, []string{"PodManager web"}) {
		s.T.Errorf("the pods are owned by %v", owners)
	}
	manager := s.Manager("web")
	if !meta.IsStatusConditionTrue(manager.Status.Conditions, v1.ConditionReady) || int(manager.Status.UpdatedReplicas) != len(before) || manager.Spec.Paused {
		s.T.Errorf("the PodManager is %+v, %+v", manager.Spec, manager.Status)
	}
	return manager
}

// A Deployment with 3 pods is converted. The same 3 pods now belong to a PodManager, and nothing else is left of the Deployment.
func TestAdoptDeployment(t *testing.T) {
	s := newSpace(t)
	s.Apply(workloads["Deployment"])
	s.Apply(autoscaler)
	before := s.awaitPods("deployment", 3)
	s.Await("the rollout to be complete", func() (any, bool) {
		got := s.try("convert", "deployment/web", "--adopt")
		return got, got.code == 0
	})
	script := s.pm("convert", "deployment/web", "--adopt")
	s.runScript(script)
	s.stayed(before)
	if left := s.Kubectl("get", "deployments,replicasets", "-o", "name"); left != "" {
		t.Errorf("left over: %s", left)
	}
	if target := s.Kubectl("get", "hpa", "scaler", "-o", "jsonpath={.spec.scaleTargetRef.kind} {.spec.scaleTargetRef.name}"); target != "PodManager web" {
		t.Errorf("the autoscaler scales %s", target)
	}
	s.runScript(script) // it changes nothing any more
	s.stayed(before)

	// The adopted pods are pods of the current revision: a scale-up leaves them alone, and a change of the image replaces all of them.
	s.pm("scale", "web", "--replicas", "4")
	s.pm("status", "web", "--timeout", "1m", "--until-available")
	after, _ := s.pods()
	if kept := slices.DeleteFunc(after, func(p pod) bool { return p.name == "web-0" }); !slices.Equal(kept, before) {
		t.Errorf("after the scale-up there are %+v", after)
	}
	s.pm("set", "image", "web", "app=app:2")
	s.pm("status", "web", "--timeout", "1m", "--until-available")
	s.Await("all pods to be replaced", func() (any, bool) {
		pods, _ := s.pods()
		return pods, len(pods) == 4 && !slices.ContainsFunc(pods, func(p pod) bool { return slices.Contains(before, p) })
	})

	// After this release, the script neither brings back the old template nor says that the pods are of the old revision.
	released, labelled := s.Manager("web"), s.Pods()
	out, err := s.tryScript(script)
	if err != nil || out != "PodManager web has the pods of Deployment web already: nothing was changed\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if after := s.Manager("web"); after.Generation != released.Generation || after.Spec.Paused {
		t.Errorf("the PodManager was changed: %+v", after.Spec)
	}
	for i, pod := range s.Pods() {
		if !maps.Equal(pod.Labels, labelled[i].Labels) {
			t.Errorf("the labels of %s were %v, and are %v", pod.Name, labelled[i].Labels, pod.Labels)
		}
	}
}

// cutOff is a kubectl that ends with an error the first time that it is given some arguments, after the API server has done what they ask.
const cutOff = `#!/bin/sh
kubectl "$@" || exit
mark=$0-$(echo "$*" | cksum | cut -d' ' -f1)
[ -e "$mark" ] || { touch "$mark" && exit 1; }
`

// A script that is cut off after each of its requests continues when it is run again. If the PodManager is given a new image in the meantime, the
// pods stay of the old revision, and the rollout begins when the handover is complete.
func TestAdoptInterrupted(t *testing.T) {
	s := newSpace(t)
	s.Apply(workloads["Deployment"])
	before := s.awaitPods("deployment", 3)
	kubectl, script, runs, isReleased := filepath.Join(t.TempDir(), "kubectl"), "", 0, false
	if err := os.WriteFile(kubectl, []byte(cutOff), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Await("the rollout to be complete", func() (any, bool) {
		got := s.try("convert", "deployment/web", "--adopt")
		script = got.out
		return got, got.code == 0
	})
	s.Await("a run to succeed", func() (any, bool) {
		runs++
		out, err := s.tryScript(script, "KUBECTL="+kubectl)
		if isGone := s.Kubectl("get", "deployments,replicasets", "-o", "name") == ""; isGone && !isReleased {
			pods, _ := s.pods()
			isReleased = true
			if !slices.Equal(pods, before) || !s.Manager("web").Spec.Paused {
				t.Errorf("after run %d there are\n%+v\nand %+v", runs, pods, s.Manager("web").Spec)
			}
			s.pm("set", "image", "web", "app=app:2")
		}
		return out, err == nil
	})
	if runs < 8 {
		t.Errorf("%d runs", runs)
	}
	s.pm("status", "web", "--timeout", "1m", "--until-available")
	for _, pod := range s.Pods() {
		if image := pod.Spec.Containers[0].Image; image != "app:2" {
			t.Errorf("%s runs %s, although the new revision is rolled out", pod.Name, image)
		}
	}
}

// The way back: a Deployment adopts its pods again.
func TestAdoptAndReturn(t *testing.T) {
	s := newSpace(t)
	s.Apply(workloads["Deployment"])
	before := s.awaitPods("deployment", 3)
	s.Await("the rollout to be complete", func() (any, bool) {
		got := s.tryWith(workloads["Deployment"], "convert", "-f", "-", "--adopt")
		if got.code == 0 {
			s.runScript(got.out)
		}
		return got, got.code == 0
	})
	s.stayed(before)
	s.Kubectl("delete", "pm", "web", "--cascade=orphan")
	s.Apply(workloads["Deployment"])
	if after := s.awaitPods("deployment", 3); !slices.Equal(before, after) {
		t.Errorf("there were\n%+v\nthere are\n%+v", before, after)
	}
	if _, owners := s.pods(); len(owners) != 1 || !strings.HasPrefix(owners[0], "ReplicaSet ") {
		t.Errorf("the pods are owned by %v", owners)
	}
}

// The pods of other kinds are handed over as well. Pods of a StatefulSet already have the names that a PodManager assigns.
func TestAdoptOtherKinds(t *testing.T) {
	t.Parallel()
	for kind, replicas := range map[string]int{"ReplicaSet": 2, "StatefulSet": 2} {
		t.Run(kind, func(t *testing.T) {
			s := newSpace(t)
			s.Apply(strings.NewReplacer("{partition: 2}", "{partition: 0}", "minReadySeconds: 700", "minReadySeconds: 0").Replace(workloads[kind]))
			before := s.awaitPods(strings.ToLower(kind), replicas)
			s.Await("the workload to be complete", func() (any, bool) {
				got := s.try("convert", kind+"/web", "--adopt")
				if got.code == 0 {
					s.runScript(got.out)
				}
				return got, got.code == 0
			})
			s.stayed(before)
			if left := s.Kubectl("get", kind, "-o", "name"); left != "" {
				t.Errorf("left over: %s", left)
			}
			list, err := shared.cluster.Kube.AppsV1().ControllerRevisions(s.Name).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, revision := range list.Items {
				if owner := metav1.GetControllerOf(&revision); owner == nil || owner.Kind != v1.Kind {
					t.Errorf("left over: controllerrevision %s", revision.Name)
				}
			}
		})
	}
}

// A script does nothing if the object has changed since it was written.
func TestAdoptRefusesWhatHasChanged(t *testing.T) {
	s := newSpace(t)
	s.Apply(workloads["Deployment, recreated"])
	s.awaitPods("deployment", 1)
	script := ""
	s.Await("the rollout to be complete", func() (any, bool) {
		got := s.try("convert", "deployment/web", "--adopt")
		script = got.out
		return got, got.code == 0
	})
	s.Kubectl("scale", "deployment", "web", "--replicas=2")
	if out, err := s.tryScript(script); err == nil || !strings.Contains(out, "was changed since this script was written") {
		t.Errorf("%v\n%s", err, out)
	}
	if got := s.Kubectl("get", "pm,deployments", "-o", "name"); got != "deployment.apps/web\n" {
		t.Errorf("there is %s", got)
	}
	list, err := shared.cluster.Kube.CoreV1().Pods(s.Name).List(t.Context(), metav1.ListOptions{LabelSelector: v1.LabelManager})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("pods were labelled: %v, %v", list.Items, err)
	}
}

// A PodManager that is paused from the start waits for the pods that have yet to be handed over, however long that takes.
func TestAdoptOneByOne(t *testing.T) {
	s := newSpace(t)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		s.Apply(fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: app, image: 'app:1'}]}\n", name))
	}
	s.apply("web", "{replicas: 3, image: 'app:1', paused: true}")
	for i, name := range names {
		s.Kubectl("label", "pod", name, v1.LabelManager+"=web")
		s.Await(name+" to be adopted", func() (any, bool) {
			manager := s.Manager("web")
			return manager.Status, int(manager.Status.Replicas) == i+1
		})
	}
	pods, owners := s.pods()
	if len(pods) != len(names) || !slices.Equal(owners, []string{"PodManager web"}) {
		t.Errorf("there are %+v, owned by %v", pods, owners)
	}
}
