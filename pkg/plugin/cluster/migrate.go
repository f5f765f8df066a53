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

// Migration is the result of a migration, or of a dry run.
type Migration struct {
	// StorageVersion is the version in which the API server stores objects now. StoredVersions is status.storedVersions of the CRD after the
	// migration, or as it would be after a dry run.
	StorageVersion string   `json:"storageVersion"`
	StoredVersions []string `json:"storedVersions"`
	// Before is status.storedVersions of the CRD before the migration.
	Before []string `json:"storedVersionsBefore"`
	// Objects is the number of objects that were listed. Of these, Rewritten were stored again, and Overtaken were written or deleted by another
	// client at the same time. The others were already stored in StorageVersion. With --dry-run=client, objects are only counted.
	Objects   int `json:"objects"`
	Rewritten int `json:"rewritten"`
	Overtaken int `json:"overtaken"`
}

// IsDone reports whether all objects were stored in StorageVersion before the migration, according to the CRD.
func (m Migration) IsDone() bool { return slices.Equal(m.Before, []string{m.StorageVersion}) }

// Migrate rewrites all PodManagers in the current storage version, and then records in the CRD that no other version is stored. Only then does
// the API server allow a version to be removed from the CRD.
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
	if dryRun != DryRunClient { // a user who may not write the CRD's status at the end should not begin
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

// rewriteAll makes the API server store each PodManager again. The API server persists a patch without changes only if the stored version
// differs.
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
			return fmt.Errorf("the list of PodManagers contains a %T", item)
		}
		if m.Objects++; dryRun == DryRunClient {
			return nil
		}
		// The patch names the resourceVersion. If it conflicts, another client has written the object since, and the API server has stored it in
		// StorageVersion.
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

// noteStored records in the CRD's status that objects are stored in only one version. It returns an error if the CRD's spec has changed since crd was
// read: the API server may then store objects in another version.
func (c *Cluster) noteStored(ctx context.Context, crds dynamic.ResourceInterface, crd *unstructured.Unstructured, version string, dryRun []string) error {
	for attempt := 1; ; attempt++ {
		now, err := crds.Get(ctx, CRDName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.GetUID() != crd.GetUID() || now.GetGeneration() != crd.GetGeneration() {
			return errors.New("another client changed the CRD at the same time, so its status.storedVersions stays as it was; run migrate again")
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

// adviseAdministrator adds advice to an error from migrate.
func (c *Cluster) adviseAdministrator(err error) error {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; migrate is for administrators of the cluster: it reads the CRD and updates its status, and lists and patches PodManagers in all namespaces", err)
	case errors.As(err, &status) && apierrors.IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Name == CRDName:
		return fmt.Errorf("%s does not serve PodManagers: there is no CRD %s, and nothing to migrate", c.Server, CRDName)
	default:
		return c.Advise(err, metav1.NamespaceAll)
	}
}
