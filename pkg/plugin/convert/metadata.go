package convert

import (
	"maps"
	"slices"
	"strings"
)

// serverSet are the fields of metadata that the API server sets.
var serverSet = []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

// bookkeeping lists annotations that kubectl and the source's controllers write for their own use.
var bookkeeping = []string{"kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/"}

// deployers are tools that keep applying a manifest, and the labels and annotations that mark their objects.
var deployers = []struct {
	name  string
	marks []string
}{
	{"Helm", []string{"meta.helm.sh/", "helm.sh/chart", "app.kubernetes.io/managed-by"}},
	{"Argo CD", []string{"argocd.argoproj.io/"}},
	{"Flux", []string{"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"}},
}

// metadata returns the metadata of the PodManager.
func (c *conversion) metadata() map[string]any {
	metadata := map[string]any{"name": c.name}
	if namespace := c.text("metadata", "namespace"); namespace != "" {
		metadata["namespace"] = namespace
	}
	c.take("metadata", "name")
	for _, field := range serverSet {
		c.take("metadata", field)
	}
	c.tell("the finalizers are left out, because the controller that would remove them watches the "+c.kind+", not the PodManager", "metadata", "finalizers")
	c.tell("the PodManager gets no owner; add the ownerReference if it must be deleted with the owner", "metadata", "ownerReferences")
	c.tell("is left out: a PodManager has a fixed name, here "+c.name, "metadata", "generateName")
	for _, field := range []string{"labels", "annotations"} {
		if kept := c.withoutMarks(field); len(kept) > 0 {
			metadata[field] = kept
		}
	}
	return metadata
}

// withoutMarks returns the labels or annotations without a deployment tool's marks, which would make the tool mistake the PodManager for the
// source.
func (c *conversion) withoutMarks(field string) map[string]any {
	all, _ := c.take("metadata", field).(map[string]any)
	for _, tool := range deployers {
		key := firstMark(all, tool.marks, tool.name)
		if key == "" {
			continue
		}
		if !slices.Contains(c.deployers, tool.name) {
			c.deployers = append(c.deployers, tool.name)
			c.note("metadata.%s: %s deploys the %s (%s); replace its manifest with this one in the source of %[2]s, or %[2]s brings the %[3]s back",
				field, tool.name, c.kind, key)
		}
		maps.DeleteFunc(all, func(key string, value any) bool { return isMark(key, value, tool.marks, tool.name) })
	}
	maps.DeleteFunc(all, func(key string, value any) bool { return isMark(key, value, bookkeeping, "") })
	return all
}

func firstMark(all map[string]any, marks []string, tool string) string {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if isMark(key, all[key], marks, tool) {
			return key
		}
	}
	return ""
}

func isMark(key string, value any, marks []string, tool string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool {
		isPrefix := strings.HasSuffix(mark, "/") && strings.HasPrefix(key, mark)
		return isPrefix || key == mark && (key != "app.kubernetes.io/managed-by" || value == tool)
	})
}
