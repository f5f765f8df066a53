package scenarios

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// successor is a second controller. As a kubelet does, it is started again after it has ended by itself: a leader that loses its Lease ends, and
// on a machine that is busy it may lose it without a fault.
type successor struct {
	current atomic.Pointer[lab.Process]
	// away is for how long it could do nothing, in nanoseconds: it may be that much later.
	away    atomic.Int64
	stopped chan struct{}
	running sync.WaitGroup
}

// lostLease is the exit code of a controller that has lost its Lease. That of a panic is another one.
const lostLease = 1

// relaunchAfter is how long it takes until it is started again.
const relaunchAfter = time.Second

// launchSuccessor starts a second controller, which runs until it is killed.
func (a scene) launchSuccessor(flags ...string) *successor {
	s := &successor{stopped: make(chan struct{})}
	launch := func() error {
		process, _, err := a.Contender.Launch(a.Contender.Kubeconfig(), a.Namespace, flags...)
		if err == nil {
			s.current.Store(process)
		}
		return err
	}
	a.Must(launch())
	s.running.Go(func() {
		for {
			last := s.current.Load()
			select {
			case <-s.stopped:
				return
			case <-last.Exited:
			}
			a.Logf("the second controller has ended with %v: %s", last.Err, last.Tail(3))
			if last.ExitCode() != lostLease || !lab.Pause(a.Ctx, relaunchAfter) {
				return
			}
			if err := launch(); err != nil {
				a.Logf("the second controller cannot be started again: %v", err)
				return
			}
			// Before it ended it had tried in vain to renew the Lease, which the next one cannot have before it has run out.
			s.away.Add(int64(renewDeadline + relaunchAfter + leaseDuration))
		}
	})
	return s
}

// tail is the end of its output.
func (s *successor) tail() string { return s.current.Load().Tail(3) }

func (s *successor) kill() {
	close(s.stopped)
	s.running.Wait()
	_ = s.current.Load().Kill() // it may have ended already
}
