// Package cluster contains all communication of kubectl pm with the API server.
//
// connect.go creates the clients from kubectl's flags. read.go parses which PodManagers a user means, and reads them with their pods and
// revisions, as far as the user may. watch.go keeps them up to date and reconnects if the connection drops. write.go writes changes, and
// dryrun.go tries what kubectl apply would do. facts.go reads what check and why need, and workloads.go reads the kinds that convert supports.
// drain.go reads what a drain depends on, and surge.go whether there is room for a surge pod: a dry run of one pod shows a quota. logs.go copies
// logs, and handover.go asks whether the user may run exec and port-forward. migrate.go rewrites stored objects. errors.go turns errors into advice.
//
// A verb sends only the requests that it needs: only check and convert use discovery.
package cluster
