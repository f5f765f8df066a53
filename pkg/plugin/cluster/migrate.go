package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/change"
)

// CRDName is the name of the CustomResourceDefinition.
const CRDName = "podmanagers." + v1.GroupName

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Migration is what migrate has found and done.
type Migration struct {
	// StorageVersion is the version that the API server stores now, StoredVersions are those that objects may be stored as.
	StorageVersion string   `json:"storageVersion"`
	StoredVersions []string `json:"storedVersions"`
	// Before is what StoredVersions was.
	Before []string `json:"storedVersionsBefore"`
	// Objects were looked at. Of these, Rewritten were stored anew, and Overtaken were written or deleted by somebody else at the same
	// time; the others were stored in this way already.
	Objects   int `json:"objects"`
	Rewritten int `json:"rewritten"`
	Overtaken int `json:"overtaken"`
}

// IsDone tells that no object can be stored in another version.
func (m Migration) IsDone() bool { return slices.Equal(m.Before, []string{m.StorageVersion}) }

// Migrate rewrites all PodManagers in the version that is stored now, and then notes in the CRD that there is no other: only then will the
// API server let a version be removed from the CRD.
func (c *Cluster) Migrate(ctx context.Context, dryRun string) (Migration, error) {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return Migration{}, err
	}
	crds := client.Resource(crdResource)
	crd, err := crds.Get(ctx, CRDName, metav1.GetOptions{})
	if err != nil {
		return Migration{}, c.adviseAdministrator(err)
	}
	m := migrationOf(crd)
	if m.IsDone() {
		return m, nil
	}
	if dryRun != DryRunClient { // whoever may not finish had better not begin
		if err := c.noteStored(ctx, crds, crd, m.StorageVersion, []string{metav1.DryRunAll}); err != nil {
			return m, c.adviseAdministrator(err)
		}
	}
	if err := c.rewriteAll(ctx, &m, dryRun); err != nil {
		return m, c.adviseAdministrator(err)
	}
	m.StoredVersions = []string{m.StorageVersion}
	if dryRun != DryRunNone {
		return m, nil
	}
	return m, c.adviseAdministrator(c.noteStored(ctx, crds, crd, m.StorageVersion, nil))
}

func migrationOf(crd *unstructured.Unstructured) Migration {
	m := Migration{}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, each := range versions {
		if version, _ := each.(map[string]any); version["storage"] == true {
			m.StorageVersion, _ = version["name"].(string)
		}
	}
	m.StoredVersions, _, _ = unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	m.Before = m.StoredVersions
	return m
}

// rewriteAll has the API server store each PodManager anew: a patch that changes nothing is written if what is stored has another version.
func (c *Cluster) rewriteAll(ctx context.Context, m *Migration, dryRun string) error {
	client, err := metadata.NewForConfig(c.config)
	if err != nil {
		return err
	}
	managers := client.Resource(schema.GroupVersionResource{Group: v1.GroupName, Version: m.StorageVersion, Resource: "podmanagers"})
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return managers.List(ctx, options)
	})
	return pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		manager, isManager := item.(*metav1.PartialObjectMetadata)
		if !isManager {
			return fmt.Errorf("the list has a %T", item)
		}
		if m.Objects++; dryRun == DryRunClient {
			return nil
		}
		// With the version that was read: whoever has written it since has had it stored in the right way.
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": manager.UID, "resourceVersion": manager.ResourceVersion}})
		if err != nil {
			return err
		}
		written, err := managers.Namespace(manager.Namespace).Patch(ctx, manager.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: change.FieldManager, DryRun: onServer(dryRun)})
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
			m.Overtaken++
			return nil
		case err != nil:
			return fmt.Errorf("%s in namespace %s: %w", FullName(manager.Name), manager.Namespace, err)
		case written.ResourceVersion != manager.ResourceVersion:
			m.Rewritten++
		}
		return nil
	})
}

// noteStored writes into the CRD's status that objects are stored in one version only. If the CRD's spec has changed since it was read, that
// may not be true.
func (c *Cluster) noteStored(ctx context.Context, crds dynamic.ResourceInterface, crd *unstructured.Unstructured, version string, dryRun []string) error {
	for attempt := 1; ; attempt++ {
		now, err := crds.Get(ctx, CRDName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.GetUID() != crd.GetUID() || now.GetGeneration() != crd.GetGeneration() {
			return errors.New("somebody has changed the CRD at the same time, so its status.storedVersions is left as it was; run migrate again")
		}
		if err := unstructured.SetNestedStringSlice(now.Object, []string{version}, "status", "storedVersions"); err != nil {
			return err
		}
		_, err = crds.UpdateStatus(ctx, now, metav1.UpdateOptions{FieldManager: change.FieldManager, DryRun: dryRun})
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
	}
}

// adviseAdministrator says what to do about an error of migrate.
func (c *Cluster) adviseAdministrator(err error) error {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; migrate is for administrators of the cluster: it reads the CRD and updates its status, and lists and patches PodManagers in all namespaces", err)
	case errors.As(err, &status) && apierrors.IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Name == CRDName:
		return fmt.Errorf("%s knows no PodManagers: there is no CRD %s, and nothing to migrate", c.Server, CRDName)
	default:
		return c.Advise(err, metav1.NamespaceAll)
	}
}
