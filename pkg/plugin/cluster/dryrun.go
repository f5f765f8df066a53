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
// nil if the PodManager does not exist yet. If the user lacks a right that kubectl apply needs, the result is based on the file alone, with a
// warning.
func (c *Cluster) TryApply(ctx context.Context, live *v1.PodManager, file manifest.Manifest) (wanted *v1.PodManager, warning string, err error) {
	namespace := file.Manager.Namespace
	wanted, err = c.tryPatch(ctx, live, file)
	switch {
	case err == nil:
		return wanted, "", nil
	case apierrors.IsForbidden(err) && c.lacksRight(ctx, live, namespace):
		warning = "the API server has neither checked the manifest nor added defaults, so defaults may show as changes: " + c.Advise(err, namespace).Error()
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

// TryVerb returns a PodManager as it would be after a verb that changes it. If the user lacks a right that the verb needs, the API server has not
// checked the result, and there is a warning.
func (c *Cluster) TryVerb(ctx context.Context, live *v1.PodManager, verb Verb) (wanted *v1.PodManager, warning string, err error) {
	wanted, what, err := c.Do(ctx, live, verb, DryRunServer)
	if !apierrors.IsForbidden(err) || !c.lacksRight(ctx, live, live.Namespace) {
		return wanted, "", err
	}
	warning = "the API server has not checked the change, and would refuse it: " + err.Error()
	wanted, err = what.Applied(live)
	return wanted, warning, err
}

// lacksRight reports whether the user lacks a right that a change may need: to patch or create PodManagers or, where artifacts/policy.yaml is
// installed, to create pods. If so, the caller shows what a user with the right would get. If not, the API server has refused the change itself.
func (c *Cluster) lacksRight(ctx context.Context, live *v1.PodManager, namespace string) bool {
	needed := []rights.Right{{Verb: "patch", Group: v1.GroupName, Resource: "podmanagers"}, rights.CreatePods}
	if live == nil {
		needed = append(needed, rights.Right{Verb: "create", Group: v1.GroupName, Resource: "podmanagers"})
	}
	for _, right := range needed {
		asked := check.Right{Right: right}
		if c.review(ctx, &asked, namespace); asked.Err == nil && !asked.Allowed {
			return true
		}
	}
	return false
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
