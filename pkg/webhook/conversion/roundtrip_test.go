package conversion

import (
	"encoding/json"
	"math/rand"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/apis/podmanager/v1alpha1"
)

// rounds is the number of generated objects. They are the same in every run.
const rounds = 200

// filler fills all fields of an object with values that can be encoded as JSON.
func filler(f *randfill.Filler) *randfill.Filler {
	return f.NilChance(0.6).NumElements(0, 2).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(c.Int63n(1e6), resource.DecimalSI)
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(c.Int63n(1e9), 0) },
		func(value *intstr.IntOrString, c randfill.Continue) {
			if *value = intstr.FromInt32(c.Int31()); c.Bool() {
				*value = intstr.FromString(c.String(0))
			}
		},
		func(fields *metav1.FieldsV1, _ randfill.Continue) {
			fields.SetRawString(`{"f:spec":{"f:replicas":{}}}`)
		},
		func(meta *metav1.TypeMeta, _ randfill.Continue) { *meta = metav1.TypeMeta{} },
		// Only conversion writes the kept fields.
		func(status *v1alpha1.PodManagerStatus, c randfill.Continue) {
			c.Fill(&status.Nodes)
			c.Fill(&status.ReadyNodes)
		},
	)
}

func seeded(seed int64) *randfill.Filler { return filler(randfill.NewWithSeed(seed)) }

// jsonOf returns the object as the API server would send it.
func jsonOf(t *testing.T, typed runtime.Object, version string) map[string]any {
	t.Helper()
	data, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := decodeObject(data)
	if err != nil {
		t.Fatal(err)
	}
	parsed["apiVersion"], parsed["kind"] = version, v1.Kind
	return parsed
}

// A v1 object is unchanged after a conversion to v1alpha1 and back.
func TestHubRoundTrip(t *testing.T) {
	templates := 0
	for seed := range int64(rounds) {
		manager := &v1.PodManager{}
		seeded(seed).Fill(manager)
		if manager.Spec.Template != nil && len(manager.Spec.Template.Spec.Containers) > 0 {
			templates++
		}
		from := jsonOf(t, manager, hub)
		same(t, "v1 -> v1alpha1 -> v1", converted(t, converted(t, from, alpha), hub), from)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if templates < rounds/10 {
		t.Errorf("only %d objects had a template with containers", templates)
	}
}

// A v1alpha1 object is unchanged after a conversion to v1 and back, except for the kept fields. A second round trip changes nothing at all.
func TestAlphaRoundTrip(t *testing.T) {
	for seed := range int64(rounds) {
		manager := &v1alpha1.PodManager{}
		seeded(seed).Fill(manager)
		manager.APIVersion, manager.Kind = alpha, v1.Kind
		once := converted(t, converted(t, jsonOf(t, manager, alpha), hub), alpha)
		same(t, "twice", converted(t, converted(t, once, hub), alpha), once)
		got := &v1alpha1.PodManager{}
		if err := json.Unmarshal([]byte(encode(once)), got); err != nil {
			t.Fatal(err)
		}
		if got.Status.V1Spec == "" || got.Status.V1Status == nil {
			t.Fatalf("the status does not keep v1Spec and v1Status: %+v", got.Status)
		}
		got.Status.V1Spec, got.Status.V1Status = "", nil
		same(t, "v1alpha1 -> v1 -> v1alpha1", jsonOf(t, got, alpha), jsonOf(t, manager, alpha))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// edits are the changes that a user of v1alpha1 can make, and their counterparts in v1.
var edits = map[string]struct {
	alpha func(*v1alpha1.PodManager)
	hub   func(*v1.PodManager)
}{
	"size":       {func(m *v1alpha1.PodManager) { m.Spec.Size = ptr.To[int32](7) }, func(m *v1.PodManager) { m.Spec.Replicas = ptr.To[int32](7) }},
	"image":      {func(m *v1alpha1.PodManager) { m.Spec.Image = "other" }, func(m *v1.PodManager) { *imageOf(m) = "other" }},
	"command":    {func(m *v1alpha1.PodManager) { m.Spec.Command = []string{"do", "it"} }, func(m *v1.PodManager) { setCommand(m, "do", "it") }},
	"no command": {func(m *v1alpha1.PodManager) { m.Spec.Command = nil }, func(m *v1.PodManager) { setCommand(m) }},
	"label":      {func(m *v1alpha1.PodManager) { m.Labels = map[string]string{"a": "b"} }, func(m *v1.PodManager) { m.Labels = map[string]string{"a": "b"} }},
	"nodes":      {func(m *v1alpha1.PodManager) { m.Status.Nodes = []string{"x"} }, func(m *v1.PodManager) { m.Status.PodNames = []string{"x"} }},
	"readyNodes": {func(m *v1alpha1.PodManager) { m.Status.ReadyNodes = 7 }, func(m *v1.PodManager) { m.Status.ReadyReplicas = 7 }},
	"nothing":    {func(*v1alpha1.PodManager) {}, func(*v1.PodManager) {}},
}

func imageOf(m *v1.PodManager) *string {
	if m.Spec.Template != nil {
		return &m.Spec.Template.Spec.Containers[0].Image
	}
	return &m.Spec.Image
}

func setCommand(m *v1.PodManager, command ...string) {
	switch {
	case m.Spec.Template != nil:
		m.Spec.Template.Spec.Containers[0].Command = command
	case command != nil:
		m.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: m.Spec.Image, Command: command}}}}
		m.Spec.Image = ""
	}
}

// A Go program reads an object with the v1alpha1 types, changes one field and writes it back. All other fields of v1 stay.
func TestReadModifyWrite(t *testing.T) {
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(rounds / 3) {
				stored := &v1.PodManager{}
				seeded(seed).Fill(stored)
				valid(stored, rand.New(rand.NewSource(seed)))
				read := &v1alpha1.PodManager{}
				if err := json.Unmarshal([]byte(encode(converted(t, jsonOf(t, stored, hub), alpha))), read); err != nil {
					t.Fatal(err)
				}
				edit.alpha(read)
				got := &v1.PodManager{}
				if err := json.Unmarshal([]byte(encode(converted(t, jsonOf(t, read, alpha), hub))), got); err != nil {
					t.Fatal(err)
				}
				edit.hub(stored)
				same(t, "written", jsonOf(t, got, hub), jsonOf(t, stored, hub))
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// valid makes an object satisfy the rules of the CRD for image and template.
func valid(m *v1.PodManager, dice *rand.Rand) {
	if m.Spec.Image = ""; dice.Intn(2) == 0 {
		m.Spec.Image, m.Spec.Template = "short", nil
		return
	}
	if m.Spec.Template == nil {
		m.Spec.Template = &corev1.PodTemplateSpec{}
	}
	if pod := &m.Spec.Template.Spec; len(pod.Containers) == 0 {
		pod.Containers = []corev1.Container{{Name: "only", Image: "long", Command: []string{"run"}}}
	}
}

// go test -fuzz FuzzHub: any JSON object with the kind and version of a v1 PodManager, not only those that the types can express.
func FuzzHub(f *testing.F) {
	f.Add([]byte(`{"spec":{"replicas":1,"image":"a"},"status":{"podNames":["a-0"]}}`))
	f.Add([]byte(`{"spec":{"image":"a","template":{"spec":{"containers":[{"image":"b","command":["c"]},null]}}}}`))
	f.Add([]byte(`{"spec":{"template":{"spec":{"containers":[5]}},"replicas":1e3},"status":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		from, err := decodeObject(data)
		if err != nil || from == nil {
			t.Skip()
		}
		from["apiVersion"], from["kind"] = hub, v1.Kind
		if status, has := from["status"]; has {
			if _, isObject := status.(map[string]any); !isObject {
				t.Skip() // the schema of every version refuses that
			}
		}
		same(t, "v1 -> v1alpha1 -> v1", converted(t, converted(t, from, alpha), hub), from)
	})
}

// go test -fuzz FuzzKept: whatever the kept fields are, the size, image and command are those of v1alpha1.
func FuzzKept(f *testing.F) {
	f.Add([]byte("1"), `{"template":{"spec":{"containers":[{"image":"b"}]}},"image":"c"}`)
	f.Add([]byte("22"), `{"template":{"spec":{"containers":["x"]}},"replicas":{}}`)
	f.Add([]byte("333"), `{"template":null}`)
	f.Fuzz(func(t *testing.T, data []byte, kept string) {
		manager := &v1alpha1.PodManager{}
		filler(randfill.NewFromGoFuzz(data)).Fill(&manager.Spec)
		manager.Status.V1Spec = kept
		from := jsonOf(t, manager, alpha)
		same(t, "spec", converted(t, converted(t, from, hub), alpha)["spec"], from["spec"])
	})
}
