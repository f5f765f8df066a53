package apiserver_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestCreate(t *testing.T) {
	tests := map[string]struct {
		namespace string
		pod       *corev1.Pod
		code      int
		message   string
	}{
		"a pod":                       {"default", newPod("new"), 0, ""},
		"a name that is taken":        {"default", newPod("old"), 409, `pods "old" already exists`},
		"no such namespace":           {"nowhere", newPod("new"), 404, `namespaces "nowhere" not found`},
		"a namespace that terminates": {"ending", newPod("new"), 403, "unable to create new content in namespace ending because it is being terminated"},
		"a name that is not valid":    {"default", newPod("New"), 422, "metadata.name: Invalid value"},
		"no name":                     {"default", newPod(""), 422, "name or generateName is required"},
		"a label that is not valid":   {"default", newPod("new", "a b", "c"), 422, "metadata.labels: Invalid value"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				ctx := t.Context()
				must(s.pods().Create(ctx, newPod("old"), create))
				must(s.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending"}}, create))
				if err := s.kube.CoreV1().Namespaces().Delete(ctx, "ending", remove); err != nil {
					t.Fatal(err)
				}
				before := s.Version()
				_, err := s.kube.CoreV1().Pods(test.namespace).Create(ctx, test.pod, create)
				checkError(t, err, test.code, test.message)
				if wrote := s.Version() - before; wrote != 1 && err == nil || wrote != 0 && err != nil {
					t.Errorf("%d writes", wrote)
				}
			})
		})
	}
}

func TestCreatedPod(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		wanted := newPod("")
		wanted.GenerateName, wanted.Status.Phase = "web-", corev1.PodRunning
		dry := must(s.pods().Create(ctx, wanted, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
		if before := s.Version(); dry.ResourceVersion != "" || dry.UID == "" || before != 1 {
			t.Errorf("a dry run gives %+v and version %d", dry.ObjectMeta, before)
		}
		pod := must(s.pods().Create(ctx, wanted, create))
		if len(pod.Name) != len("web-")+5 || len(pod.UID) != 36 || pod.CreationTimestamp.IsZero() || pod.Generation != 1 || pod.ResourceVersion != "2" {
			t.Errorf("the metadata is %+v", pod.ObjectMeta)
		}
		checkDefaults(t, pod)
		if live := must(s.pods().Get(ctx, pod.Name, get)); live.ResourceVersion != "2" || live.Name != pod.Name {
			t.Errorf("the pod is read as %+v", live.ObjectMeta)
		}
	})
}

func checkDefaults(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if pod.Status.Phase != corev1.PodPending || pod.Status.QOSClass != corev1.PodQOSBestEffort {
		t.Errorf("the status is %+v", pod.Status)
	}
	if *pod.Spec.TerminationGracePeriodSeconds != 30 || pod.Spec.RestartPolicy != corev1.RestartPolicyAlways || pod.Spec.Containers[0].ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("the spec is %+v", pod.Spec)
	}
}

func TestUpdate(t *testing.T) {
	tests := map[string]struct {
		change  func(pod *corev1.Pod)
		code    int
		message string
		// generation is the generation after the update, writes is how many versions the update takes.
		generation, writes int64
	}{
		"nothing":            {func(*corev1.Pod) {}, 0, "", 1, 0},
		"a label":            {func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, 0, "", 1, 1},
		"an image":           {func(p *corev1.Pod) { p.Spec.Containers[0].Image = "nginx:2" }, 0, "", 2, 1},
		"a status":           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, 0, "", 1, 0},
		"without a version":  {func(p *corev1.Pod) { p.ResourceVersion, p.Labels = "", map[string]string{"a": "b"} }, 0, "", 1, 1},
		"an old version":     {func(p *corev1.Pod) { p.ResourceVersion = "1" }, 409, `Operation cannot be fulfilled on pods "web": the object has been modified; please apply your changes to the latest version and try again`, 1, 0},
		"another UID":        {func(p *corev1.Pod) { p.UID = "other" }, 409, "Precondition failed: UID in precondition: other, UID in object meta: ", 1, 0},
		"a node":             {func(p *corev1.Pod) { p.Spec.NodeName = "node" }, 422, "pod updates may not change fields other than", 1, 0},
		"two controllers":    {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{*owner("a"), *owner("b")} }, 422, "Only one reference can have Controller set to true", 1, 0},
		"a new generation":   {func(p *corev1.Pod) { p.Generation = 7 }, 0, "", 1, 0},
		"a deletion":         {func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }, 422, "metadata.deletionTimestamp", 1, 0},
		"a finalizer of own": {func(p *corev1.Pod) { p.Finalizers = []string{"example.com/a"} }, 0, "", 1, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				ctx := t.Context()
				pod := must(s.pods().Create(ctx, newPod("web"), create))
				before := s.Version()
				test.change(pod)
				_, err := s.pods().Update(ctx, pod, update)
				checkError(t, err, test.code, test.message)
				if wrote := s.Version() - before; wrote != test.writes {
					t.Errorf("%d writes, want %d", wrote, test.writes)
				}
				live := must(s.pods().Get(ctx, "web", get))
				if live.Generation != test.generation || live.Status.Phase != corev1.PodPending || live.DeletionTimestamp != nil {
					t.Errorf("the pod is %+v in phase %s", live.ObjectMeta, live.Status.Phase)
				}
			})
		})
	}
}

func owner(name string) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(name), Controller: ptr.To(true)}
}

func TestPatchPod(t *testing.T) {
	tests := map[string]struct {
		kind        types.PatchType
		patch       string
		subresource []string
		code        int
		message     string
	}{
		"strategic":                     {types.StrategicMergePatchType, `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"app","image":"nginx:2"}]}}`, nil, 0, ""},
		"merge":                         {types.MergePatchType, `{"metadata":{"labels":{"a":"b"}}}`, nil, 0, ""},
		"JSON":                          {types.JSONPatchType, `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`, nil, 0, ""},
		"JSON with a test":              {types.JSONPatchType, `[{"op":"test","path":"/metadata/name","value":"web"},{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`, nil, 0, ""},
		"JSON with a test of a null":    {types.JSONPatchType, `[{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`, nil, 0, ""},
		"JSON with a test that fails":   {types.JSONPatchType, `[{"op":"test","path":"/metadata/uid","value":"x"}]`, nil, 422, "the server rejected our request due to an error in our request"},
		"another UID":                   {types.StrategicMergePatchType, `{"metadata":{"uid":"x","labels":{"a":"b"}}}`, nil, 422, "metadata.uid: Invalid value"},
		"another version":               {types.MergePatchType, `{"metadata":{"resourceVersion":"1","labels":{"a":"b"}}}`, nil, 409, "the object has been modified"},
		"no patch":                      {types.MergePatchType, `[`, nil, 400, ""},
		"server-side apply":             {types.ApplyPatchType, `{}`, nil, 415, ""},
		"a second owner":                {types.StrategicMergePatchType, `{"metadata":{"labels":{"a":"b"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"b","uid":"b"}]}}`, nil, 0, ""},
		"an owner that is removed":      {types.StrategicMergePatchType, `{"metadata":{"labels":{"a":"b"},"ownerReferences":[{"$patch":"delete","uid":"a"}]}}`, nil, 0, ""},
		"status, which has no spec":     {types.StrategicMergePatchType, `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"app","image":"x"}]},"status":{"phase":"Running"}}`, []string{"status"}, 0, ""},
		"resize of what has no request": {types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"1"}}}]}}`, []string{"resize"}, 422, "Pod QOS Class may not change as a result of resizing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				ctx := t.Context()
				pod := newPod("web")
				pod.OwnerReferences = []metav1.OwnerReference{*owner("a")}
				must(s.pods().Create(ctx, pod, create))
				patched, err := s.pods().Patch(ctx, "web", test.kind, []byte(test.patch), patch, test.subresource...)
				checkError(t, err, test.code, test.message)
				if err == nil && (patched.Labels["a"] != "b" || patched.ResourceVersion != "3") {
					t.Errorf("the pod is %+v", patched.ObjectMeta)
				}
				live := must(s.pods().Get(ctx, "web", get))
				if isStatus := len(test.subresource) > 0 && err == nil; isStatus && (live.Status.Phase != corev1.PodRunning || live.Spec.Containers[0].Image != "nginx:1.29") {
					t.Errorf("the pod is in phase %s with image %s", live.Status.Phase, live.Spec.Containers[0].Image)
				}
			})
		})
	}
}

func TestResize(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		pod := newPod("web")
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resourceOf("1")}
		must(s.pods().Create(ctx, pod, create))
		const more = `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"app","image":"x","resources":{"requests":{"cpu":"2"}}}]}}`
		resized := must(s.pods().Patch(ctx, "web", types.StrategicMergePatchType, []byte(more), patch, "resize"))
		cpu := resized.Spec.Containers[0].Resources.Requests.Cpu()
		if cpu.String() != "2" || resized.Generation != 2 || resized.Spec.Containers[0].Image != "nginx:1.29" || len(resized.Labels) > 0 {
			t.Errorf("the pod is %+v with %v", resized.ObjectMeta, resized.Spec.Containers[0])
		}
		_, err := s.pods().Patch(ctx, "web", types.StrategicMergePatchType, []byte(strings.Replace(more, `"2"`, `"3"`, 1)), patch)
		checkError(t, err, 422, "pod updates may not change")
	})
}

func TestPodManager(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		client := s.managers.AppsV1().PodManagers("default")
		wanted := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodManagerSpec{Image: "nginx"}, Status: v1.PodManagerStatus{Replicas: 7}}
		made := must(client.Create(ctx, wanted, create))
		if *made.Spec.Replicas != 3 || made.Status.Replicas != 0 || made.Status.ObservedGeneration != -1 || made.Generation != 1 {
			t.Errorf("the PodManager is created with %v replicas and the status %+v", *made.Spec.Replicas, made.Status)
		}
		status := made.DeepCopy()
		status.Spec.Image, status.Labels, status.Status.Replicas = "other", map[string]string{"a": "b"}, 2
		told := must(client.UpdateStatus(ctx, status, update))
		if told.Spec.Image != "nginx" || len(told.Labels) > 0 || told.Status.Replicas != 2 || told.Generation != 1 {
			t.Errorf("a write of the status gives %+v", told)
		}
		_, err := client.Update(ctx, made, update)
		checkError(t, err, 409, "the object has been modified")
		made.ResourceVersion = ""
		_, err = client.Update(ctx, made, update)
		checkError(t, err, 422, "metadata.resourceVersion: Invalid value: 0: must be specified for an update")
	})
}

func TestScale(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		client := s.managers.AppsV1().PodManagers("default")
		made := must(client.Create(ctx, &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodManagerSpec{Image: "nginx"}}, create))
		made.Status.Replicas = 2
		must(client.UpdateStatus(ctx, made, update))
		scale := must(client.GetScale(ctx, "web", get))
		if scale.Spec.Replicas != 3 || scale.Status.Replicas != 2 {
			t.Errorf("the scale is %+v", scale)
		}
		scale.Spec.Replicas = 5
		must(client.UpdateScale(ctx, "web", scale, update))
		if live := must(client.Get(ctx, "web", get)); *live.Spec.Replicas != 5 || live.Generation != 2 || live.Status.Replicas != 2 {
			t.Errorf("the PodManager is scaled to %d in generation %d", *live.Spec.Replicas, live.Generation)
		}
		_, err := client.UpdateScale(ctx, "web", scale, update)
		checkError(t, err, 409, "the object has been modified")
		_, err = client.Patch(ctx, "web", types.StrategicMergePatchType, []byte(`{}`), patch)
		checkError(t, err, 415, "unknown format")
		for patched, generation := range map[string]int64{`{"spec":{"unknown":1}}`: 2, `{"spec":{"replicas":5}}`: 2, `{"spec":{"image":"other"}}`: 3} {
			live := must(client.Patch(ctx, "web", types.MergePatchType, []byte(patched), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}))
			if live.Generation != generation {
				t.Errorf("after %s the PodManager is in generation %d", patched, live.Generation)
			}
		}
	})
}

// An update creates a Lease or event that does not exist, unless the update names the UID of a deleted object.
func TestCreateByUpdate(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		leases := s.kube.CoordinationV1().Leases("default")
		lease := must(leases.Update(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, update))
		if err := leases.Delete(ctx, "a", remove); err != nil {
			t.Fatal(err)
		}
		_, err := leases.Update(ctx, lease, update)
		checkError(t, err, 409, "UID in object meta: ")
		_, err = s.kube.AppsV1().ControllerRevisions("default").Update(ctx, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, update)
		checkError(t, err, 404, `controllerrevisions.apps "a" not found`)
	})
}
