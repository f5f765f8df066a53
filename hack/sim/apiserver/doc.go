// Package apiserver is an API server in memory, for simulations: the real client-go runs over it, within a synctest bubble or not. A client
// is an http.RoundTripper. There are no sockets, and the server has no goroutines of its own: a request runs in the goroutine of its client,
// and a watch in the goroutine that reads it.
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
// What the API server itself does is here. What other processes of a cluster do is not: the garbage collector, the scheduler, kubelets, and
// the controllers of namespaces, disruption budgets and quotas are clients.
//
// Everything is in one order: there is one version counter, lists are sorted, and random bits come from the source that the simulation hands in.
package apiserver
