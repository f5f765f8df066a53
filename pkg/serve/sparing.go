package serve

import (
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// sparingEvery is how often a server's complaints about its clients are logged.
const sparingEvery = time.Minute

// sparingLog logs one complaint a minute, and how many there were: an API server that does not trust the certificate is worth a line, but a
// stranger must not be able to fill the log.
type sparingLog struct {
	name string

	mu     sync.Mutex
	last   time.Time
	unsaid int
}

func (l *sparingLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.last) < sparingEvery {
		l.unsaid++
	} else {
		klog.Background().Info("A client had no success", "what", l.name, "why", strings.TrimSpace(string(line)), "unsaid", l.unsaid)
		l.last, l.unsaid = now, 0
	}
	return len(line), nil
}
