package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
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
template to the one in a manifest.`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, s, err := p.readOne(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			difference, err := p.compare(cmd.Context(), c, s, args[1:], file)
			if err != nil {
				return err
			}
			return p.show(format, difference, difference.Lines, cluster.FullName(s.Manager.Name))
		},
		ValidArgsFunction: p.completeRevisions(2),
	}
	command.Flags().StringVarP(&file, "filename", "f", "", "Manifest of the PodManager to compare with; - is the standard input")
	addOutput(command, &format)
	return command
}

func (p *plugin) compare(ctx context.Context, c *cluster.Cluster, s snapshot.Snapshot, wanted []string, file string) (revisions.Difference, error) {
	if file != "" {
		if len(wanted) > 0 {
			return revisions.Difference{}, errors.New("give revisions or -f, not both")
		}
		template, err := p.templateIn(ctx, c, s.Manager, file)
		if err != nil {
			return revisions.Difference{}, err
		}
		return revisions.Diff(s.Manager, history.Template(&s.Manager.Spec), template, "the current template", file), nil
	}
	err := needsRevisions(s)
	to := revisions.Present(s)
	var from snapshot.Revision
	switch {
	case err != nil:
	case len(wanted) == 0:
		from, err = revisions.Baseline(s)
	default:
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

// templateIn returns the template of the PodManager in a file, completed with the API server's defaults. If the dry run that adds them fails,
// templateIn prints a warning and returns the template as written.
func (p *plugin) templateIn(ctx context.Context, c *cluster.Cluster, live *v1.PodManager, file string) (*corev1.PodTemplateSpec, error) {
	data, err := p.readFile(file)
	if err != nil {
		return nil, err
	}
	manager := &v1.PodManager{}
	if err := yaml.UnmarshalStrict(data, manager); err != nil {
		return nil, fmt.Errorf("%s is not a manifest of a single PodManager: %w", file, err)
	}
	if manager.Kind != v1.Kind || manager.Name != live.Name {
		return nil, fmt.Errorf("%s has %s %s, not PodManager %s", file, manager.Kind, manager.Name, live.Name)
	}
	completed, err := c.WithDefaults(ctx, live, manager)
	if err != nil {
		fmt.Fprintln(p.errOut, "Warning: the API server has not added defaults to the manifest, so they may show as differences:",
			c.Advise(err, live.Namespace))
		return history.Template(&manager.Spec), nil
	}
	return history.Template(&completed.Spec), nil
}

func (p *plugin) check() *cobra.Command {
	var format output.Format
	var namespace string
	command := &cobra.Command{
		Use:   "check [NAME]",
		Short: "Check the CRD, the controller, your rights, and what the API server offers",
		Long:  "Check the CRD, the controller, your rights, and what the API server offers. The exit code is 1 if a check fails; warnings do not count.",
		Args:  cobra.MaximumNArgs(1),
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
	findings := check.Judge(facts)
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
		findings = check.Judge(facts)
	}
	err = p.show(format, findings, func(style text.Style) []string { return check.Lines(findings, style) })
	if err == nil && check.Failed(findings) {
		return exit{1, nil}
	}
	return err
}
