package sim

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/pkg/world/dice"
)

// collector is the garbage collector. Like the real one, it keeps a graph of all objects that it has seen, and asks the API server before it
// deletes an object.
type collector struct {
	ctx    context.Context
	client metadata.Interface
	dice   dice.Dice

	mu      sync.Mutex
	objects map[types.UID]*node
	due     []types.UID // objects to process, in order
	wake    chan struct{}
}

// node is an object of the graph. An object that was only seen as an owner has no content.
type node struct {
	resource schema.GroupVersionResource
	content  apiserver.Object
	// dependents are the objects that name this one as an owner.
	dependents []types.UID
}

func newCollector(ctx context.Context, client metadata.Interface, d dice.Dice) *collector {
	return &collector{ctx: ctx, client: client, dice: d, objects: map[types.UID]*node{}, wake: make(chan struct{}, 1)}
}

// see handles a change of any object.
func (g *collector) see(c *apiserver.Change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	uid := uidOf(c)
	before := g.objects[uid]
	if before == nil {
		before = &node{}
		g.objects[uid] = before
	}
	before.resource = c.Request.Resource.GroupVersion().WithResource(c.Request.Resource.Name)
	if before.content != nil {
		for _, ref := range before.content.GetOwnerReferences() {
			g.forget(ref.UID, uid)
		}
		before.content = nil
	}
	if c.New == nil {
		for _, dependent := range before.dependents {
			g.add(dependent)
		}
		for _, ref := range c.Old.GetOwnerReferences() {
			g.add(ref.UID) // the owner may wait for this dependent
		}
		if len(before.dependents) == 0 {
			delete(g.objects, uid)
		}
		return
	}
	before.content = c.New
	for _, ref := range before.content.GetOwnerReferences() {
		owner := g.objects[ref.UID]
		if owner == nil {
			owner = &node{}
			g.objects[ref.UID] = owner
		}
		owner.dependents = append(owner.dependents, uid)
		if owner.content == nil {
			g.add(uid)
		}
	}
	if before.content.GetDeletionTimestamp() != nil {
		g.add(uid)
	}
}

func (g *collector) forget(owner, dependent types.UID) {
	if found := g.objects[owner]; found != nil {
		found.dependents = slices.DeleteFunc(found.dependents, func(uid types.UID) bool { return uid == dependent })
	}
}

// add queues an object.
func (g *collector) add(uid types.UID) {
	if !slices.Contains(g.due, uid) {
		g.due = append(g.due, uid)
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// run collects garbage until the context is done.
func (g *collector) run() {
	for {
		select {
		case <-g.wake:
		case <-g.ctx.Done():
			return
		}
		for {
			if !pause(g.ctx, time.Millisecond+upTo(g.dice, 300*time.Millisecond)) {
				return
			}
			content, resource, dependents, more := g.next()
			if !more {
				break
			}
			if content != nil {
				g.process(content, resource, dependents)
			}
		}
	}
}

func (g *collector) next() (content apiserver.Object, resource schema.GroupVersionResource, dependents []*node, more bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.due) == 0 {
		return nil, resource, nil, false
	}
	found := g.objects[g.due[0]]
	g.due = g.due[1:]
	if found == nil || found.content == nil {
		return nil, resource, nil, true
	}
	for _, uid := range found.dependents {
		if other := g.objects[uid]; other != nil && other.content != nil {
			dependents = append(dependents, &node{resource: other.resource, content: other.content})
		}
	}
	return found.content, found.resource, dependents, true
}

// process orphans or deletes the dependents of a terminating object, and deletes an object whose owners are all gone.
func (g *collector) process(content apiserver.Object, resource schema.GroupVersionResource, dependents []*node) {
	if content.GetDeletionTimestamp() != nil {
		switch {
		case slices.Contains(content.GetFinalizers(), metav1.FinalizerOrphanDependents):
			for _, dependent := range dependents {
				g.orphan(content, dependent)
			}
			g.removeFinalizer(content, resource, metav1.FinalizerOrphanDependents)
		case slices.Contains(content.GetFinalizers(), metav1.FinalizerDeleteDependents):
			waits := false
			for _, dependent := range dependents {
				waits = waits || isBlocking(content.GetUID(), dependent.content)
				if dependent.content.GetDeletionTimestamp() == nil {
					g.delete(dependent.content, dependent.resource)
				}
			}
			if !waits {
				g.removeFinalizer(content, resource, metav1.FinalizerDeleteDependents)
			}
		}
		return
	}
	refs := content.GetOwnerReferences()
	isGone := func(ref metav1.OwnerReference) bool { return !g.exists(content.GetNamespace(), ref) }
	if len(refs) > 0 && !slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool { return !isGone(ref) }) {
		g.delete(content, resource)
	}
}

// exists reports whether the API server has the owner.
func (g *collector) exists(namespace string, ref metav1.OwnerReference) bool {
	owner, err := g.client.Resource(podManagers).Namespace(namespace).Get(g.ctx, ref.Name, metav1.GetOptions{})
	return err == nil && owner.UID == ref.UID
}

func isBlocking(owner types.UID, dependent apiserver.Object) bool {
	return slices.ContainsFunc(dependent.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == owner && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
	})
}

func (g *collector) delete(content apiserver.Object, resource schema.GroupVersionResource) {
	background := metav1.DeletePropagationBackground
	_ = g.client.Resource(resource).Namespace(content.GetNamespace()).Delete(g.ctx, content.GetName(), metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(content.GetUID())), PropagationPolicy: &background,
	})
}

// orphan removes an owner reference from a dependent.
func (g *collector) orphan(owner apiserver.Object, dependent *node) {
	refs := slices.DeleteFunc(dependent.content.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() })
	if refs == nil {
		refs = []metav1.OwnerReference{}
	}
	g.patch(dependent.content, dependent.resource, map[string]any{"uid": dependent.content.GetUID(), "ownerReferences": refs})
}

func (g *collector) removeFinalizer(content apiserver.Object, resource schema.GroupVersionResource, finalizer string) {
	remaining := slices.DeleteFunc(slices.Clone(content.GetFinalizers()), func(other string) bool { return other == finalizer })
	g.patch(content, resource, map[string]any{"resourceVersion": content.GetResourceVersion(), "finalizers": remaining})
}

func (g *collector) patch(content apiserver.Object, resource schema.GroupVersionResource, fields map[string]any) {
	patch, err := json.Marshal(map[string]any{"metadata": fields})
	if err != nil {
		panic(err) // cannot happen: the fields are strings and owner references
	}
	_, err = g.client.Resource(resource).Namespace(content.GetNamespace()).Patch(g.ctx, content.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && g.ctx.Err() == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.add(content.GetUID()) // the object has changed in the meantime
	}
}
