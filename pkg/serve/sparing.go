package serve

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// sparingEvery is the minimum time between two logged client errors of a server.
const sparingEvery = time.Minute

// sparingLog logs one client error a minute and the number of errors in between. An API server that does not trust the certificate should
// show in the log, but an unauthenticated client must not be able to fill the log. A panic of a handler is a bug and always logged.
type sparingLog struct {
	name string

	mu     sync.Mutex
	last   time.Time
	unsaid int
}

func (l *sparingLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch now := time.Now(); {
	case bytes.HasPrefix(line, []byte("http: panic serving")):
		klog.Background().Error(nil, "A handler has panicked", "what", l.name, "why", strings.TrimSpace(string(line)))
	case now.Sub(l.last) < sparingEvery:
		l.unsaid++
	default:
		klog.Background().Info("A connection or a request of a client failed", "what", l.name,
			"why", strings.TrimSpace(string(line)), "notLogged", l.unsaid)
		l.last, l.unsaid = now, 0
	}
	return len(line), nil
}
