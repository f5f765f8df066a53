package leader

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestIsRewound(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 1999, time.UTC)
	record := func(holder string, transitions int, renewed time.Time) resourcelock.LeaderElectionRecord {
		return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaderTransitions: transitions,
			AcquireTime: metav1.NewTime(noon.Add(-time.Hour)), RenewTime: metav1.NewTime(renewed)}
	}
	reacquired := func(record resourcelock.LeaderElectionRecord) resourcelock.LeaderElectionRecord {
		record.AcquireTime = record.RenewTime
		return record
	}
	none := resourcelock.LeaderElectionRecord{}
	for name, test := range map[string]struct {
		last, now resourcelock.LeaderElectionRecord
		want      bool
	}{
		"the first look":                 {none, record("a", 3, noon), false},
		"the first look at no Lease":     {none, none, false},
		"renewed":                        {record("a", 3, noon), record("a", 3, noon.Add(time.Second)), false},
		"not renewed":                    {record("a", 3, noon), record("a", 3, noon), false},
		"read as written":                {record("a", 3, noon), record("a", 3, noon.Truncate(time.Microsecond)), false},
		"an older renewal":               {record("a", 3, noon), record("a", 3, noon.Add(-time.Second)), true},
		"taken over":                     {record("a", 3, noon), record("b", 4, noon.Add(time.Second)), false},
		"taken over, by a slower clock":  {record("a", 3, noon), record("b", 4, noon.Add(-time.Minute)), false},
		"the holder has noticed":         {record("a", 3, noon), reacquired(record("a", 3, noon.Add(time.Second))), true},
		"released":                       {record("a", 3, noon), reacquired(record("", 3, noon.Add(time.Second))), false},
		"released twice":                 {record("", 3, noon), reacquired(record("", 3, noon.Add(time.Second))), false},
		"the holder before this one":     {record("b", 4, noon), record("a", 3, noon.Add(-time.Minute)), true},
		"the same one, long ago":         {record("a", 3, noon), reacquired(record("a", 3, noon.Add(-time.Minute))), true},
		"gone, or from before its birth": {record("a", 3, noon), none, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isRewound(test.now, test.last); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// A leader and a standby both notice a restore that lasts too shortly for the leader to lose its Lease.
func TestElectionNoticesRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		lease := &testLease{}
		rewinds := map[string]int{}
		ended := make(chan error, 2)
		for _, identity := range []string{"a", "b"} {
			e := testElection(ctx, t, &testLock{testLease: lease, identity: identity})
			e.OnRewind(func() { rewinds[identity]++ })
			go func() { ended <- e.Run(ctx, (&testWork{}).run) }()
			pass(time.Second)
		}
		pass(time.Minute)
		backup := *lease.get().record
		pass(time.Minute)
		if len(rewinds) > 0 {
			t.Errorf("noticed a restore when there was none: %v", rewinds)
		}
		lease.mutex.Lock()
		lease.record = &backup
		lease.version++
		lease.mutex.Unlock()
		pass(20 * time.Second)
		// A standby may see the old Lease before the leader does, and then also that the leader has noticed.
		if rewinds["a"] != 1 || rewinds["b"] < 1 || rewinds["b"] > 2 {
			t.Errorf("noticed the restore %v times, want once each, and at most twice on the standby", rewinds)
		}
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("ended with %v", err)
			}
		}
	})
}

func TestGroupNoticesRestore(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		first, second := c.start("first", "1", testShards), c.start("second", "1", testShards)
		time.Sleep(time.Minute)
		restore := c.server.backUp()
		time.Sleep(time.Minute)
		for _, r := range []*replica{first, second} {
			if got := r.rewinds.Load(); got > 0 {
				t.Errorf("%s noticed %d restores when there was none", r.name, got)
			}
		}
		restore()
		time.Sleep(20 * time.Second)
		for _, r := range []*replica{first, second} {
			if got := r.rewinds.Load(); got != 1 {
				t.Errorf("%s noticed %d restores, want 1", r.name, got)
			}
		}
	})
}
