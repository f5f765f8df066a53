package serve

import (
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// rereadAfter is how often files are looked at. A kubelet changes the files of a Secret within a minute or so.
const rereadAfter = 10 * time.Second

// followed is what files hold, such as those of a mounted Secret, and follows them.
type followed[T any] struct {
	load func() (T, error)

	mu      sync.Mutex
	current T
	read    time.Time
}

// follow loads the files for the first time.
func follow[T any](load func() (T, error)) (*followed[T], error) {
	current, err := load()
	return &followed[T]{load: load, current: current, read: time.Now()}, err
}

// get returns what the files hold. While they cannot be used, as when only one of two is written, it is the last that could.
func (f *followed[T]) get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.read) < rereadAfter {
		return f.current
	}
	f.read = time.Now()
	if loaded, err := f.load(); err != nil {
		klog.Background().Error(err, "Keeping the old certificate")
	} else {
		f.current = loaded
	}
	return f.current
}
