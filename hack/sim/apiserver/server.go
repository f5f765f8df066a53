package apiserver

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/sim/luck"
)

// Config configures a server.
type Config struct {
	// Rand provides UIDs, the suffixes of generated names, and the duration of watches that do not set a timeout.
	Rand *rand.Rand
	// Custom are the custom resources; see ParseCRD.
	Custom []*Resource
	// Authorize reports whether a client may send a request. If it is nil, every request is allowed. Access reviews use it, too.
	Authorize func(*Request) bool
}

// Server is a simulated API server with its storage.
type Server struct {
	resources []*Resource
	authorize func(*Request) bool

	mu        sync.Mutex
	rand      *rand.Rand
	version   int64 // of the last write
	tables    map[string]*table
	admission []Admission
	observers []func(*Change)
	// compacted is the oldest version whose state is known. watchable is the oldest version from which a watch can resume.
	compacted, watchable int64
	// epoch counts the restarts. restarted is closed at the next restart.
	epoch     int
	restarted chan struct{}
	// versionReached is closed at the next write; nil if no request waits for it.
	versionReached chan struct{}
	// exchanged counts the requests, answers and events that were exchanged with clients.
	exchanged atomic.Uint64
}

// errCut is the error of a client whose connection the server has cut.
var errCut = io.ErrUnexpectedEOF

// New returns a server with one namespace, "default".
func New(config Config) *Server {
	s := &Server{authorize: config.Authorize, rand: config.Rand, tables: map[string]*table{}, restarted: make(chan struct{})}
	if s.authorize == nil {
		s.authorize = func(*Request) bool { return true }
	}
	for i := range builtIn {
		s.resources = append(s.resources, &builtIn[i])
	}
	s.resources = append(s.resources, config.Custom...)
	for _, r := range s.resources {
		s.tables[r.storage()] = &table{}
	}
	if err := s.CreateNamespace("default"); err != nil {
		panic(err) // cannot happen: the server is empty
	}
	return s
}

// Observe registers a function that is called for each write, in order. It must not send requests, block, or change objects.
func (s *Server) Observe(observe func(*Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observers = append(s.observers, observe)
}

// Version returns the version of the last write.
func (s *Server) Version() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Compact discards the states before a version. Lists and watches at those versions get 410.
func (s *Server) Compact(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = min(max(s.compacted, version), s.version)
	s.watchable = max(s.watchable, s.compacted)
	for _, t := range s.tables {
		t.history = slices.DeleteFunc(t.history, func(c *Change) bool { return c.Version <= s.compacted })
	}
}

// Restart cuts all connections. Afterwards no watch can resume from an earlier version, because the watch cache starts empty.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restart()
}

func (s *Server) restart() {
	s.epoch++
	s.watchable = s.version
	close(s.restarted)
	s.restarted = make(chan struct{})
	for _, r := range s.resources { // in a fixed order, so that clients always reconnect in the same order
		for _, stream := range slices.Clone(s.tables[r.storage()].streams) {
			stream.cut(errCut)
		}
	}
}

// Restore restores the state of an earlier version, as from an etcd backup, and restarts. The next version is that version plus one plus ahead:
// etcd can be told to continue with higher versions than before.
func (s *Server) Restore(version, ahead int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version < s.compacted || version > s.version {
		return errors.New("there is no state of this version")
	}
	s.version = version + ahead
	for _, r := range s.resources {
		t := s.tables[r.storage()]
		before := t.objects
		t.objects = t.at(version)
		t.history = slices.DeleteFunc(t.history, func(c *Change) bool { return c.Version > version })
		s.tellRestored(r, before, t)
	}
	s.restart()
	return nil
}

// tellRestored notifies the observers of the changes that a restore has made.
func (s *Server) tellRestored(r *Resource, before []*object, t *table) {
	past := table{objects: before}
	tell := func(c *Change) {
		c.Version, c.Request = s.version, &Request{Client: "restore", Verb: "restore", Resource: r}
		for _, observe := range s.observers {
			observe(c)
		}
	}
	for _, old := range before {
		if present := t.get(old.key); present == nil || present.GetUID() != old.GetUID() {
			tell(&Change{Old: old.Object, old: old})
		}
	}
	for _, o := range t.objects {
		if old := past.get(o.key); old != o {
			tell(&Change{New: o.Object, new: o})
		}
	}
}

// reseed makes the runtime's subsequent random choices depend only on the number of exchanged messages.
func (s *Server) reseed() { luck.Seed(s.exchanged.Add(1)) }

// newUID returns a UID in the API server's format.
func (s *Server) newUID() types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := []byte("xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx")
	for i, c := range id {
		if c == 'x' {
			id[i] = "0123456789abcdef"[s.rand.IntN(16)]
		}
	}
	return types.UID(id)
}
