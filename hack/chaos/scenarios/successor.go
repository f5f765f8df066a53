package scenarios

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// successor is a second controller. Like a kubelet, it restarts the controller when the process ends on its own: a leader that loses its Lease ends,
// and on a busy machine a leader may lose its Lease without a fault.
type successor struct {
	current atomic.Pointer[lab.Process]
	// away is for how long the controller could do nothing, in nanoseconds. Its limits are longer by that much.
	away    atomic.Int64
	stopped chan struct{}
	running sync.WaitGroup
}

// lostLease is the exit code of a controller that has lost its Lease. A panic has another exit code.
const lostLease = 1

// relaunchAfter is the delay before the controller is restarted.
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
			// Before it ended, the controller tried in vain to renew the Lease. The next process cannot acquire the Lease before it has expired.
			s.away.Add(int64(renewDeadline + relaunchAfter + leaseDuration))
		}
	})
	return s
}

// tail returns the end of the controller's output.
func (s *successor) tail() string { return s.current.Load().Tail(3) }

func (s *successor) kill() {
	close(s.stopped)
	s.running.Wait()
	_ = s.current.Load().Kill() // it may have ended already
}
