// Package convert turns a Deployment, a ReplicaSet, a StatefulSet or an OpenKruise CloneSet into a PodManager, and says what has no
// counterpart.
//
// Start with convert.go. source.go takes fields out of the object, so that what nobody has taken is told in the end: no field is dropped
// silently. metadata.go, template.go and strategies.go convert the parts; kinds.go has what is special about each kind. documents.go reads files
// and writes manifests. adopt.go writes the script that hands running pods over.
//
// Nothing here talks to a cluster; package cluster reads what is live.
package convert
