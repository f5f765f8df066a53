// Package source has the informers of pods, ControllerRevisions, PodManagers and nodes, and the caches that they fill.
//
// Start with scope.go: a Scope has the informers of one namespace or of all namespaces; with sharding, those of one shard. indexes.go looks
// up objects in the caches. runner.go starts a Scope once the controller has the rights for it. scopes.go has the state of each Scope, and
// namespaces.go finds the Scope of a namespace. trim.go drops fields before objects enter the caches. decode.go tolerates objects that do not
// fit their Go type. rewind.go detects that the API server has gone back in time: cmd/controller then creates new Scopes. nodes.go watches
// nodes, once a PodManager needs them.
//
// The event handlers are in pkg/controller.
package source
