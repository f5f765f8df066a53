package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
	"github.com/mycompany/podmanager/pkg/plugin/tree"
)

// Source provides the PodManagers. See cluster.Watch.
type Source interface {
	Snapshots(now time.Time) []snapshot.Snapshot
	// Changes receives an element if something has changed. Errors receives errors of a connection that is being re-established.
	Changes() <-chan struct{}
	Errors() <-chan error
}

// pace is the minimum time between two redraws, which limits the cost of a busy rollout. tick is the redraw interval without changes: ages change
// every second.
const (
	pace = 100 * time.Millisecond
	tick = time.Second
)

// exitInterrupted is the exit code that shells use for an interrupt.
const exitInterrupted = 130

// Show implements get -w.
type Show struct {
	Out, ErrOut io.Writer
	// Draw returns the lines to draw on a terminal.
	Draw func([]snapshot.Snapshot, text.Style) []string
	// Coloured allows escape sequences for colours. Size returns the size of the terminal. If it is nil, there is no terminal, and lines are
	// appended.
	Coloured bool
	Size     func() (columns, lines int)
	// WithNamespace prefixes each name with its namespace.
	WithNamespace bool
	// UntilReady ends the command once no rollout is under way any more.
	UntilReady bool
}

// Run shows changes until the context ends, and returns the exit code.
func (show Show) Run(ctx context.Context, source Source) (int, error) {
	screen, log := text.Screen{Out: show.Out}, tree.Log{}
	trouble := ""
	var before []snapshot.Snapshot
	var deleted []error
	for {
		all := source.Snapshots(time.Now())
		deleted, before = append(deleted, deletions(before, all)...), all
		if err := show.print(&screen, &log, all, trouble); err != nil {
			return follow.ExitError, err
		}
		code, ended, err := endOf(all)
		if ended && show.UntilReady {
			if len(deleted) > 0 {
				code = max(code, follow.ExitError)
			}
			return code, errors.Join(append(deleted, err)...)
		}
		if trouble, err = show.await(ctx, source, trouble); err != nil {
			return Interrupted(ctx)
		}
	}
}

// await waits until there is something new to show.
func (show Show) await(ctx context.Context, source Source, trouble string) (string, error) {
	var clock <-chan time.Time
	if show.Size != nil {
		timer := time.NewTimer(tick)
		defer timer.Stop()
		clock = timer.C
	}
	select {
	case <-ctx.Done():
		return trouble, ctx.Err()
	case <-clock:
	case err := <-source.Errors():
		trouble = lost(err)
		if show.Size == nil {
			fmt.Fprintln(show.ErrOut, trouble)
		}
	case <-source.Changes():
		trouble = ""
	}
	select {
	case <-ctx.Done():
		return trouble, ctx.Err()
	case <-time.After(pace):
		return trouble, nil
	}
}

func (show Show) print(screen *text.Screen, log *tree.Log, all []snapshot.Snapshot, trouble string) error {
	if show.Size == nil {
		_, err := io.WriteString(show.Out, text.Join(log.Lines(all, show.WithNamespace)))
		return err
	}
	columns, lines := show.Size()
	style := text.Style{Coloured: show.Coloured, Width: columns}
	picture := show.Draw(all, style)
	if trouble != "" {
		picture = append(picture, style.Paint(text.Bad, text.Cut(trouble, max(1, columns))))
	}
	return screen.Draw(picture, columns, lines)
}

func lost(err error) string { return "Connection lost, reconnecting: " + err.Error() }

// deletions returns an error for each PodManager that was there before, and is gone.
func deletions(before, now []snapshot.Snapshot) (errs []error) {
	for _, s := range before {
		isSame := func(other snapshot.Snapshot) bool { return other.Manager.UID == s.Manager.UID }
		if !slices.ContainsFunc(now, isSame) {
			errs = append(errs, fmt.Errorf("PodManager %s in namespace %s was deleted", s.Manager.Name, s.Manager.Namespace))
		}
	}
	return errs
}

// endOf reports whether no rollout is under way any more, and the highest exit code of the outcomes. The error names the PodManagers because of which
// the exit code is not 0.
func endOf(all []snapshot.Snapshot) (code int, ended bool, err error) {
	var troubles []error
	for _, s := range all {
		outcome := follow.OutcomeFor(s.Manager)
		switch {
		case outcome == follow.UnderWay:
			return 0, false, nil
		case outcome == follow.Held && s.Condition(v1.ConditionReady).Status == metav1.ConditionTrue: // ready is enough, although held
		default:
			code = max(code, outcome.ExitCode(false))
			troubles = append(troubles, follow.Trouble(s.Manager, outcome))
		}
	}
	return code, true, errors.Join(troubles...)
}

// Interrupted returns the exit code and the error for a context that ended before the rollout.
func Interrupted(ctx context.Context) (int, error) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return follow.ExitTimeout, errors.New("timed out (--timeout)")
	}
	return exitInterrupted, nil
}
