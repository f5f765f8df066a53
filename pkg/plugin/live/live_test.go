package live_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	. "github.com/mycompany/podmanager/pkg/plugin/live"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// film is a source that returns one state after the other. The last one stays.
type film struct {
	states  [][]snapshot.Snapshot
	changes chan struct{}
	errors  chan error
}

func (f *film) Snapshots(time.Time) []snapshot.Snapshot {
	state := f.states[0]
	if len(f.states) > 1 {
		f.states = f.states[1:]
		f.changes <- struct{}{}
	}
	return state
}
func (f *film) Changes() <-chan struct{} { return f.changes }
func (f *film) Errors() <-chan error     { return f.errors }

func filmOf(reasons ...string) *film {
	f := &film{changes: make(chan struct{}, 1), errors: make(chan error, 1)}
	for _, reason := range reasons {
		f.states = append(f.states, web(reason))
	}
	return f
}

// web returns a PodManager whose Ready condition has this reason. It returns none if the reason is empty.
func web(reason string) []snapshot.Snapshot {
	if reason == "" {
		return nil
	}
	m := plantest.Manager(3)
	isReady := metav1.ConditionFalse
	if reason == v1.ReasonAllAvailable || reason == v1.ReasonBaking || reason == v1.ReasonPartition {
		isReady = metav1.ConditionTrue
	}
	m.Status = v1.PodManagerStatus{ObservedGeneration: 7, Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: isReady, Reason: reason, Message: "m"}}}
	return []snapshot.Snapshot{snapshot.New(m, nil, nil, nil, plantest.Now)}
}

func TestFollow(t *testing.T) {
	tests := map[string]struct {
		reasons        []string
		untilAvailable bool
		want           follow.Outcome
		lines          string
		fails          bool
	}{
		"done":                          {[]string{v1.ReasonRollingOut, v1.ReasonRollingOut, v1.ReasonAllAvailable}, false, follow.Done, "RollingOut AllReplicasAvailable", false},
		"a revision has to bake":        {[]string{v1.ReasonBaking, v1.ReasonAllAvailable}, false, follow.Done, "Baking AllReplicasAvailable", false},
		"and may still fail":            {[]string{v1.ReasonBaking, v1.ReasonHalted, v1.ReasonRolledBack}, false, follow.Failed, "Baking RolloutHalted RolledBack", false},
		"unless availability is enough": {[]string{v1.ReasonBaking, v1.ReasonRolledBack}, true, follow.Baking, "Baking", false},
		"held":                          {[]string{v1.ReasonRollingOut, v1.ReasonPaused}, false, follow.Held, "RollingOut Paused", false},
		"deleted in the meantime":       {[]string{v1.ReasonRollingOut, ""}, false, follow.Deleted, "RollingOut", true},
		"out of time":                   {[]string{v1.ReasonRollingOut}, false, follow.UnderWay, "RollingOut", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var out, errOut bytes.Buffer
				_, outcome, err := Follow(ctx, "web", test.untilAvailable, filmOf(test.reasons...), &out, &errOut)
				var reasons []string
				for line := range strings.Lines(out.String()) {
					reason, _, _ := strings.Cut(strings.TrimPrefix(line, "web: "), " ")
					reasons = append(reasons, reason)
				}
				if outcome != test.want || strings.Join(reasons, " ") != test.lines || (err != nil) != test.fails {
					t.Errorf("outcome %d, %v, lines:\n%s", outcome, err, out.String())
				}
			})
		})
	}
}

// A lost connection does not end Follow: it tells the user and continues.
func TestFollowGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		source := filmOf(v1.ReasonRollingOut)
		source.errors <- errors.New("connection refused")
		var out, errOut bytes.Buffer
		_, outcome, err := Follow(ctx, "web", false, source, &out, &errOut)
		if outcome != follow.UnderWay || err != nil || !strings.Contains(errOut.String(), "Connection lost, reconnecting: connection refused") {
			t.Errorf("outcome %d, %v: %s", outcome, err, errOut.String())
		}
	})
}

func TestShow(t *testing.T) {
	tests := map[string]struct {
		reasons    []string
		untilReady bool
		code       int
		err        string
	}{
		"ready":                         {[]string{v1.ReasonRollingOut, v1.ReasonAllAvailable}, true, 0, ""},
		"ready, and the revision bakes": {[]string{v1.ReasonRollingOut, v1.ReasonBaking}, true, 0, ""},
		"ready with the partition":      {[]string{v1.ReasonRollingOut, v1.ReasonPartition}, true, 0, ""},
		"rolled back": {[]string{v1.ReasonRollingOut, v1.ReasonRolledBack}, true, 3,
			"the rollout of web has failed; run 'kubectl pm why web -n ns' to see why"},
		"paused": {[]string{v1.ReasonRollingOut, v1.ReasonPaused}, true, 4,
			"the rollout of web is held; run 'kubectl pm why web -n ns' to see how to continue"},
		"never":                            {[]string{v1.ReasonRollingOut}, true, 124, "timed out (--timeout)"},
		"ready, but not asked to end then": {[]string{v1.ReasonAllAvailable}, false, 124, "timed out (--timeout)"},
	}
	for name, test := range tests {
		for _, onTerminal := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					var out, errOut bytes.Buffer
					show := Show{Out: &out, ErrOut: &errOut, UntilReady: test.untilReady}
					if onTerminal {
						show.Size = func() (int, int) { return 80, 24 }
						show.Draw = func(all []snapshot.Snapshot, _ text.Style) []string { return []string{follow.Reason(all[0].Manager)} }
					}
					code, err := show.Run(ctx, filmOf(test.reasons...))
					if code != test.code || (err != nil) != (test.err != "") || err != nil && err.Error() != test.err {
						t.Errorf("exit code %d, %v, want %d and %s", code, err, test.code, test.err)
					}
					for _, reason := range test.reasons {
						if !strings.Contains(out.String(), reason) {
							t.Errorf("%s was not shown: %s", reason, out.String())
						}
					}
					if hasEscapes := strings.Contains(out.String(), "\x1b"); !onTerminal && hasEscapes || onTerminal && len(test.reasons) > 1 && !hasEscapes {
						t.Errorf("escape sequences: %q", out.String())
					}
				})
			})
		}
	}
}

// Of several PodManagers, the error names each that is not ready.
func TestShowNamesWhatIsNotReady(t *testing.T) {
	api := web(v1.ReasonRolledBack)
	api[0].Manager.Name, api[0].Manager.Namespace = "api", "other"
	source := filmOf(v1.ReasonHalted)
	source.states[0] = slices.Concat(api, web(v1.ReasonAllAvailable), web(v1.ReasonPaused))
	var out, errOut bytes.Buffer
	code, err := Show{Out: &out, ErrOut: &errOut, UntilReady: true}.Run(t.Context(), source)
	const want = "the rollout of api has failed; run 'kubectl pm why api -n other' to see why\n" +
		"the rollout of web is held; run 'kubectl pm why web -n ns' to see how to continue"
	if code != 4 || err == nil || err.Error() != want {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// A PodManager that is deleted meanwhile does not count as ready.
func TestShowNamesWhatWasDeleted(t *testing.T) {
	var out, errOut bytes.Buffer
	code, err := Show{Out: &out, ErrOut: &errOut, UntilReady: true}.Run(t.Context(), filmOf(v1.ReasonRollingOut, ""))
	if code != follow.ExitError || err == nil || err.Error() != "PodManager web in namespace ns was deleted" {
		t.Errorf("exit code %d, %v", code, err)
	}
}
