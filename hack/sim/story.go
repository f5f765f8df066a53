package sim

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"sync"
	"time"
)

// story is what happened, in order.
type story struct {
	began time.Time
	// live, if not nil, gets each line at once.
	live io.Writer

	mu    sync.Mutex
	lines []string
}

func newStory(live io.Writer) *story { return &story{began: time.Now(), live: live} }

func (s *story) tell(format string, arguments ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Sprintf("%10.3f ", time.Since(s.began).Seconds()) + fmt.Sprintf(format, arguments...)
	s.lines = append(s.lines, line)
	if s.live != nil {
		fmt.Fprintln(s.live, line)
	}
}

// fingerprint is a number that is the same for the same story.
func (s *story) fingerprint() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return hash(strings.Join(s.lines, "\n"))
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}
