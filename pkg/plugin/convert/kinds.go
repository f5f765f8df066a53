package convert

import (
	"fmt"
	"strings"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// kind is a kind that can be converted.
type kind struct {
	kind string
	// groups are the API groups that have, or had, this kind.
	groups  []string
	convert func(*conversion) error
	// revisions reports whether the kind's controller keeps ControllerRevisions.
	revisions bool
}

var kinds = []kind{
	{kind: "Deployment", groups: []string{"apps", "extensions"}, convert: deployment},
	{kind: "ReplicaSet", groups: []string{"apps", "extensions"}, convert: replicaSet},
	{kind: "StatefulSet", groups: []string{"apps"}, convert: statefulSet, revisions: true},
	{kind: "CloneSet", groups: []string{"apps.kruise.io"}, convert: cloneSet, revisions: true},
}

// deployment converts a Deployment. Its fields have the same names in a PodManager, except that strategy is updateStrategy.
func deployment(c *conversion) error {
	c.carry("paused", "progressDeadlineSeconds")
	limits := map[string]any{}
	for _, name := range []string{"maxSurge", "maxUnavailable"} {
		if err := c.limit(limits, name, nil, "strategy", "rollingUpdate", name); err != nil {
			return err
		}
	}
	switch strategy := c.text("spec", "strategy", "type"); strategy {
	case "", "RollingUpdate":
		c.strategy(v1.RollingUpdateStrategy, limits)
	case "Recreate":
		c.strategy(v1.RecreateStrategy, nil)
	default:
		return fmt.Errorf("spec.strategy.type %s is not known", strategy)
	}
	return nil
}

// replicaSet converts a ReplicaSet, which does not touch its pods when its template changes.
func replicaSet(c *conversion) error {
	c.strategy(v1.OnDeleteStrategy, nil)
	c.note("spec.updateStrategy.type: is OnDelete, since a ReplicaSet leaves its pods as they are when its template changes; RollingUpdate replaces them")
	return nil
}

func statefulSet(c *conversion) error {
	limits := map[string]any{"maxSurge": int64(0)}
	if err := c.limit(limits, "maxUnavailable", int64(1), "updateStrategy", "rollingUpdate", "maxUnavailable"); err != nil {
		return err
	}
	// A StatefulSet's partition is an ordinal below which pods stay on the old revision. A PodManager's partition is the number of such pods.
	start := c.number("spec", "ordinals", "start")
	if partition := c.number("spec", "updateStrategy", "rollingUpdate", "partition") - start; partition > 0 {
		limits["partition"] = partition
		c.note("spec.updateStrategy.rollingUpdate.partition: keeps this many pods (%d) on the old revision, but not always those with the lowest numbers",
			partition)
	}
	if start != 0 {
		c.note("spec.ordinals.start: is left out: the numbers of a PodManager's pods begin at 0")
	}
	switch strategy := c.text("spec", "updateStrategy", "type"); strategy {
	case "", "RollingUpdate":
		c.strategy(v1.RollingUpdateStrategy, limits)
		c.note("spec.updateStrategy: pods are updated in any order, not from the highest number down")
	case "OnDelete":
		c.strategy(v1.OnDeleteStrategy, nil)
	default:
		return fmt.Errorf("spec.updateStrategy.type %s is not known", strategy)
	}
	c.spec["podReplacementPolicy"] = string(v1.TerminationComplete)
	c.note("spec.podReplacementPolicy: is TerminationComplete, since a StatefulSet replaces a pod only when it is gone; " +
		"if you do not need that, leave the field out")
	c.tell(fmt.Sprintf("is left out: pods have no DNS names (%s-0.SERVICE), and an index is not an identity: another pod may get the same index later",
		c.name), "spec", "serviceName")
	if policy := c.text("spec", "podManagementPolicy"); policy != "Parallel" {
		c.note("spec.podManagementPolicy: is left out: pods are created and deleted at the same time (Parallel), not one after the other " +
			"(OrderedReady); scaleDown.maxTerminating paces deletions")
	}
	c.tell("is left out: pods of a PodManager have no claims of their own", "spec", "persistentVolumeClaimRetentionPolicy")
	c.note("pods of a PodManager do not have the label statefulset.kubernetes.io/pod-name: a Service that selects a single pod by it finds none")
	return nil
}

func cloneSet(c *conversion) error {
	c.carry("progressDeadlineSeconds")
	limits := map[string]any{}
	for _, limit := range []struct {
		name      string
		otherwise any
	}{{"maxSurge", int64(0)}, {"maxUnavailable", "20%"}, {"partition", nil}} {
		if err := c.limit(limits, limit.name, limit.otherwise, "updateStrategy", limit.name); err != nil {
			return err
		}
	}
	if percent, isText := limits["maxUnavailable"].(string); isText {
		c.note("spec.updateStrategy.maxUnavailable: a PodManager rounds %s down, but to at least 1 if maxSurge is 0; a CloneSet rounds up if maxSurge is 0",
			percent)
	}
	if grace := c.take("spec", "updateStrategy", "inPlaceUpdateStrategy", "gracePeriodSeconds"); grace != nil {
		limits["inPlaceGracePeriodSeconds"] = grace
		c.note("spec.updateStrategy.inPlaceUpdateStrategy.gracePeriodSeconds: needs the readiness gate %s, which only pods that the PodManager has "+
			"created have", v1.InPlaceReady)
	}
	policies := map[string]v1.PodUpdatePolicy{
		"": v1.RecreatePods, "ReCreate": v1.RecreatePods, "InPlaceIfPossible": v1.InPlaceIfPossible, "InPlaceOnly": v1.InPlaceOnly,
	}
	kind := c.text("spec", "updateStrategy", "type")
	policy, known := policies[kind]
	if !known {
		return fmt.Errorf("spec.updateStrategy.type %s is not known; it is one of ReCreate, InPlaceIfPossible and InPlaceOnly", kind)
	}
	limits["podUpdatePolicy"] = string(policy)
	c.strategy(v1.RollingUpdateStrategy, limits)
	if paused, _ := c.take("spec", "updateStrategy", "paused").(bool); paused {
		c.spec["paused"] = true
	}
	c.tellCloneSet()
	return nil
}

// tellCloneSet reports the fields that only a CloneSet has.
func (c *conversion) tellCloneSet() {
	if names, _ := c.take("spec", "scaleStrategy", "podsToDelete").([]any); len(names) > 0 {
		c.note("spec.scaleStrategy.podsToDelete: is left out: use kubectl annotate pod %s %s=true instead",
			strings.Trim(fmt.Sprint(names), "[]"), v1.AnnotationDelete)
	}
	c.tell("is left out: pods are created in batches of 1, 2, 4 and so on, whether or not the pods of earlier batches are available",
		"spec", "scaleStrategy", "maxUnavailable")
	c.tell("is left out: pods of a PodManager have no claims of their own", "spec", "scaleStrategy", "disablePVCReuse")
	c.tell("is left out: pods are updated in any order", "spec", "updateStrategy", "priorityStrategy")
	c.tell("is left out: pods are updated in any order", "spec", "updateStrategy", "scatterStrategy")
	c.tell("is left out: a PodManager has no hooks; finalizers in the template delay a deletion, and inPlaceGracePeriodSeconds takes a pod out of its "+
		"Services before it is updated in place", "spec", "lifecycle")
}
