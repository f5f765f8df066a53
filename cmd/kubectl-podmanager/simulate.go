package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/change"
	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/manifest"
	"github.com/mycompany/podmanager/pkg/plugin/output"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// simulateOptions are the flags of simulate.
type simulateOptions struct {
	file                  string
	images                []string
	replicas              int32
	readyAfter, stopAfter time.Duration
	fail, neverReady      []string
	drain                 []string
	all                   bool
	format                output.Format
	// hasNamespace and hasReplicas report whether the user set these flags.
	hasNamespace, hasReplicas bool
}

const simulateLong = `Simulate, step by step, what kubectl apply -f FILE would lead to, and write nothing. The controller's planner decides, starting
from the PodManager, its pods and its revisions as they are now. With NAME instead of a file, the simulation uses the present spec, changed by
--image and --replicas if they are given.

The API server checks the file and adds defaults, by a dry run of what kubectl apply would send. A user who may not patch PodManagers or create pods
gets a warning instead: defaults that are missing in the file may then show as changes.

With --drain, the nodes are cordoned at the start and their pods are evicted, as kubectl drain does. An eviction that a PodDisruptionBudget refuses is
tried again every 5 s. With disruption.onDrain: Replace, the controller creates replacements first. The report says whether the drain ends.

Assumptions:
  - Every node has room, and a kubelet takes a second to carry out a change in place. Requests do not fail, and no other client changes anything.
    There are two exceptions. A dry run asks the API server whether it takes a pod, and if not, it refuses the pods of the simulation, too. If a
    rollout needs a surge pod, because no pod may be unavailable, a quota must have room for that pod, and pods that may not share a node get no
    more nodes than the cluster has.
  - Containers are ready --pods-ready-after their start, in a new pod or when they are restarted in place. Pods become available
    minReadySeconds later.
  - Containers stop after --pods-stop-after plus the sleep of a preStop hook, but at the latest after terminationGracePeriodSeconds.
  - A pod that crashes does so when it would have become ready, and does not recover. --fail and --never-ready take the name of a pod,
    every, or "every 3" for each third pod that gets the new revision; they may be repeated.
  - Pods that are in trouble now stay in trouble, unless they are replaced or changed.
  - maxPodAgeSeconds is left out, unless a pod already leaves for its age: such replacements never end. A note names the pods that are due.`

func (p *plugin) simulate() *cobra.Command {
	var o simulateOptions
	command := &cobra.Command{
		Use:   "simulate [NAME] [-f FILE]",
		Short: "Simulate a rollout or a drain: how long it takes, how many pods are available, how it ends",
		Long:  simulateLong,
		Example: "  " + text.Command + " simulate -f new.yaml\n  " + text.Command + " simulate -f new.yaml --pods-ready-after 45s --fail \"every 3\"\n  " +
			text.Command + " simulate web --image app=nginx:1.30 --fail web-2\n  " +
			text.Command + " simulate web --drain node-7",
		RunE: func(cmd *cobra.Command, args []string) error {
			args = everyNth(o.neverReady, everyNth(o.fail, args))
			o.hasNamespace, o.hasReplicas = cmd.Flags().Changed("namespace"), cmd.Flags().Changed("replicas")
			return p.runSimulate(cmd.Context(), o, args)
		},
		ValidArgsFunction: p.completeNames(1),
	}
	flags := command.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "Manifest to apply in the simulation; - is the standard input")
	flags.StringArrayVar(&o.images, "image", nil, "Without -f: image to set, as CONTAINER=IMAGE; may be repeated")
	flags.Int32Var(&o.replicas, "replicas", 0, "Without -f: number of pods to scale to; by default the present number")
	flags.DurationVar(&o.readyAfter, "pods-ready-after", 10*time.Second, "How long containers take from their start until they are ready")
	flags.DurationVar(&o.stopAfter, "pods-stop-after", time.Second, "How long containers take to stop")
	flags.StringArrayVar(&o.fail, "fail", nil, "Pods of the new revision that crash: a name, every, or \"every N\"")
	flags.StringArrayVar(&o.neverReady, "never-ready", nil, "Pods of the new revision that never become ready: a name, every, or \"every N\"")
	flags.StringArrayVar(&o.drain, "drain", nil, "Node to drain from the start; may be repeated")
	flags.BoolVar(&o.all, "all", false, "Show all steps of a long table")
	every := cobra.FixedCompletions([]string{"every"}, cobra.ShellCompDirectiveNoFileComp)
	_ = command.RegisterFlagCompletionFunc("fail", every) // fails only for a flag that does not exist
	_ = command.RegisterFlagCompletionFunc("never-ready", every)
	_ = command.RegisterFlagCompletionFunc("drain", p.completeNodes)
	addOutput(command, &o.format)
	return command
}

// everyNth moves the number of an unquoted "--fail every 3" from the arguments to the flag's value.
func everyNth(values, args []string) []string {
	for i, value := range values {
		if value != "every" || len(args) == 0 {
			continue
		}
		last := args[len(args)-1]
		if _, err := strconv.Atoi(last); err == nil {
			values[i], args = "every "+last, args[:len(args)-1]
		}
	}
	return args
}

// check returns an error if the flags are invalid.
func (o simulateOptions) check(args []string) error {
	switch {
	case len(args) > 1:
		return errors.New("simulate is for one PodManager at a time")
	case o.file == "" && len(args) == 0:
		return errors.New("say what to simulate: -f FILE, or NAME")
	case o.file != "" && (len(o.images) > 0 || o.hasReplicas):
		return errors.New("--image and --replicas cannot be combined with -f: change the file instead")
	case o.replicas < 0:
		return errors.New("--replicas must not be below 0")
	case o.readyAfter < 0 || o.stopAfter < 0:
		return errors.New("--pods-ready-after and --pods-stop-after must not be below 0")
	default:
		return nil
	}
}

func (p *plugin) runSimulate(ctx context.Context, o simulateOptions, args []string) error {
	err := o.check(args)
	if err != nil {
		return err
	}
	assumed := simulate.Options{ReadyAfter: o.readyAfter, StopAfter: o.stopAfter}
	if assumed.Fail, err = simulate.ParseChoice("--fail", o.fail); err != nil {
		return err
	}
	if assumed.NeverReady, err = simulate.ParseChoice("--never-ready", o.neverReady); err != nil {
		return err
	}
	name := ""
	if len(args) == 1 {
		if name, err = cluster.Name(args[0]); err != nil {
			return err
		}
	}
	var live snapshot.Snapshot
	var wanted *v1.PodManager
	if o.file != "" {
		live, wanted, err = p.wantedByFile(ctx, o.file, o.hasNamespace, name)
	} else {
		live, wanted, err = p.wantedByFlags(ctx, o, name)
	}
	if err != nil {
		return err
	}
	if len(o.drain) > 0 {
		if assumed.Drain, err = p.readDrain(ctx, wanted, o.drain); err != nil {
			return err
		}
	}
	if assumed.Room, err = p.readRoom(ctx, live, wanted); err != nil {
		return err
	}
	report, err := simulate.Run(live, wanted, assumed)
	if err != nil {
		return err
	}
	return p.show(o.format, report, func(style text.Style) []string { return report.Lines(style, o.all) }, cluster.FullName(wanted.Name))
}

// readDrain reads what a drain of nodes depends on.
func (p *plugin) readDrain(ctx context.Context, wanted *v1.PodManager, nodes []string) (simulate.Drain, error) {
	c, err := p.connect()
	if err != nil {
		return simulate.Drain{}, err
	}
	names := make([]string, 0, len(nodes))
	for _, name := range nodes {
		if name = strings.TrimPrefix(name, "node/"); name == "" {
			return simulate.Drain{}, errors.New("--drain needs the name of a node")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return c.ReadDrain(ctx, wanted, names)
}

// readRoom returns whether the API server takes the pods, and the room for a surge pod.
func (p *plugin) readRoom(ctx context.Context, live snapshot.Snapshot, wanted *v1.PodManager) (surge.Room, error) {
	c, err := p.connect()
	if err != nil {
		return surge.Room{}, err
	}
	return c.RoomToSimulate(ctx, wanted, live.Manager == nil), nil
}

// wantedByFile returns the live state, and the PodManager that kubectl apply of a file would produce. hasNamespace reports whether the user has chosen
// the namespace with a flag.
func (p *plugin) wantedByFile(
	ctx context.Context, path string, hasNamespace bool, name string,
) (live snapshot.Snapshot, wanted *v1.PodManager, err error) {
	data, err := p.readFile(path)
	if err != nil {
		return live, nil, err
	}
	file, err := manifest.Read(path, data, name)
	if err != nil {
		return live, nil, err
	}
	c, err := p.connect()
	if err != nil {
		return live, nil, err
	}
	namespace := c.Namespace
	if own := file.Manager.Namespace; own != "" {
		if hasNamespace && own != namespace {
			return live, nil, fmt.Errorf("%s has namespace %s, but -n is %s", path, own, namespace)
		}
		namespace = own
	}
	file.Manager.Namespace = namespace
	if live, err = c.ReadIfAny(ctx, namespace, file.Manager.Name); err != nil {
		return live, nil, err
	}
	wanted, warning, err := c.TryApply(ctx, live.Manager, file)
	if warning != "" {
		fmt.Fprintln(p.errOut, "Warning: "+warning)
	}
	return live, wanted, err
}

// wantedByFlags returns the live state, and the PodManager after the changes that the flags request.
func (p *plugin) wantedByFlags(ctx context.Context, o simulateOptions, name string) (snapshot.Snapshot, *v1.PodManager, error) {
	images, err := change.ParseImages(o.images)
	if err != nil {
		return snapshot.Snapshot{}, nil, err
	}
	c, live, err := p.readOne(ctx, name)
	if err != nil {
		return live, nil, err
	}
	wanted := live.Manager
	if len(images) > 0 {
		var warning string
		if wanted, warning, err = c.TryVerb(ctx, live.Manager, change.SetImage(images, "")); err != nil {
			return live, nil, err
		}
		if warning != "" {
			fmt.Fprintln(p.errOut, "Warning: "+warning)
		}
	}
	if o.hasReplicas {
		wanted = wanted.DeepCopy()
		wanted.Spec.Replicas = &o.replicas
	}
	return live, wanted, nil
}
