package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

const revisionUsage = "Only pods of this revision: new, old, or a number or hash that history shows"

// logOptions are the flags of logs, named as in kubectl.
type logOptions struct {
	revision, container string
	previous, follow    bool
	tail                int64
	since               time.Duration
	most                int
}

func (p *plugin) logs() *cobra.Command {
	o := logOptions{}
	command := &cobra.Command{
		Use:     "logs NAME",
		Short:   "Show the logs of all pods, or of the pods of a revision",
		Example: "  " + text.Command + " logs web --revision new -f",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, s, err := p.readOne(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			pods, err := s.PodsOf(o.revision)
			if err != nil {
				return err
			}
			streams := cluster.LogStreams(pods, o.container)
			switch {
			case len(streams) == 0:
				return fmt.Errorf("none of the chosen pods of %s has a container %s", s.Manager.Name, o.container)
			case len(streams) > o.most:
				return fmt.Errorf("%d logs match, and at most %d may be read at once; choose fewer with --revision and -c, or raise --max-log-requests",
					len(streams), o.most)
			}
			return c.CopyLogs(cmd.Context(), streams, o.forKubelet(), p.out)
		},
		ValidArgsFunction: p.completeNames(1),
	}
	flags := command.Flags()
	flags.StringVar(&o.revision, "revision", "", revisionUsage)
	flags.StringVarP(&o.container, "container", "c", "", "Only this container, which may be an init container; without it, all containers but init containers")
	flags.BoolVarP(&o.previous, "previous", "p", false, "The log of the container's previous run")
	flags.BoolVarP(&o.follow, "follow", "f", false, "Keep printing what the containers log")
	flags.Int64Var(&o.tail, "tail", 10, "How many of the last lines of each log to show; -1 shows all")
	flags.DurationVar(&o.since, "since", 0, "Only lines newer than this, such as 5s or 2h")
	flags.IntVar(&o.most, "max-log-requests", 20, "How many logs may be read at once")
	return command
}

// forKubelet returns the options in the form in which the API server passes them to the kubelet.
func (o logOptions) forKubelet() corev1.PodLogOptions {
	options := corev1.PodLogOptions{Previous: o.previous, Follow: o.follow}
	if o.tail >= 0 {
		options.TailLines = &o.tail
	}
	if o.since > 0 {
		seconds := int64(max(1, o.since.Round(time.Second)/time.Second))
		options.SinceSeconds = &seconds
	}
	return options
}

// exec and portForward choose a pod, and leave the rest to kubectl.

func (p *plugin) exec() *cobra.Command {
	return p.handOver("exec", "NAME [-c CONTAINER] [-i] [-t] -- COMMAND [ARG...]", "Run a command in a pod, preferably an available one of the new revision",
		text.Command+" exec web -it -- sh", func(flags *pflag.FlagSet) {
			flags.StringP("container", "c", "", "The container; without it, kubectl chooses one")
			flags.BoolP("stdin", "i", false, "Pass the standard input to the command")
			flags.BoolP("tty", "t", false, "Give the command a terminal")
		})
}

func (p *plugin) portForward() *cobra.Command {
	return p.handOver("port-forward", "NAME [LOCAL:]REMOTE...", "Forward ports of this machine to a pod, preferably an available one of the new revision",
		text.Command+" port-forward web 8080:80", func(flags *pflag.FlagSet) {
			flags.String("address", "localhost", "Addresses of this machine to listen on, separated by commas")
		})
}

// handOver returns a verb that runs the same verb of kubectl for one pod, with the same flags for the connection.
func (p *plugin) handOver(verb, usage, short, example string, addFlags func(*pflag.FlagSet)) *cobra.Command {
	var revision string
	command := &cobra.Command{
		Use: verb + " " + usage, Short: short, Example: "  " + example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("arguments are missing: %s %s", cmd.CommandPath(), usage)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, s, err := p.readOne(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			pods, err := s.PodsOf(revision)
			if err != nil {
				return err
			}
			pod, err := s.Pick(pods)
			if err != nil {
				return err
			}
			if err := c.MayRun(cmd.Context(), verb); err != nil {
				return err
			}
			words := append([]string{verb, "--namespace=" + c.Namespace}, passedOn(cmd)...)
			if words = append(words, pod.Name); verb == "exec" {
				words = append(words, "--")
			}
			fmt.Fprintf(p.errOut, "kubectl %s %s\n", verb, pod.Name)
			return runKubectl(cmd, slices.Concat(words, args[1:]))
		},
		ValidArgsFunction: p.completeNames(1),
	}
	addFlags(command.Flags())
	command.Flags().StringVar(&revision, "revision", "", revisionUsage)
	return command
}

// passedOn returns the flags that the user has given, without those of the plugin alone and without --namespace, which handOver adds itself.
func passedOn(cmd *cobra.Command) (words []string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"revision", "namespace", "color"}, flag.Name) {
			words = append(words, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	return words
}

// runKubectl runs kubectl with the plugin's standard input and outputs. If kubectl fails, it returns kubectl's exit code as an exit error.
func runKubectl(cmd *cobra.Command, words []string) error {
	kubectl := exec.CommandContext(cmd.Context(), "kubectl", words...) //nolint:gosec // the user has typed them
	kubectl.Stdin, kubectl.Stdout, kubectl.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := kubectl.Run()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return exit{failed.ExitCode(), nil}
	case err != nil:
		return exit{follow.ExitError, fmt.Errorf("%w; this verb needs kubectl on the PATH", err)}
	default:
		return nil
	}
}
