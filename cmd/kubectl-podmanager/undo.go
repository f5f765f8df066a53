package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mycompany/podmanager/pkg/plugin/change"
	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/revisions"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

func (p *plugin) undo() *cobra.Command {
	var o writeOptions
	var revision string
	command := &cobra.Command{
		Use:   "undo NAME",
		Short: "Write the template of an earlier revision into the spec",
		Long: `Show what differs, and write the template of an earlier revision into the spec; all other fields stay. Without --to-revision, undo
returns to the newest other revision that has proven itself: it was good once (failurePolicy.bakeSeconds), and has not failed since. If there is none,
undo refuses, and lists the other revisions with their states. A second undo reverts the first only if the first has left a proven revision.`,
		Example: "  " + text.Command + " undo web --dry-run\n  " + text.Command + " undo web --to-revision 3",
		Args:    oneName,

		SuggestFor: []string{"rollback"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.runUndo(cmd.Context(), o, args[0], revision)
		},
		ValidArgsFunction: p.completeNames(1),
	}
	command.Flags().StringVar(&revision, "to-revision", "", "Number, hash or name of the revision, as history shows it")
	_ = command.RegisterFlagCompletionFunc("to-revision", p.completeRevisionFlag) // fails only for a flag that does not exist
	o.add(command)
	return command
}

func (p *plugin) runUndo(ctx context.Context, o writeOptions, argument, revision string) error {
	if err := cluster.CheckDryRun(o.dryRun); err != nil {
		return err
	}
	c, s, err := p.readOne(ctx, argument)
	if err == nil {
		err = follow.RefuseDeleted(s.Manager)
	}
	if err == nil {
		err = needsRevisions(s)
	}
	if err != nil {
		return err
	}
	var to snapshot.Revision
	if revision == "" || revision == "0" { // as in kubectl rollout undo
		to, err = revisions.Previous(s)
	} else {
		to, err = revisions.Choose(s, revision)
	}
	if err != nil {
		return err
	}
	what, err := change.Undo(s, to)
	if err != nil {
		return err
	}
	if err := p.showUndo(o, s, to, what); err != nil {
		return err
	}
	p.warn(what, s.Manager)
	written, err := c.Write(ctx, s.Manager, what, o.dryRun)
	if err != nil {
		return c.Advise(err, s.Manager.Namespace)
	}
	if o.format != "" {
		return o.format.Print(p.out, objectOf([]snapshot.Snapshot{{Manager: written}}, []string{s.Manager.Name}), cluster.FullName(s.Manager.Name))
	}
	_, err = fmt.Fprintf(p.out, "%s %s%s\n", cluster.FullName(s.Manager.Name), what.Said, tried(o.dryRun))
	return err
}

// showUndo prints what undo changes. With -o it prints to stderr, so that a script can parse stdout.
func (p *plugin) showUndo(o writeOptions, s snapshot.Snapshot, to snapshot.Revision, what change.Change) error {
	if what.IsEmpty() {
		return nil
	}
	out, style := p.errOut, text.Style{}
	if o.format == "" {
		own, err := p.style()
		if err != nil {
			return err
		}
		out, style = p.out, own
	}
	_, err := io.WriteString(out, text.Join(revisions.Undo(s, to).Lines(style)))
	return err
}
