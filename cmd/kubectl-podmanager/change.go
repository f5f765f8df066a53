package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/change"
	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/output"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// writeOptions are the flags of the verbs that write. Only some of these verbs have selector and cause.
type writeOptions struct {
	selector, dryRun, cause string
	format                  output.Format
}

func (o *writeOptions) add(command *cobra.Command) {
	command.Flags().StringVar(&o.dryRun, "dry-run", cluster.DryRunNone,
		"none, client (only print what would change) or server (send the request, but do not persist it)")
	command.Flags().Lookup("dry-run").NoOptDefVal = cluster.DryRunClient
	addOutput(command, &o.format)
}

func (o *writeOptions) addSelector(command *cobra.Command) {
	command.Flags().StringVarP(&o.selector, "selector", "l", "", "Label selector of the PodManagers, such as app=web")
}

// writers returns the verbs of the group "write", except undo.
func (p *plugin) writers() []*cobra.Command {
	return []*cobra.Command{
		p.writer("restart", "Replace all pods, within the rollout's budget", change.Restart),
		p.writer("pause", "Freeze rollouts; scaling and healing go on", change.Pause),
		p.writer("resume", "Let a paused rollout continue", change.Resume),
		p.writer("retry", "Retry a revision that was rolled back, has halted or missed its deadline", change.Retry),
		p.promote(), p.set(), p.scale(),
	}
}

func (p *plugin) writer(name, short string, verb cluster.Verb) *cobra.Command {
	var o writeOptions
	command := &cobra.Command{
		Use:   name + " NAME...",
		Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.write(cmd.Context(), o, args, because(verb, o.cause))
		},
		ValidArgsFunction: p.completeNames(-1),
	}
	if name == "restart" || name == "retry" {
		command.Flags().StringVar(&o.cause, "cause", "", "Reason for the change, which history shows (annotation kubernetes.io/change-cause)")
	}
	o.addSelector(command)
	o.add(command)
	return command
}

func (p *plugin) promote() *cobra.Command {
	var o writeOptions
	var to string
	command := &cobra.Command{
		Use:   "promote NAME...",
		Short: "Lower the partition, so that more pods are updated; without --to, all pods are",
		RunE: func(cmd *cobra.Command, args []string) error {
			partition := intstr.Parse(to)
			if _, err := intstr.GetScaledValueFromIntOrPercent(&partition, 100, true); err != nil || strings.HasPrefix(to, "-") {
				return fmt.Errorf("--to is %q; use a number of pods or a percentage, such as 2 or 50%%", to)
			}
			return p.write(cmd.Context(), o, args, change.Promote(partition))
		},
		ValidArgsFunction: p.completeNames(-1),
	}
	command.Flags().StringVar(&to, "to", "0", "How many pods stay on the old revision: a number or a percentage")
	o.addSelector(command)
	o.add(command)
	return command
}

func (p *plugin) set() *cobra.Command {
	var o writeOptions
	image := &cobra.Command{
		Use:     "image NAME... CONTAINER=IMAGE...",
		Short:   "Change the images of containers",
		Example: "  " + text.Command + " set image web app=nginx:1.30\n  " + text.Command + " set image pm/web '*=nginx:1.30' --cause 'CVE-2026-1'",
		RunE: func(cmd *cobra.Command, args []string) error {
			var names, pairs []string
			for _, arg := range args {
				if strings.Contains(arg, "=") {
					pairs = append(pairs, arg)
				} else {
					names = append(names, arg)
				}
			}
			images, err := change.ParseImages(pairs)
			if err == nil && len(images) == 0 {
				err = errors.New("no image is given: write CONTAINER=IMAGE, such as app=nginx:1.30")
			}
			if err != nil {
				return err
			}
			return p.write(cmd.Context(), o, names, change.SetImage(images, o.cause))
		},
		ValidArgsFunction: p.completeContainers,
	}
	image.Flags().StringVar(&o.cause, "cause", "", "Reason for the change, which history shows (annotation kubernetes.io/change-cause)")
	o.addSelector(image)
	o.add(image)
	set := &cobra.Command{Use: "set", Short: "Change images: set image NAME CONTAINER=IMAGE", Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	set.AddCommand(image)
	return set
}

// selected returns the PodManagers that a verb changes. Like kubectl, it returns those that exist, and an error about the others.
func (p *plugin) selected(ctx context.Context, o writeOptions, args []string) (*cluster.Cluster, []*v1.PodManager, error) {
	names, err := cluster.ParseNames(args)
	switch {
	case err != nil:
		return nil, nil, err
	case cluster.CheckDryRun(o.dryRun) != nil:
		return nil, nil, cluster.CheckDryRun(o.dryRun)
	case len(names) == 0 && o.selector == "":
		return nil, nil, errors.New("no PodManager is selected: give names, or -l")
	case len(names) > 0 && o.selector != "":
		return nil, nil, errors.New("give names or -l, not both")
	}
	c, err := p.connect()
	if err != nil {
		return nil, nil, err
	}
	managers, err := c.ReadManagers(ctx, cluster.Selection{Namespace: c.Namespace, Names: names, Selector: o.selector})
	if err == nil && len(managers) == 0 {
		err = fmt.Errorf("no PodManager in namespace %s has labels that match %s", c.Namespace, o.selector)
	}
	return c, managers, err
}

// write applies a verb to all selected PodManagers. An error for one PodManager, even that it does not exist, does not stop the others.
func (p *plugin) write(ctx context.Context, o writeOptions, args []string, verb cluster.Verb) error {
	c, managers, err := p.selected(ctx, o, args)
	failed := []error{err}
	var written []snapshot.Snapshot
	for _, manager := range managers {
		result, what, err := c.Do(ctx, manager, verb, o.dryRun)
		if err != nil {
			failed = append(failed, amongRevisions(ctx, c, manager, err))
			continue
		}
		p.warn(what, manager)
		if o.format == "" {
			fmt.Fprintf(p.out, "%s %s%s\n", cluster.FullName(manager.Name), what.Said, tried(o.dryRun))
		}
		written = append(written, snapshot.Snapshot{Manager: result})
	}
	if o.format != "" && len(written) > 0 {
		failed = append(failed, o.format.Print(p.out, objectOf(written, make([]string, len(managers))), fullNames(written)...))
	}
	return errors.Join(failed...)
}

// amongRevisions adds to the refusal of retry what the revisions show, as far as the user may read them. Other errors stay as they are.
func amongRevisions(ctx context.Context, c *cluster.Cluster, manager *v1.PodManager, err error) error {
	var notFailed change.NotFailed
	if !errors.As(err, &notFailed) {
		return err
	}
	all, notRead := c.Read(ctx, cluster.Selection{Namespace: manager.Namespace, Names: []string{manager.Name}})
	if notRead != nil {
		return err
	}
	return notFailed.Among(all[0])
}

func (p *plugin) warn(what change.Change, manager *v1.PodManager) {
	for _, warning := range what.Warnings(manager) {
		fmt.Fprintln(p.errOut, "Warning: "+warning)
	}
}

func because(verb cluster.Verb, cause string) cluster.Verb {
	return func(manager *v1.PodManager, now time.Time) (change.Change, error) {
		what, err := verb(manager, now)
		return what.Because(manager, cause), err
	}
}

// tried returns the suffix that kubectl prints after a dry run.
func tried(dryRun string) string {
	switch dryRun {
	case cluster.DryRunClient:
		return " (dry run)"
	case cluster.DryRunServer:
		return " (server dry run)"
	default:
		return ""
	}
}

func (p *plugin) scale() *cobra.Command {
	var o writeOptions
	var replicas, current string
	command := &cobra.Command{
		Use:   "scale NAME... --replicas N",
		Short: "Change the number of pods",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("replicas") {
				return errors.New("the number of pods is missing: use --replicas N")
			}
			wanted, err := parseCount("replicas", replicas, 0)
			if err != nil {
				return err
			}
			before, err := parseCount("current-replicas", current, -1)
			if err != nil {
				return err
			}
			return p.runScale(cmd.Context(), o, args, wanted, before)
		},
		ValidArgsFunction: p.completeNames(-1),
	}
	command.Flags().StringVar(&replicas, "replicas", "", "The number `N` of pods")
	command.Flags().StringVar(&current, "current-replicas", "-1", "Scale only if the PodManager has `N` replicas now; -1 means no condition")
	o.addSelector(command)
	o.add(command)
	return command
}

// parseCount parses a number of pods. pflag's own parser is not used, because its message for an invalid number shows a Go error.
func parseCount(flag, text string, least int64) (int32, error) {
	count, err := strconv.ParseInt(text, 10, 32)
	if err != nil || count < least {
		return 0, fmt.Errorf("--%s is %q; use a number of pods, such as 3", flag, text)
	}
	return int32(count), nil
}

func (p *plugin) runScale(ctx context.Context, o writeOptions, args []string, replicas, current int32) error {
	c, managers, err := p.selected(ctx, o, args)
	failed := []error{err}
	for _, manager := range managers {
		before, err := c.Scale(ctx, manager, replicas, current, o.dryRun)
		switch {
		case err != nil:
			failed = append(failed, err)
		case o.format != "":
			failed = append(failed, p.printScaled(ctx, c, o, manager))
		case before == replicas:
			fmt.Fprintf(p.out, "%s is scaled to %d already\n", cluster.FullName(manager.Name), replicas)
		default:
			fmt.Fprintf(p.out, "%s scaled to %d, was %d%s\n", cluster.FullName(manager.Name), replicas, before, tried(o.dryRun))
		}
	}
	return errors.Join(failed...)
}

func (p *plugin) printScaled(ctx context.Context, c *cluster.Cluster, o writeOptions, manager *v1.PodManager) error {
	managers, err := c.ReadManagers(ctx, cluster.Selection{Namespace: manager.Namespace, Names: []string{manager.Name}})
	if err != nil {
		return err
	}
	scaled := []snapshot.Snapshot{{Manager: managers[0]}}
	return o.format.Print(p.out, objectOf(scaled, []string{manager.Name}), fullNames(scaled)...)
}
