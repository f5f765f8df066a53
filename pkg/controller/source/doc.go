// Package source is where the controller's knowledge comes from: informers of pods, ControllerRevisions and PodManagers.
//
// Start with scope.go: a Scope is what is watched in one namespace, or in all of them. indexes.go answers the questions of a sync from the
// caches. scopes.go tells how each Scope fares, life.go starts it when its rights are there and stops it, namespaces.go finds the
// Scope of a namespace. transform.go keeps the caches small. decode.go survives an object that does not fit its type, rewind.go an API
// server that goes back in time.
//
// Handlers are in pkg/controller: nothing here knows what an event is good for.
package source
