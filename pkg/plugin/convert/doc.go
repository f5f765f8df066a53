// Package convert turns a Deployment, ReplicaSet, StatefulSet or OpenKruise CloneSet into a PodManager and reports what has no counterpart.
//
// Start with convert.go. source.go takes fields out of the object, so that the fields left over at the end can be reported: no field is dropped
// silently. metadata.go, template.go and strategies.go convert the parts. kinds.go has what is specific to each kind. documents.go reads files
// and writes manifests. autoscalers.go leaves the number of pods to an autoscaler. adopt.go writes the script that hands running pods over, and
// around.go reports what happens to other objects, such as autoscalers.
//
// Nothing here talks to a cluster. Package cluster reads live objects.
package convert
