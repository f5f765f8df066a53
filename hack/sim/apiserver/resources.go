package apiserver

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// traits are flags for the ways in which resources differ.
type traits uint16

const (
	clusterWide traits = 1 << iota
	hasStatus
	hasScale
	hasGeneration
	needsVersion    // an update has to name the version that it replaces
	createsOnUpdate // an update of an object that does not exist creates it
	returnsDeleted  // the answer to a delete is the deleted object
)

// Resource is a kind that the server serves.
type Resource struct {
	schema.GroupVersionKind
	// Name is the plural name that paths use.
	Name   string
	traits traits
	more   []string // further subresources
	fields []string // supported by field selectors, in addition to the name and the namespace
	schema *Schema  // nil for built-in kinds
}

var workload = hasStatus | hasGeneration

// builtIn are the built-in kinds that the product, its tests and the simulated cluster components use.
var builtIn = []Resource{
	{GroupVersionKind: core("Pod"), Name: "pods", traits: workload | returnsDeleted, more: []string{"binding", "eviction", "resize"},
		fields: []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP", "status.nominatedNodeName"}},
	{GroupVersionKind: core("Node"), Name: "nodes", traits: clusterWide | hasStatus, fields: []string{"spec.unschedulable"}},
	{GroupVersionKind: core("Namespace"), Name: "namespaces", traits: clusterWide | hasStatus | returnsDeleted, more: []string{"finalize"}, fields: []string{"status.phase"}},
	{GroupVersionKind: core("ResourceQuota"), Name: "resourcequotas", traits: hasStatus | returnsDeleted},
	{GroupVersionKind: core("ConfigMap"), Name: "configmaps"},
	{GroupVersionKind: kind("events.k8s.io", "Event"), Name: "events", traits: createsOnUpdate,
		fields: []string{"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "reason", "reportingController", "type"}},
	{GroupVersionKind: kind("apps", "ControllerRevision"), Name: "controllerrevisions"},
	{GroupVersionKind: kind("coordination.k8s.io", "Lease"), Name: "leases", traits: needsVersion | createsOnUpdate},
	{GroupVersionKind: kind("policy", "PodDisruptionBudget"), Name: "poddisruptionbudgets", traits: workload | needsVersion},
}

func core(name string) schema.GroupVersionKind { return kind("", name) }

func kind(group, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
}

func (r *Resource) has(t traits) bool { return r.traits&t != 0 }

func (r *Resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Name}
}

// groupKind returns the kind that errors about an invalid object name.
func (r *Resource) groupKind() schema.GroupKind { return r.GroupVersionKind.GroupKind() }

func (r *Resource) subresources() []string {
	var all []string
	if r.has(hasStatus) {
		all = append(all, "status")
	}
	if r.has(hasScale) {
		all = append(all, "scale")
	}
	return slices.Concat(all, r.more)
}

// newTyped returns an empty object of a built-in kind's Go type.
func (r *Resource) newTyped() Object {
	object, err := scheme.Scheme.New(r.GroupVersionKind)
	if err != nil {
		panic(err) // cannot happen: the scheme has all built-in kinds
	}
	return object.(Object)
}

// storage returns the key of the resource's table.
func (r *Resource) storage() string { return r.groupResource().String() }
