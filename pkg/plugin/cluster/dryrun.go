package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/check"
	"github.com/mycompany/podmanager/pkg/plugin/manifest"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
)

// TryApply returns a PodManager as it would be after kubectl apply: the API server validates and defaults it, but does not persist it. live is
// nil if the PodManager does not exist yet. If the user may not patch PodManagers, the result is based on the file alone, with a warning.
func (c *Cluster) TryApply(ctx context.Context, live *v1.PodManager, file manifest.Manifest) (wanted *v1.PodManager, warning string, err error) {
	namespace := file.Manager.Namespace
	wanted, err = c.tryPatch(ctx, live, file)
	switch {
	case err == nil:
		return wanted, "", nil
	case apierrors.IsForbidden(err) && !c.mayPatch(ctx, live, namespace):
		warning = "the API server has not checked and completed the manifest, so its defaults may show as changes: " + c.Advise(err, namespace).Error()
		if live == nil {
			return file.Manager, warning, nil
		}
		wanted, err = file.Merged(live)
		return wanted, warning, err
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return nil, "", fmt.Errorf("kubectl apply would fail: %w", err)
	case apierrors.IsNotFound(err): // the namespace or the CRD is missing
		return nil, "", err
	default:
		return nil, "", c.Advise(err, namespace)
	}
}

// mayPatch reports whether the user may patch PodManagers. If so, a refusal comes from an admission policy, and kubectl apply would fail as well.
func (c *Cluster) mayPatch(ctx context.Context, live *v1.PodManager, namespace string) bool {
	verbs := []string{"patch"}
	if live == nil {
		verbs = append(verbs, "create")
	}
	for _, verb := range verbs {
		right := check.Right{Right: rights.Right{Verb: verb, Group: v1.GroupName, Resource: "podmanagers"}}
		if c.review(ctx, &right, namespace); right.Err == nil && !right.Allowed {
			return false
		}
	}
	return true
}

// tryPatch sends what kubectl apply would send, as a dry run: a merge patch if kubectl last applied on the client side, and otherwise the file.
func (c *Cluster) tryPatch(ctx context.Context, live *v1.PodManager, file manifest.Manifest) (*v1.PodManager, error) {
	client := c.Managers.AppsV1().PodManagers(file.Manager.Namespace)
	options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "kubectl", FieldValidation: metav1.FieldValidationStrict}
	if live != nil && manifest.IsMerged(live) {
		patch, err := file.Patch(live)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(patch)
		if err != nil {
			return nil, err
		}
		return client.Patch(ctx, live.Name, types.MergePatchType, data, options)
	}
	if options.Force = ptr.To(true); live != nil {
		options.FieldManager = manifest.Applier(live)
	}
	data, err := json.Marshal(file.Fields)
	if err != nil {
		return nil, err
	}
	return client.Patch(ctx, file.Manager.Name, types.ApplyPatchType, data, options)
}
