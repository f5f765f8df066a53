package scenarios

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// shortLived launches programs that end with the given codes, and then one that keeps running.
type shortLived struct {
	testenv.Contender
	folder   string
	codes    []int
	launched atomic.Int32
}

func (s *shortLived) Kubeconfig() string { return "" }

func (s *shortLived) Launch(string, string, ...string) (*lab.Process, func() bool, error) {
	n := int(s.launched.Add(1))
	command := "exec sleep 60"
	if n <= len(s.codes) {
		command = fmt.Sprint("exit ", s.codes[n-1])
	}
	p, err := lab.StartProgram(filepath.Join(s.folder, fmt.Sprint(n, ".log")), "/bin/sh", "-c", command)
	return p, nil, err
}

// A successor gets extra time for each lost Lease, and none if it ends in another way.
func TestAway(t *testing.T) {
	const each = renewDeadline + relaunchAfter + leaseDuration
	tests := map[string]struct {
		codes    []int
		launched int32
		want     time.Duration
	}{
		"it goes on":               {nil, 1, 0},
		"it loses its Lease":       {[]int{lostLease}, 2, each},
		"it loses its Lease twice": {[]int{lostLease, lostLease}, 3, 2 * each},
		"it panics":                {[]int{2}, 1, 0},
		"it panics later":          {[]int{lostLease, 2}, 2, each},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs := &shortLived{folder: t.TempDir(), codes: test.codes}
			a := scene{&testenv.Env{Ctx: t.Context(), Run: &testenv.Run{}, Contender: programs}}
			s := a.launchSuccessor()
			for programs.launched.Load() < test.launched && lab.Pause(t.Context(), 10*time.Millisecond) {
			}
			if len(test.codes) == int(test.launched) {
				// The last one has ended, and must not be restarted.
				ended := make(chan struct{})
				go func() { s.running.Wait(); close(ended) }()
				select {
				case <-ended:
				case <-time.After(5 * relaunchAfter):
				}
			}
			s.kill()
			if got := time.Duration(s.away.Load()); got != test.want || programs.launched.Load() != test.launched {
				t.Errorf("away for %v, started %d times; want %v, %d times", got, programs.launched.Load(), test.want, test.launched)
			}
		})
	}
}
