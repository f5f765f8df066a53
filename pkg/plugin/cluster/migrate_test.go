package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// storage is a fake API server with the CRD and some PodManagers.
type storage struct {
	// stored is status.storedVersions of the CRD, generation its metadata.generation.
	stored     []string
	generation int64
	// patched is the response code to a patch of each PodManager. 200 changes its resourceVersion, 208 does not.
	patched map[string]int
	// conflicts is the number of status updates that fail with a conflict. If changes is set, the CRD's spec changes while objects are rewritten.
	conflicts    int
	changes      bool
	mayNotUpdate bool
	// requests are the write requests, in order.
	requests []string
}

func (s *storage) crd() map[string]any {
	version := func(name string) map[string]any { return map[string]any{"name": name, "storage": name == "v1"} }
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": CRDName, "uid": "crd", "generation": s.generation, "resourceVersion": "1"},
		"spec":     map[string]any{"versions": []any{version("v1alpha1"), version("v1")}},
		"status":   map[string]any{"storedVersions": s.stored},
	}
}

// page returns a list page with one PodManager and a continue token.
func (s *storage) page(after string) map[string]any {
	names := []string{"a", "b", "c", "d"}
	i := slices.Index(names, after) + 1
	list := metav1.ListMeta{ResourceVersion: "9", Continue: names[i]}
	if i == len(names)-1 {
		list.Continue = ""
	}
	item := map[string]any{"metadata": map[string]any{"name": names[i], "namespace": "ns", "uid": "u" + names[i], "resourceVersion": "5"}}
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": list, "items": []any{item}}
}

func refusal(code int, reason metav1.StatusReason) (int, any) {
	return code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: string(reason)}
}

func (s *storage) answer(r *http.Request) (int, any) {
	isDry := r.URL.Query().Get("dryRun") != ""
	if r.Method != http.MethodGet {
		s.requests = append(s.requests, fmt.Sprint(r.Method, " ", r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], map[bool]string{true: " dry"}[isDry]))
	}
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, CRDName):
		return http.StatusOK, s.crd()
	case r.Method == http.MethodGet:
		return http.StatusOK, s.page(r.URL.Query().Get("continue"))
	case r.Method == http.MethodPatch:
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if s.changes {
			s.generation++
		}
		switch s.patched[name] {
		case http.StatusConflict:
			return refusal(http.StatusConflict, metav1.StatusReasonConflict)
		case http.StatusNotFound:
			return refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
		}
		version := map[int]string{http.StatusOK: "6", http.StatusAlreadyReported: "5"}[s.patched[name]]
		return http.StatusOK, map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": map[string]any{"name": name, "resourceVersion": version}}
	case s.mayNotUpdate:
		return refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
	case s.conflicts > 0 && !isDry:
		s.conflicts--
		return refusal(http.StatusConflict, metav1.StatusReasonConflict)
	default:
		crd := s.crd()
		if err := json.NewDecoder(r.Body).Decode(&crd); err == nil && !isDry {
			s.stored = []string{fmt.Sprint(crd["status"].(map[string]any)["storedVersions"])}
		}
		return http.StatusOK, crd
	}
}

func (s *storage) cluster(t *testing.T) *Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, body := s.answer(r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(server.Close)
	return &Cluster{Server: server.URL, config: &rest.Config{Host: server.URL}}
}

func TestMigrate(t *testing.T) {
	both := []string{"v1alpha1", "v1"}
	all := map[string]int{"a": 200, "b": 208, "c": 409, "d": 404}
	tests := map[string]struct {
		storage  storage
		dryRun   string
		want     Migration
		err      string
		requests string
	}{
		"nothing to do": {storage{stored: []string{"v1"}}, DryRunNone, Migration{}, "", ""},
		"all": {storage{stored: both, patched: all}, DryRunNone, Migration{Objects: 4, Rewritten: 1, Overtaken: 2}, "",
			"PUT status dry, PATCH a, PATCH b, PATCH c, PATCH d, PUT status"},
		"the CRD's status is busy": {storage{stored: both, patched: all, conflicts: 2}, DryRunNone, Migration{Objects: 4, Rewritten: 1, Overtaken: 2}, "",
			"PUT status dry, PATCH a, PATCH b, PATCH c, PATCH d, PUT status, PUT status, PUT status"},
		"a dry run": {storage{stored: both, patched: all}, DryRunClient, Migration{Objects: 4}, "", ""},
		"a dry run on the server": {storage{stored: both, patched: all}, DryRunServer, Migration{Objects: 4, Rewritten: 1, Overtaken: 2}, "",
			"PUT status dry, PATCH a dry, PATCH b dry, PATCH c dry, PATCH d dry"},
		"no right to finish": {storage{stored: both, patched: all, mayNotUpdate: true}, DryRunNone, Migration{}, "migrate is for administrators of the cluster", "PUT status dry"},
		"the CRD changes": {storage{stored: both, patched: all, changes: true}, DryRunNone, Migration{Objects: 4, Rewritten: 1, Overtaken: 2}, "another client changed the CRD at the same time",
			"PUT status dry, PATCH a, PATCH b, PATCH c, PATCH d"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.storage.stored
			got, err := test.storage.cluster(t).Migrate(t.Context(), test.dryRun)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v", err)
			}
			if got.Objects != test.want.Objects || got.Rewritten != test.want.Rewritten || got.Overtaken != test.want.Overtaken || got.StorageVersion != "v1" || !slices.Equal(got.Before, before) {
				t.Errorf("got %+v", got)
			}
			if requests := strings.Join(test.storage.requests, ", "); requests != test.requests {
				t.Errorf("requests: %s\nwant: %s", requests, test.requests)
			}
			if isWritten := slices.Equal(test.storage.stored, []string{"[v1]"}); isWritten != strings.HasSuffix(test.requests, "PUT status") {
				t.Errorf("storedVersions is %v", test.storage.stored)
			}
		})
	}
}

// A missing CRD is reported clearly.
func TestMigrateWithoutCRD(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Details: &metav1.StatusDetails{Name: CRDName}})
	}))
	defer server.Close()
	_, err := (&Cluster{Server: "https://server", config: &rest.Config{Host: server.URL}}).Migrate(t.Context(), DryRunNone)
	if err == nil || !strings.Contains(err.Error(), "https://server does not serve PodManagers: there is no CRD podmanagers.apps.mycompany.com") {
		t.Errorf("got %v", err)
	}
}
