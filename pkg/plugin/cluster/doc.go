// Package cluster is where kubectl podmanager talks to the API server.
//
// connect.go makes the clients from the flags that kubectl has. read.go finds out which PodManagers a user means, and reads them with their
// pods and revisions, as far as the user may. watch.go keeps them up to date, and connects again when the connection drops. write.go writes
// changes, dryrun.go tries what kubectl apply would do. facts.go reads what check and why ask for, workloads.go objects of the kinds that
// convert knows, migrate.go has objects stored anew. errors.go turns errors into advice.
//
// No request is made that a verb does not need: there is no discovery, but for check and convert.
package cluster
