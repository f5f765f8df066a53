// Package apiserver is an in-memory API server for simulations. The real client-go runs against it, inside a synctest bubble or outside. A client
// is an http.RoundTripper. There are no sockets, and the server starts no goroutines: a request runs in the goroutine of its client, and a watch
// runs in the goroutine that reads it.
//
//	server.go     what a simulation does to the server: start, compact, restart, restore, observe
//	client.go     transports, and where faults come in
//	request.go    what a request asks for; routing
//	resources.go  which kinds are served
//	store.go      objects, versions and their history
//	list.go, watch.go, create.go, update.go, patch.go, delete.go    a file for each verb
//	pods.go, eviction.go, subresources.go    status and resize of pods; eviction; binding and scale
//	encoding.go   JSON and protobuf
//	defaults.go, schema.go    defaults of pods, and those of a CRD
//	admission.go, quota.go    hooks that refuse or change objects; namespaces and quotas
//	discovery.go, reviews.go    what is served, and who may do what
//
// This package simulates only the API server. The other components of a cluster are its clients: the garbage collector, the scheduler, kubelets,
// and the controllers of namespaces, disruption budgets and quotas.
//
// Every run is deterministic: there is one version counter, lists are sorted, and random bits come from the source that the simulation passes in.
package apiserver
