package leader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// testServer stores Leases like an API server, with resourceVersions, conflicts and watches.
type testServer struct {
	mutex   sync.Mutex
	version int
	leases  map[string]*coordinationv1.Lease
	clients []*testClient
	// history has the latest changes, one for each version. A watch resumes where a list, or another watch, has ended.
	history []watch.Event
}

func heldBy(identity string) coordinationv1.LeaseSpec {
	now := metav1.NowMicro()
	return coordinationv1.LeaseSpec{HolderIdentity: &identity, LeaseDurationSeconds: ptr.To[int32](14), AcquireTime: &now, RenewTime: &now}
}

// maxHistory is less than the 100 events that a fake watch can buffer.
const maxHistory = 50

// client returns the client of one replica.
func (s *testServer) client() *testClient {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c := &testClient{server: s, watches: map[*watch.RaceFreeFakeWatcher]bool{}}
	s.clients = append(s.clients, c)
	return c
}

// change gives the Lease the next resourceVersion, and sends an event to all watches.
func (s *testServer) change(event watch.EventType, lease *coordinationv1.Lease) {
	s.version++
	lease.ResourceVersion = strconv.Itoa(s.version)
	s.history = append(s.history, watch.Event{Type: event, Object: lease.DeepCopy()})
	s.history = s.history[max(0, len(s.history)-maxHistory):]
	for _, c := range s.clients {
		for w := range c.watches {
			if !c.cut && !w.IsStopped() {
				w.Action(event, lease.DeepCopy())
			}
		}
	}
}

func (s *testServer) holders() map[string]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := map[string]string{}
	for name, lease := range s.leases {
		all[name] = *lease.Spec.HolderIdentity
	}
	return all
}

// testClient implements the part of the Lease client that a Group uses.
type testClient struct {
	coordinationclient.LeaseInterface
	server  *testServer
	watches map[*watch.RaceFreeFakeWatcher]bool
	// cut makes requests hang until their deadline, and stalls watches.
	cut bool
}

func (c *testClient) Leases(string) coordinationclient.LeaseInterface { return c }

func (c *testClient) setCut(cut bool) {
	c.server.mutex.Lock()
	defer c.server.mutex.Unlock()
	c.cut = cut
	if !cut { // the connection breaks, and informers list again
		for w := range c.watches {
			w.Stop()
		}
		clear(c.watches)
	}
}

// request waits a moment, like a network, and locks the server.
func (c *testClient) request(ctx context.Context) (unlock func(), err error) {
	time.Sleep(5 * time.Millisecond)
	c.server.mutex.Lock()
	cut := c.cut
	c.server.mutex.Unlock()
	if cut {
		timeout, cancel := context.WithTimeout(ctx, 5*time.Second) // the client's timeout
		defer cancel()
		<-timeout.Done()
		return nil, errors.New("cut off")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.server.mutex.Lock()
	return c.server.mutex.Unlock, nil
}

func (c *testClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	none := &coordinationv1.Lease{} // client-go returns an empty object with an error
	unlock, err := c.request(ctx)
	if err != nil {
		return none, err
	}
	defer unlock()
	lease, found := c.server.leases[name]
	if !found {
		return none, apierrors.NewNotFound(leaseResource, name)
	}
	return lease.DeepCopy(), nil
}

func (c *testClient) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	unlock, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, found := c.server.leases[lease.Name]; found {
		return nil, apierrors.NewAlreadyExists(leaseResource, lease.Name)
	}
	created := lease.DeepCopy()
	created.UID = types.UID(fmt.Sprint("uid-", c.server.version))
	created.CreationTimestamp = metav1.Now()
	return c.store(watch.Added, created), nil
}

func (c *testClient) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	unlock, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	stored, found := c.server.leases[lease.Name]
	switch {
	case lease.Name == "":
		return nil, errors.New("resource name may not be empty")
	case !found:
		return nil, apierrors.NewNotFound(leaseResource, lease.Name)
	case stored.ResourceVersion != lease.ResourceVersion:
		return nil, apierrors.NewConflict(leaseResource, lease.Name, errors.New("changed meanwhile"))
	}
	return c.store(watch.Modified, lease.DeepCopy()), nil
}

func (c *testClient) store(event watch.EventType, lease *coordinationv1.Lease) *coordinationv1.Lease {
	c.server.leases[lease.Name] = lease
	c.server.change(event, lease)
	return lease.DeepCopy()
}

func (c *testClient) Delete(ctx context.Context, name string, _ metav1.DeleteOptions) error {
	unlock, err := c.request(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	lease, found := c.server.leases[name]
	if !found {
		return apierrors.NewNotFound(leaseResource, name)
	}
	delete(c.server.leases, name)
	c.server.change(watch.Deleted, lease)
	return nil
}

func (c *testClient) List(ctx context.Context, _ metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	unlock, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list := &coordinationv1.LeaseList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(c.server.version)}}
	for _, name := range slices.Sorted(maps.Keys(c.server.leases)) {
		list.Items = append(list.Items, *c.server.leases[name].DeepCopy())
	}
	return list, nil
}

func (c *testClient) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	unlock, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if options.SendInitialEvents != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil) // like an older API server
	}
	seen, err := strconv.Atoi(options.ResourceVersion)
	missed := c.server.version - seen
	if err != nil || missed < 0 || missed > len(c.server.history) {
		return nil, apierrors.NewResourceExpired("list again")
	}
	w := watch.NewRaceFreeFake()
	for _, event := range c.server.history[len(c.server.history)-missed:] {
		w.Action(event.Type, event.Object.DeepCopyObject())
	}
	c.watches[w] = true
	return w, nil
}
