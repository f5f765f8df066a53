package karmada

import (
	"fmt"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	luajson "layeh.com/gopher-json"
	"sigs.k8s.io/yaml"
)

// item is what Karmada knows of a member cluster.
type item struct {
	ClusterName    string `json:"clusterName"`
	Status         object `json:"status,omitempty"`
	Applied        bool   `json:"applied,omitempty"`
	AppliedMessage string `json:"appliedMessage,omitempty"`
}

// template returns the resource template in Karmada's API server, of generation 5. No controller runs there.
func template(t *testing.T) object {
	t.Helper()
	web := state(t, "not-seen-by-a-controller")
	web["metadata"].(object)["generation"] = 5
	return web
}

// aggregated returns the template with the status that Karmada aggregates from these clusters.
func aggregated(t *testing.T, web object, items ...item) object {
	t.Helper()
	script := readCustomization(t).Spec.Customizations.StatusAggregation
	return restored(call(t, script, "AggregateStatus", 1, web, items)[0], web).(object)
}

// members returns clusters m1, m2 and so on in these states. The empty state is that of a cluster that refuses the object.
func members(t *testing.T, states ...string) (items []item) {
	t.Helper()
	for i, name := range states {
		member := item{ClusterName: fmt.Sprint("m", i+1), Applied: name != ""}
		if name == "" {
			member.AppliedMessage = "no matches for kind PodManager"
		} else {
			member.Status = reflected(t, inMember(t, name))
		}
		items = append(items, member)
	}
	return items
}

func condition(web object, kind string) object {
	conditions, _ := web["status"].(object)["conditions"].([]any)
	for _, found := range conditions {
		if found.(object)["type"] == kind {
			return found.(object)
		}
	}
	return nil
}

// healthOf returns the health that Argo CD computes for an object in Karmada's API server.
func healthOf(t *testing.T, web object) string {
	t.Helper()
	vm := newVM(t)
	value, err := luajson.Decode(vm, []byte(toJSON(t, web)))
	if err != nil {
		t.Fatal(err)
	}
	vm.SetGlobal("obj", value)
	if err := vm.DoString(string(read(t, "integrations/argocd/apps.mycompany.com/PodManager/health.lua"))); err != nil {
		t.Fatal(err)
	}
	return vm.GetField(vm.Get(-1), "status").(lua.LString).String()
}

// The clusters together are done when each of them is, and failed as soon as one is.
func TestAggregateStatus(t *testing.T) {
	equal(t, aggregated(t, template(t), []item{}...), aggregated(t, template(t))) // Karmada passes an empty list or none
	for name, test := range map[string]struct {
		states          []string
		observed        int
		reason, message string // message is how the message begins
		health          string
	}{
		"no cluster":         {nil, 5, "NotScheduled", "no cluster has it yet", "Progressing"},
		"one":                {[]string{"ready"}, 5, "AllReplicasAvailable", "m1: 2 of 2 pods available", "Healthy"},
		"all ready":          {[]string{"ready", "updated", "ready"}, 5, "AllReplicasAvailable", "m1 and 2 more: 2 of 2 pods available", "Healthy"},
		"none in one":        {[]string{"zero-replicas", "ready"}, 5, "AllReplicasAvailable", "m2: 2 of 2 pods available", "Healthy"},
		"none anywhere":      {[]string{"zero-replicas", "zero-replicas"}, 5, "ScaledToZero", "m1 and 1 more: no pods wanted, none active", "Healthy"},
		"one rolls":          {[]string{"updated", "rolling", "rolling"}, 5, "RollingOut", "m2 and 1 more: 1 of 2 pods updated", "Progressing"},
		"one bakes":          {[]string{"updated", "baking"}, 5, "Baking", "m2: 2 of 2 pods available; if they stay", "Healthy"},
		"one has halted":     {[]string{"updated", "halted"}, 5, "RolloutHalted", "m2: halted with 1 pod updated", "Degraded"},
		"a rollback":         {[]string{"rolled-back", "rolling"}, 5, "RolledBack", "m1: 2 of 2 pods available; revision", "Degraded"},
		"one at a partition": {[]string{"updated", "partition-reached"}, 5, "PartitionReached", "m2: 2 of 2 pods available; 1 updated, 1 not updated", "Suspended"},
		"paused, one rolls":  {[]string{"paused-with-a-change-waiting", "rolling"}, 5, "RollingOut", "m2: 1 of 2 pods updated", "Progressing"},
		"paused, one done":   {[]string{"updated", "paused-with-a-change-waiting"}, 5, "Paused", "m2: paused, 0 of 2 pods updated", "Suspended"},
		"misconfigured":      {[]string{"misconfigured", "misconfigured"}, 5, "AllReplicasAvailable", "m1 and 1 more: 2 of 2 pods available", "Degraded"},
		"one not seen":       {[]string{"ready", "not-seen-by-a-controller"}, -1, "NoStatus", "m2: has reported no status yet", "Progressing"},
		"one refuses it":     {[]string{"ready", ""}, -1, "NoStatus", "m2: no matches for kind PodManager", "Progressing"},
		"one is behind":      {[]string{"ready", "edited-since"}, -1, "RolloutHalted", "m2: halted with 1 pod updated", "Progressing"},
		"one unreadable":     {[]string{"ready", "undecodable"}, 5, "Undecodable", "m2: a field of the object has the wrong type or is too large", "Degraded"},
		"one over its quota": {[]string{"quota-refused", "ready"}, 5, "Forbidden", "m1: 0 of 2 pods exist; creating pod", "Degraded"},
	} {
		t.Run(name, func(t *testing.T) {
			items := members(t, test.states...)
			web := aggregated(t, template(t), items...)
			ready := condition(web, "Ready")
			if !strings.HasPrefix(fmt.Sprint(ready["message"]), test.message) || ready["reason"] != test.reason {
				t.Errorf("Ready is %v", ready)
			}
			equal(t, web["status"].(object)["observedGeneration"], test.observed)
			if got := healthOf(t, web); got != test.health {
				t.Errorf("Argo CD says %s, want %s, for\n%s", got, test.health, toJSON(t, web["status"]))
			}
			conforms(t, statusSchema(t), web["status"], "status")
			equal(t, aggregated(t, web, items...), web) // Karmada writes the status only if it has changed
		})
	}
}

func TestAggregatedCounts(t *testing.T) {
	status := aggregated(t, template(t), members(t, "rolling", "rolled-back", "quota-refused")...)["status"].(object)
	delete(status, "conditions")
	equal(t, status, object{
		"replicas": 5, "currentReplicas": 4, "updatedReplicas": 1, "readyReplicas": 4, "availableReplicas": 4, "terminatingReplicas": 0,
		"failedRevision": "web-6958ddc9d5", "selector": "podmanager=web", "observedGeneration": 5, // image and revisions differ
	})
	status = aggregated(t, template(t), members(t, "updated", "updated")...)["status"].(object)
	delete(status, "conditions")
	one := state(t, "updated")["status"].(object)
	equal(t, status, object{
		"replicas": 4, "currentReplicas": 4, "updatedReplicas": 4, "readyReplicas": 4, "availableReplicas": 4, "terminatingReplicas": 0,
		"selector": "podmanager=web", "observedGeneration": 5,
		"image": one["image"], "currentRevision": one["currentRevision"], "updateRevision": one["updateRevision"],
	})
}

// If one cluster is done and another is not, the condition reports the one that is not.
func TestAggregatedProgress(t *testing.T) {
	for second, want := range map[string]string{"updated": "Complete", "paused-with-a-change-waiting": "Paused", "rolling": "RollingOut"} {
		equal(t, condition(aggregated(t, template(t), members(t, "updated", second)...), "Progressing")["reason"], want)
	}
}

// A condition keeps the time of its last transition until its value changes. Then it takes the member's time.
func TestAggregatedTimes(t *testing.T) {
	web := aggregated(t, template(t), members(t, "ready")...)
	equal(t, condition(web, "Ready")["lastTransitionTime"], "2000-01-01T00:00:00Z")
	web = aggregated(t, web, members(t, "rolling")...)
	since := condition(web, "Ready")["lastTransitionTime"]
	equal(t, since, condition(state(t, "rolling"), "Ready")["lastTransitionTime"])
	web = aggregated(t, web, members(t, "creating")...) // still not ready, so the time stays
	equal(t, condition(web, "Ready")["lastTransitionTime"], since)
	// A cluster has not seen the newest change yet. kubectl wait goes by the observedGeneration of the conditions.
	web["metadata"].(object)["generation"] = 6
	web = aggregated(t, web, members(t, "ready")...)
	equal(t, web["status"].(object)["observedGeneration"], 5)
	equal(t, condition(web, "Ready")["observedGeneration"], 5)
}

// schema is the part of the CRD's schema that decides whether the API server takes a status, and takes all of it.
type schema struct {
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Required   []string          `json:"required"`
	Minimum    *float64          `json:"minimum"`
}

func statusSchema(t *testing.T) schema {
	t.Helper()
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema schema }
			}
		}
	}
	if err := yaml.Unmarshal(read(t, "crd.yaml"), &crd); err != nil {
		t.Fatal(err)
	}
	for _, version := range crd.Spec.Versions {
		if version.Name == "v1" {
			return version.Schema.OpenAPIV3Schema.Properties["status"]
		}
	}
	t.Fatal("crd.yaml has no version v1")
	return schema{}
}

// conforms checks that the API server would store a value as it is.
func conforms(t *testing.T, want schema, value any, path string) {
	t.Helper()
	kinds := map[string]bool{}
	switch value := value.(type) {
	case object:
		kinds["object"] = true
		for key, field := range value {
			if declared, found := want.Properties[key]; found {
				conforms(t, declared, field, path+"."+key)
			} else {
				t.Errorf("%s.%s is not declared", path, key)
			}
		}
		for _, key := range want.Required {
			if value[key] == nil {
				t.Errorf("%s.%s is missing", path, key)
			}
		}
	case []any:
		kinds["array"] = true
		for i, element := range value {
			conforms(t, *want.Items, element, fmt.Sprintf("%s[%d]", path, i))
		}
	case float64:
		kinds["integer"] = value == float64(int64(value))
		if want.Minimum != nil && value < *want.Minimum {
			t.Errorf("%s is %v, which is below %v", path, value, *want.Minimum)
		}
	case string:
		kinds["string"] = true
	}
	if !kinds[want.Type] {
		t.Errorf("%s is %v, want %s", path, value, want.Type)
	}
}
