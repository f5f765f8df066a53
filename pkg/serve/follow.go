package serve

import (
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// rereadAfter is the interval between reads of the files. The kubelet updates the files of a Secret within about a minute.
const rereadAfter = 10 * time.Second

// followed is a value loaded from files, such as those of a mounted Secret. It is reloaded when the files change.
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

// get returns the value of the files. While they are unusable, as when only one of two is written, it returns the last usable value.
func (f *followed[T]) get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.read) < rereadAfter {
		return f.current
	}
	f.read = time.Now()
	if loaded, err := f.load(); err != nil {
		klog.Background().Error(err, "Cannot use the changed certificate files, keeping the certificates that were read before")
	} else {
		f.current = loaded
	}
	return f.current
}
