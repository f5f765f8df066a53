package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/output"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// plugin holds what all verbs share.
type plugin struct {
	in          io.Reader
	out, errOut io.Writer
	// terminal is out before run wraps it in a text.Cleaner. Only get -w writes to it, because a Cleaner drops the sequences that move the cursor.
	// Code that writes to it must clean its own text.
	terminal io.Writer
	getenv   func(string) string
	// installedAs is the plugin name that the user types after kubectl. Only the completion script depends on it: messages always say
	// text.Command.
	installedAs string

	connection *cluster.Flags
	colour     string
}

const long = `Follow, explain, undo and control the rollouts of PodManagers.

All of kubectl's connection flags work ('kubectl options' lists them). A PodManager is named as web or pm/web.`

// shown lists the connection flags that every help text shows. kubectl options lists the others.
var shown = []string{"kubeconfig", "context", "namespace"}

func (p *plugin) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "kubectl-pm",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: text.Command},
		Short:             "Follow, explain, undo and control the rollouts of PodManagers",
		Long:              long,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:              unknownCommand,

		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.errOut)
	p.connection = cluster.NewFlags(root.PersistentFlags())
	root.PersistentFlags().VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = true
		for _, name := range shown {
			flag.Hidden = flag.Hidden && flag.Name != name
		}
	})
	root.PersistentFlags().StringVar(&p.colour, "color", "auto", "Colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	root.SetFlagErrorFunc(invalidFlag)
	root.SetHelpCommandGroupID("other")
	root.AddGroup(&cobra.Group{ID: "read", Title: "Look:"}, &cobra.Group{ID: "write", Title: "Change:"}, &cobra.Group{ID: "other", Title: "Other:"})
	group := func(id string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = id
			root.AddCommand(command)
		}
	}
	group("read", p.get(), p.status(), p.why(), p.logs(), p.history(), p.diff(), p.simulate())
	group("write", append(p.writers(), p.undo())...)
	group("other", p.exec(), p.portForward(), p.check(), p.convert(), p.migrate(), p.version(), p.completion())
	return root
}

// invalidFlag returns the error for a flag that does not exist, or has an invalid value. If the verb before the flag does not exist, the flag does not
// matter: the error is the same as without it.
func invalidFlag(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			return err
		}
	}
	var invalid *pflag.InvalidValueError
	if number := (*strconv.NumError)(nil); errors.As(err, &number) && errors.As(err, &invalid) {
		err = fmt.Errorf("--%s %q is not a number: %w", invalid.GetFlag().Name, invalid.GetValue(), number.Err)
	}
	return fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())
}

// unknownCommand refuses a verb that does not exist, and suggests verbs with a similar name.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	why := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	similar := cmd.SuggestionsFor(args[0])
	switch {
	case cmd.HasParent(): // set has a single verb, and its name is easily forgotten
		similar = nil
		for _, verb := range cmd.Commands() {
			similar = append(similar, cmd.Name()+" "+verb.Name())
		}
	case args[0] == "rollout" && len(args) > 1: // kubectl rollout has these verbs, too
		if verb, _, err := cmd.Find(args[1:]); err == nil && verb != cmd {
			similar = []string{verb.CommandPath()}
		}
	case ofKubectl[args[0]]:
		similar = []string{"kubectl " + args[0] + " pm"}
	}
	if len(similar) > 0 {
		why += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return errors.New(why)
}

// ofKubectl are the verbs that the plugin leaves to kubectl.
var ofKubectl = map[string]bool{
	"describe": true, "delete": true, "edit": true, "patch": true, "label": true, "annotate": true, "wait": true, "autoscale": true,
}

// oneName refuses any number of arguments except one, the name of a PodManager.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("the name of a PodManager is missing: %s NAME", cmd.CommandPath())
	}
	return atMost(1, "the name of one PodManager")(cmd, args)
}

// atMost refuses more than most arguments. takes says what the verb takes.
func atMost(most int, takes string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= most {
			return nil
		}
		return fmt.Errorf("%s takes %s, and there are %d arguments: %s", cmd.CommandPath(), takes, len(args), strings.Join(args, " "))
	}
}

func (p *plugin) connect() (*cluster.Cluster, error) {
	return p.connection.Connect(userAgent())
}

// style returns the colours and the width of the output. The width is 0 if the output is not a terminal.
func (p *plugin) style() (text.Style, error) {
	isTerminal := text.IsTerminal(p.terminal)
	coloured, err := text.UsesColour(p.colour, p.getenv, isTerminal)
	columns, _ := text.Size(p.terminal)
	return text.Style{Coloured: coloured, Width: columns}, err
}

// readOne reads the PodManager that the argument names.
func (p *plugin) readOne(ctx context.Context, argument string) (*cluster.Cluster, snapshot.Snapshot, error) {
	name, err := cluster.Name(argument)
	if err != nil {
		return nil, snapshot.Snapshot{}, err
	}
	c, err := p.connect()
	if err != nil {
		return nil, snapshot.Snapshot{}, err
	}
	all, err := c.Read(ctx, cluster.Selection{Namespace: c.Namespace, Names: []string{name}})
	if err != nil {
		return nil, snapshot.Snapshot{}, err
	}
	return c, all[0], nil
}

// show prints the result of a verb: as a value if -o is given, otherwise as lines of text.
func (p *plugin) show(format output.Format, value any, lines func(text.Style) []string, names ...string) error {
	if format != "" {
		return format.Print(p.out, value, names...)
	}
	style, err := p.style()
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.out, text.Join(lines(style)))
	return err
}

func addOutput(command *cobra.Command, format *output.Format) {
	command.Flags().StringVarP((*string)(format), "output", "o", "", "Output for programs: json, yaml, name or jsonpath=TEMPLATE")
	run := command.RunE
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if err := format.Check(); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// withTimeout limits how long a verb waits. With 0 it waits forever.
func withTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// readFile reads the file that -f names. - is the standard input.
func (p *plugin) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(p.in)
	}
	return os.ReadFile(name)
}
