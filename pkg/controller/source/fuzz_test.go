package source

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// With an edited CRD, a PodManager may contain anything. It is decoded as it is, or marked as undecodable. Either way its identity is
// preserved.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"replicas":3,"image":"nginx"}`), []byte(`{"replicas":2}`), `says the user`)
	f.Add([]byte(`{"replicas":"three"}`), []byte(`{"replicas":"two"}`), "")
	f.Add([]byte(`{"replicas":0e0}`), []byte(`{"replicas":1e0}`), "")
	f.Add([]byte(`{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}}`), []byte(`{"conditions":[{"lastTransitionTime":"now"}]}`), "")
	f.Add([]byte(`[1]`), []byte(`"x"`), "")
	f.Add([]byte(`{"replicas":4444444444}`), []byte(`{"replicas":-4444444444}`), "")
	f.Add([]byte(`{"template":{"spec":{"containers":[{"resources":{"limits":{"memory":8589934592}}}]}}}`), []byte(`{"observedGeneration":4444444444}`), "")
	f.Add([]byte(`{"updateStrategy":{"rollingUpdate":{"maxSurge":1.5}},"restartAt":"soon"}`), []byte(`null`), "")
	f.Fuzz(func(t *testing.T, spec, status []byte, mark string) {
		object := &unstructured.Unstructured{}
		data, err := json.Marshal(map[string]any{
			"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager", "spec": json.RawMessage(spec), "status": json.RawMessage(status),
			"metadata": map[string]any{"name": "web", "namespace": "ns", "uid": "uid", "resourceVersion": "5", "annotations": map[string]any{Undecodable: mark},
				"managedFields": []any{map[string]any{"manager": "kubectl"}}},
		})
		if err != nil || object.UnmarshalJSON(data) != nil {
			return
		}
		if data, err = object.MarshalJSON(); err != nil { // as API servers store it: 0e0 becomes 0
			return
		}
		got, want := decode(data), &v1.PodManager{}
		checkIdentity(t, got)
		fits := utiljson.Unmarshal(data, want) == nil // case-sensitive, like the API server
		why, isMarked := got.Annotations[Undecodable]
		switch {
		case isMarked && why == "":
			t.Error("the PodManager is marked as undecodable without a reason")
		case !isMarked && !fits:
			t.Errorf("decoded, although the JSON does not fit the type: %s", data)
		case !isMarked && !equality.Semantic.DeepEqual(got.Spec, want.Spec):
			t.Errorf("the spec became %+v, want %+v", got.Spec, want.Spec)
		case isMarked && !equality.Semantic.DeepEqual(got.Spec, v1.PodManagerSpec{}):
			t.Errorf("an undecodable PodManager has a part of its spec: %+v", got.Spec)
		}
		trimRevision(t, spec)
	})
}

// checkIdentity checks the metadata of FuzzDecode's PodManager.
func checkIdentity(t *testing.T, got *v1.PodManager) {
	t.Helper()
	if got.Name != "web" || got.Namespace != "ns" || got.UID != "uid" || got.ResourceVersion != "5" || len(got.ManagedFields) > 0 {
		t.Errorf("the metadata became %+v", got.ObjectMeta)
	}
}

// trimRevision checks that the cache keeps the data of a revision unchanged, whatever it is.
func trimRevision(t *testing.T, data []byte) {
	t.Helper()
	revision := &appsv1.ControllerRevision{}
	revision.Data.Raw = data
	if Trim(revision); string(revision.Data.Raw) != string(data) {
		t.Errorf("the data became %s", revision.Data.Raw)
	}
}
