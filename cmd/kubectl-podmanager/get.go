package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/live"
	"github.com/mycompany/podmanager/pkg/plugin/output"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
	"github.com/mycompany/podmanager/pkg/plugin/tree"
)

// getOptions are the flags of get.
type getOptions struct {
	all, watch, untilReady, trees bool
	selector                      string
	timeout                       time.Duration
	format                        output.Format
}

func (p *plugin) get() *cobra.Command {
	var o getOptions
	command := &cobra.Command{
		Use:   "get [NAME...]",
		Short: "Show PodManagers, their revisions and their pods",
		Long: `Show PodManagers. With names, get shows a header and the tree of revisions and pods of each PodManager; without names, one line for each.

With -w, get redraws its output whenever something changes. If the output is not a terminal, get appends a line for each change instead.`,
		Example: "  " + text.Command + " get web\n  " + text.Command + " get web -w --until-ready\n  " + text.Command + " get -A",
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := cluster.ParseNames(args)
			if err == nil {
				err = o.check(names)
			}
			if err != nil {
				return err
			}
			return p.runGet(cmd.Context(), o, names)
		},
		ValidArgsFunction: p.completeNames(-1),
	}
	flags := command.Flags()
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "Show the PodManagers of all namespaces")
	flags.StringVarP(&o.selector, "selector", "l", "", "Label selector of the PodManagers, such as app=web")
	flags.BoolVarP(&o.watch, "watch", "w", false, "Keep running, and show every change")
	flags.BoolVar(&o.untilReady, "until-ready", false, "With -w: end when no rollout is under way: all are ready (0), one has failed (3) or is held (4)")
	flags.DurationVar(&o.timeout, "timeout", 0, "With -w: end with exit code 124 after this time; 0 means no limit")
	flags.BoolVar(&o.trees, "tree", false, "Show the tree of each PodManager even if no names are given")
	addOutput(command, &o.format)
	return command
}

func (o getOptions) check(names []string) error {
	switch {
	case len(names) > 0 && o.selector != "":
		return errors.New("give names or -l, not both")
	case len(names) > 0 && o.all:
		return errors.New("names and -A cannot be combined: leave out -A, and choose the namespace with -n")
	case o.watch && o.format != "":
		return errors.New("-w and -o cannot be combined: leave out -o, or use kubectl get pm -w -o FORMAT")
	case (o.untilReady || o.timeout > 0) && !o.watch:
		return errors.New("--until-ready and --timeout need -w")
	default:
		return nil
	}
}

func (p *plugin) runGet(ctx context.Context, o getOptions, names []string) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	selection := cluster.Selection{Namespace: c.Namespace, Names: names, Selector: o.selector}
	if o.all {
		selection.Namespace = metav1.NamespaceAll
	}
	withTrees := o.trees || len(names) > 0
	draw := func(all []snapshot.Snapshot, style text.Style) []string { return drawAll(all, withTrees, o.all, style) }
	if o.watch {
		return p.watch(ctx, c, selection, o, withTrees, draw)
	}
	all, notRead := p.read(ctx, c, selection, withTrees && o.format == "")
	if len(all) == 0 && (notRead != nil || o.format == "") {
		if notRead == nil {
			_, notRead = fmt.Fprintln(p.errOut, "No PodManagers found"+inNamespace(selection.Namespace)+".")
		}
		return notRead
	}
	err = p.show(o.format, objectOf(all, names), func(style text.Style) []string { return draw(all, style) }, fullNames(all)...)
	return errors.Join(err, notRead)
}

// read reads the PodManagers and, if withOwned is set, their pods and revisions.
func (p *plugin) read(ctx context.Context, c *cluster.Cluster, selection cluster.Selection, withOwned bool) ([]snapshot.Snapshot, error) {
	if withOwned {
		return c.Read(ctx, selection)
	}
	managers, err := c.ReadManagers(ctx, selection)
	var all []snapshot.Snapshot
	for _, manager := range managers {
		all = append(all, snapshot.New(manager, nil, nil, nil, time.Now()))
	}
	return all, err
}

func (p *plugin) watch(
	ctx context.Context, c *cluster.Cluster, selection cluster.Selection, o getOptions, withTrees bool, draw func([]snapshot.Snapshot, text.Style) []string,
) error {
	style, err := p.style()
	if err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	source, err := c.Watch(ctx, selection, withTrees)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	show := live.Show{Out: p.terminal, ErrOut: p.errOut, Draw: draw, Coloured: style.Coloured, WithNamespace: o.all, UntilReady: o.untilReady}
	if text.IsTerminal(p.terminal) {
		show.Size = func() (int, int) { return text.Size(p.terminal) }
	}
	code, err := show.Run(ctx, source)
	if code != 0 || err != nil {
		return exit{code, err}
	}
	return nil
}

func drawAll(all []snapshot.Snapshot, withTrees, withNamespace bool, style text.Style) []string {
	if !withTrees {
		return tree.List(all, withNamespace, style)
	}
	var lines []string
	for i, s := range all {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, tree.Draw(s, style)...)
	}
	return lines
}

// objectOf returns the value that -o prints: the object if the user named one, otherwise a list, as in kubectl.
func objectOf(all []snapshot.Snapshot, names []string) any {
	list := &v1.PodManagerList{TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersionKind.GroupVersion().String(), Kind: v1.Kind + "List"}, Items: []v1.PodManager{}}
	for _, s := range all {
		manager := s.Manager.DeepCopy()
		manager.SetGroupVersionKind(v1.GroupVersionKind)
		if len(names) == 1 {
			return manager
		}
		list.Items = append(list.Items, *manager)
	}
	return list
}

func fullNames(all []snapshot.Snapshot) []string {
	var names []string
	for _, s := range all {
		names = append(names, cluster.FullName(s.Manager.Name))
	}
	return names
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}
