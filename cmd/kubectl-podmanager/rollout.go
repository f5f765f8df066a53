package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/live"
	"github.com/mycompany/podmanager/pkg/plugin/output"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// statusOptions are the flags of status.
type statusOptions struct {
	timeout                time.Duration
	heldOK, untilAvailable bool
	format                 output.Format
}

func (p *plugin) status() *cobra.Command {
	var o statusOptions
	command := &cobra.Command{
		Use:   "status NAME",
		Short: "Follow a rollout until it ends, one line for each change",
		Long: `Follow a rollout until it ends, one line for each change. The exit code tells how:

    0  done: every pod is updated and available, and the new revision has proven itself (failurePolicy.bakeSeconds)
    1  an error, or the PodManager is deleted
    3  failed: it was rolled back, or it is stalled until a user acts
    4  held: it is paused, its partition is reached, or it waits for pods to be deleted (OnDelete); 0 with --held-ok
  124  timed out (--timeout)
  130  interrupted`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.runStatus(cmd.Context(), o, args[0])
		},
		ValidArgsFunction: p.completeNames(1),
	}
	command.Flags().DurationVar(&o.timeout, "timeout", 0, "How long to wait, such as 5m; 0 means no limit")
	command.Flags().BoolVar(&o.heldOK, "held-ok", false, "Exit with 0 instead of 4 if the rollout is held")
	command.Flags().BoolVar(&o.untilAvailable, "until-available", false, "Do not wait for the new revision to prove itself")
	addOutput(command, &o.format)
	return command
}

func (p *plugin) runStatus(ctx context.Context, o statusOptions, argument string) error {
	name, err := cluster.Name(argument)
	if err != nil {
		return err
	}
	c, err := p.connect()
	if err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	source, err := c.Watch(ctx, cluster.Selection{Namespace: c.Namespace, Names: []string{name}}, false)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	lines := p.out
	if o.format != "" { // the lines would mix with the object
		lines = p.errOut
	}
	manager, outcome, err := live.Follow(ctx, name, o.untilAvailable, source, lines, p.errOut)
	if err != nil {
		return err
	}
	if o.format != "" {
		object := objectOf([]snapshot.Snapshot{{Manager: manager}}, []string{name})
		if err := o.format.Print(p.out, object, cluster.FullName(name)); err != nil {
			return err
		}
	}
	return p.exitOf(ctx, o, manager, outcome)
}

// exitOf returns the exit code for an outcome, and a hint on what to do next.
func (p *plugin) exitOf(ctx context.Context, o statusOptions, manager *v1.PodManager, outcome follow.Outcome) error {
	if outcome == follow.UnderWay {
		code, err := live.Interrupted(ctx)
		if err != nil {
			err = fmt.Errorf("%w; run '%s' to see what the rollout is waiting for", err, text.Hint(manager.Namespace, "why", manager.Name))
		}
		return exit{code, err}
	}
	if code := outcome.ExitCode(o.heldOK); code != 0 {
		return exit{code, follow.Trouble(manager, outcome)}
	}
	return nil
}

// interruptedOr returns err or, if the context has ended, the exit code of a timeout or an interrupt.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	code, err := live.Interrupted(ctx)
	return exit{code, err}
}
