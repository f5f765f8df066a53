package change

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// tool is a deployment tool, which applies manifests from a source outside of the cluster.
type tool struct {
	// managers are its field managers.
	managers []string
	name     string
	advice   string
}

var tools = []tool{
	{[]string{"kustomize-controller", "helm-controller"}, "Flux", "make the change in the source that Flux applies, or suspend Flux first"},
	{[]string{"argocd-controller", "argocd-application-controller", "argocd"}, "Argo CD",
		"make the change in the repository, or turn automatic sync off first"},
	{[]string{"helm"}, "Helm", "change the chart's values, too, or the next helm upgrade"},
}

// Warnings returns a warning for each tool that owns a field which the change writes, and that would revert the change.
func (c Change) Warnings(manager *v1.PodManager) []string {
	var warnings []string
	for _, tool := range tools {
		for _, entry := range manager.ManagedFields {
			field := c.firstOwned(entry)
			if field == "" || !slices.Contains(tool.managers, entry.Manager) {
				continue
			}
			warning := fmt.Sprintf("%s (field manager %s) owns %s of %s and will revert the change: %s",
				tool.name, entry.Manager, field, manager.Name, tool.advice)
			if tool.name == "Helm" {
				warning = fmt.Sprintf("Helm (field manager %s) owns %s of %s: %s reverts the change", entry.Manager, field, manager.Name, tool.advice)
			}
			warnings = append(warnings, warning)
			break
		}
	}
	return warnings
}

// firstOwned returns the first field of the change that an entry of managedFields owns at least in part. It is empty if there is none.
func (c Change) firstOwned(entry metav1.ManagedFieldsEntry) string {
	if entry.FieldsV1 == nil || entry.Subresource == "status" {
		return ""
	}
	owned := fieldpath.NewSet()
	if owned.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return "" // an unknown format: no warning is better than a wrong one
	}
	for _, field := range c.Fields() {
		// In managedFields, lists are atomic or keyed. In a patch, they are indexed. So only the path above the first index can be compared.
		top := topOf(field)
		found := false
		owned.Iterate(func(path fieldpath.Path) {
			is := strings.TrimPrefix(path.String(), ".")
			found = found || is == top || strings.HasPrefix(is, top+".") || strings.HasPrefix(is, top+"[")
		})
		if found {
			return top
		}
	}
	return ""
}

// topOf returns the part of a field's path above the first list index.
func topOf(field string) string {
	parts := strings.Split(field, ".")
	for i, part := range parts {
		if strings.Trim(part, "0123456789") == "" {
			return strings.Join(parts[:i], ".")
		}
	}
	return field
}
