package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/pkg/plugin/check"
	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/output"
	"github.com/mycompany/podmanager/pkg/plugin/revisions"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
	"github.com/mycompany/podmanager/pkg/plugin/why"
)

func (p *plugin) why() *cobra.Command {
	var format output.Format
	command := &cobra.Command{
		Use:   "why NAME",
		Short: "Explain the current state, with the evidence and the next command",
		Args:  oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, s, err := p.readOne(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			answer := why.Find(s)
			c.AddEvidence(cmd.Context(), s, &answer)
			return p.show(format, answer, answer.Lines, cluster.FullName(s.Manager.Name))
		},
		ValidArgsFunction: p.completeNames(1),
	}
	addOutput(command, &format)
	return command
}

func (p *plugin) history() *cobra.Command {
	var format output.Format
	command := &cobra.Command{
		Use:   "history NAME",
		Short: "Show the revisions, and which is current, new or failed",
		Args:  oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, s, err := p.readOne(cmd.Context(), args[0])
			if err == nil {
				err = needsRevisions(s)
			}
			if err != nil {
				return err
			}
			list, names := storedOf(s)
			return p.show(format, list, func(style text.Style) []string { return revisions.History(s, style) }, names...)
		},
		ValidArgsFunction: p.completeNames(1),
	}
	addOutput(command, &format)
	return command
}

// needsRevisions returns an error if the user may not list revisions. Verbs that cannot work without revisions call it.
func needsRevisions(s snapshot.Snapshot) error {
	if s.Reads("controllerrevisions") {
		return nil
	}
	return fmt.Errorf("you may not list controllerrevisions, which hold the revisions, in namespace %s; %s",
		s.Manager.Namespace, rights.ListRevisions.Advice(s.User, s.Manager.Namespace))
}

// storedOf returns the stored revisions, newest first, for -o.
func storedOf(s snapshot.Snapshot) (*appsv1.ControllerRevisionList, []string) {
	list := &appsv1.ControllerRevisionList{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevisionList"}, Items: []appsv1.ControllerRevision{},
	}
	var names []string
	for _, revision := range s.History() {
		for _, stored := range s.Stored {
			if stored.Name == revision.Name {
				item := stored.DeepCopy()
				item.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"))
				list.Items, names = append(list.Items, *item), append(names, "controllerrevision.apps/"+stored.Name)
			}
		}
	}
	return list, names
}

func (p *plugin) diff() *cobra.Command {
	var format output.Format
	var file string
	command := &cobra.Command{
		Use:   "diff NAME [A] [B]",
		Short: "Show what differs between two revisions, and how pods get from one to the other",
		Long: `Show what differs between two revisions: from A to B; from A to the present template; or, without A and B, from the revision to which
undo would return, or else the newest other one, to the present template. A and B are numbers, hashes or names of revisions. With -f: from the present
template to the one that kubectl apply of a manifest would lead to.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return oneName(cmd, args)
			}
			return atMost(3, "the name of one PodManager and up to two revisions")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := cluster.Name(args[0])
			if err != nil {
				return err
			}
			var difference revisions.Difference
			if file == "" {
				difference, err = p.compare(cmd.Context(), name, args[1:])
			} else {
				difference, err = p.compareWithFile(cmd.Context(), name, args[1:], file, cmd.Flags().Changed("namespace"))
			}
			if err != nil {
				return err
			}
			return p.show(format, difference, difference.Lines, cluster.FullName(name))
		},
		ValidArgsFunction: p.completeRevisions(2),
	}
	command.Flags().StringVarP(&file, "filename", "f", "", "Manifest of the PodManager to compare with; - is the standard input")
	addOutput(command, &format)
	return command
}

// compare compares two revisions: those that are wanted, or else one to return to and the present one.
func (p *plugin) compare(ctx context.Context, name string, wanted []string) (revisions.Difference, error) {
	_, s, err := p.readOne(ctx, name)
	if err == nil {
		err = needsRevisions(s)
	}
	if err != nil {
		return revisions.Difference{}, err
	}
	to := revisions.Present(s)
	var from snapshot.Revision
	if len(wanted) == 0 {
		from, err = revisions.Baseline(s)
	} else {
		from, err = revisions.Choose(s, wanted[0])
	}
	if err == nil && len(wanted) == 2 {
		to, err = revisions.Choose(s, wanted[1])
	}
	if err != nil {
		return revisions.Difference{}, err
	}
	return revisions.Diff(s.Manager, from.Template, to.Template, from.Title(), to.Title()), nil
}

// compareWithFile compares the present template with the one that kubectl apply of a file would produce.
func (p *plugin) compareWithFile(ctx context.Context, name string, wanted []string, file string, hasNamespace bool) (revisions.Difference, error) {
	if len(wanted) > 0 {
		return revisions.Difference{}, errors.New("give revisions or -f, not both")
	}
	live, applied, err := p.wantedByFile(ctx, file, hasNamespace, name)
	if err != nil {
		return revisions.Difference{}, err
	}
	if live.Manager == nil {
		return revisions.Difference{}, fmt.Errorf("there is no PodManager %s in namespace %s to compare %s with", name, applied.Namespace, file)
	}
	return revisions.Wanted(live, applied, file), nil
}

func (p *plugin) check() *cobra.Command {
	var format output.Format
	var namespace string
	command := &cobra.Command{
		Use:   "check [NAME]",
		Short: "Check the CRD, the controller, your rights, and what the API server offers",
		Long:  "Check the CRD, the controller, your rights, and what the API server offers. The exit code is 1 if a check fails; warnings do not count.",
		Args:  atMost(1, "the name of at most one PodManager"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.runCheck(cmd.Context(), args, namespace, format)
		},
		ValidArgsFunction: p.completeNames(1),
	}
	command.Flags().StringVar(&namespace, "controller-namespace", "podmanager-system", "Namespace of the controller")
	addOutput(command, &format)
	return command
}

func (p *plugin) runCheck(ctx context.Context, args []string, controllerNamespace string, format output.Format) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	facts, err := c.Facts(ctx, c.Namespace, controllerNamespace)
	if err != nil {
		return err
	}
	findings := check.FindingsIn(facts)
	if len(args) == 1 && !check.Failed(findings[:1]) { // without a CRD there is no object
		name, err := cluster.Name(args[0])
		if err != nil {
			return err
		}
		managers, err := c.ReadManagers(ctx, cluster.Selection{Namespace: c.Namespace, Names: []string{name}})
		if err != nil {
			return err
		}
		c.AddFactsOf(ctx, managers[0], &facts)
		findings = check.FindingsIn(facts)
	}
	err = p.show(format, findings, func(style text.Style) []string { return check.Lines(findings, style) })
	if err == nil && check.Failed(findings) {
		return exit{1, nil}
	}
	return err
}
