package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

func main() {
	// Discard client-go's logs: the plugin prints the same errors itself.
	klog.SetLogger(klog.Logger{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &plugin{in: os.Stdin, out: os.Stdout, errOut: os.Stderr, getenv: os.Getenv, installedAs: installedAs(os.Args[0])}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// installedAs returns the plugin name that users type after kubectl: the file name of the program without its prefix kubectl- and its suffix .exe.
// It returns pm if the file name has no such prefix.
func installedAs(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if rest, found := strings.CutPrefix(name, "kubectl-"); found {
		return rest
	}
	return "pm"
}

// exit is an error that ends the program with an exit code. Its err is nil if there is nothing left to print.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// run runs a command and returns the exit code.
func (p *plugin) run(ctx context.Context, args []string) int {
	p.terminal, p.out, p.errOut = p.out, text.Cleaner(p.out), text.Cleaner(p.errOut)
	root := p.root() //nolint:contextcheck // cobra hands the context to the verb that it runs
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return follow.ExitDone
	}
	var coded exit
	if !errors.As(err, &coded) {
		coded = exit{follow.ExitError, err}
	}
	if why := strings.TrimSpace(coded.Error()); why != "" {
		fmt.Fprintln(p.errOut, "error: "+why)
	}
	return coded.code
}
