package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// longestName is the number of characters of the longest name that the CRD allows.
const longestName = 52

// Options are the options of a conversion.
type Options struct {
	// Name is the name of the PodManager. If it is empty, the PodManager gets the name of the source.
	Name string
	// Live has the objects that refer to a live object or belong to it. It is nil for an object from a file.
	Live *Live
	// Autoscalers are the HorizontalPodAutoscalers of the same file.
	Autoscalers []*unstructured.Unstructured
	// KeepReplicas keeps the number of pods even if an autoscaler sets it, for a script that hands over exactly the pods that there are.
	KeepReplicas bool
}

// Result is a PodManager, and notes that the user should read.
type Result struct {
	// From is the kind and name of the source.
	From    string
	Manager *unstructured.Unstructured
	Notes   []string
}

// FullName returns the name that -o name prints.
func (r Result) FullName() string { return "podmanager." + v1.GroupName + "/" + r.Manager.GetName() }

// Kinds lists the kinds that can be converted.
func Kinds() string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.kind+" ("+kind.groups[0]+")")
	}
	return strings.Join(names, ", ")
}

// Check returns an error if objects of a kind cannot be converted.
func Check(gk schema.GroupKind) error {
	if find(gk) == nil {
		return fmt.Errorf("%s cannot be converted; convert takes %s", gk, Kinds())
	}
	return nil
}

func find(gk schema.GroupKind) *kind {
	for i := range kinds {
		if kinds[i].kind == gk.Kind && slices.Contains(kinds[i].groups, gk.Group) {
			return &kinds[i]
		}
	}
	return nil
}

// Convert makes a PodManager from an object.
func Convert(object *unstructured.Unstructured, o Options) (Result, error) {
	gk := object.GroupVersionKind().GroupKind()
	if err := Check(gk); err != nil {
		return Result{}, err
	}
	if err := refuse(object, o); err != nil {
		return Result{}, fmt.Errorf("%s: %w", from(object), err)
	}
	c := &conversion{source: newSource(object), spec: map[string]any{}, kind: gk.Kind, name: object.GetName()}
	if o.Name != "" {
		c.name = o.Name
	}
	metadata := c.metadata()
	c.common()
	if autoscalers := autoscalersOf(object, o); len(autoscalers) > 0 && !o.KeepReplicas {
		c.leaveReplicas(autoscalers)
	}
	if err := find(gk).convert(c); err != nil {
		return Result{}, fmt.Errorf("%s: %w", from(object), err)
	}
	c.deadlines()
	for _, field := range []string{"apiVersion", "kind", "status"} {
		c.take(field)
	}
	c.tellRest()
	c.aboutFailures()
	for _, note := range c.around(object, o) {
		c.note("%s", note)
	}
	return Result{
		From: from(object), Notes: c.notes,
		Manager: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1.GroupVersionKind.GroupVersion().String(), "kind": v1.Kind, "metadata": metadata, "spec": c.spec,
		}},
	}, nil
}

// conversion is a conversion in progress.
type conversion struct {
	*source
	// spec is the spec of the PodManager.
	spec map[string]any
	// kind is the kind of the source, name the name of the PodManager.
	kind, name string
	// deployers are the tools that deploy the source.
	deployers []string
}

// carry copies fields of the source's spec to the PodManager's spec under the same name.
func (c *conversion) carry(names ...string) {
	for _, name := range names {
		if value := c.take("spec", name); value != nil {
			c.spec[name] = value
		}
	}
}

// common converts the fields that all kinds have.
func (c *conversion) common() {
	c.spec["replicas"] = int64(1) // the default of all source kinds; a PodManager has a different one
	c.carry("replicas", "minReadySeconds", "revisionHistoryLimit")
	c.tell(fmt.Sprintf("is left out: a PodManager finds its pods by the label %s=%s, which it sets by itself", v1.LabelManager, c.name),
		"spec", "selector")
	c.template()
}

// refuse returns an error if the object cannot be converted.
func refuse(object *unstructured.Unstructured, o Options) error {
	owner := metav1.GetControllerOf(object)
	claims, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
	_, hasSpec := object.Object["spec"].(map[string]any)
	name := object.GetName()
	if o.Name != "" {
		name = o.Name
	}
	switch {
	case name == "":
		return errors.New("it has no name; give one with --name")
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return fmt.Errorf("%q is not a valid object name: give another one with --name", name)
	case len(name) > longestName:
		return fmt.Errorf("its name has %d characters, but the name of a PodManager may have at most %d: choose another one with --name", len(name), longestName)
	case owner != nil:
		return fmt.Errorf("%s %s controls it, and would create it again: convert that %[1]s instead, if its kind can be converted", owner.Kind, owner.Name)
	case object.GetDeletionTimestamp() != nil:
		return errors.New("it is being deleted")
	case len(claims) > 0:
		return errors.New("it has volumeClaimTemplates, and pods of a PodManager have no claims of their own: the data of a pod would not follow it; stay with this kind")
	case !hasSpec:
		return errors.New("it has no spec, or its spec is not an object")
	default:
		return nil
	}
}

// from returns the kind and name of the source.
func from(object *unstructured.Unstructured) string {
	return text.OneLine(object.GetKind() + " " + object.GetName())
}
