package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // -logging-format json
	"k8s.io/klog/v2"
)

const programName = "podmanager-controller"

// Exit codes allow a script to tell wrong flags from an unreachable cluster.
const (
	exitOK = iota
	exitFailure
	exitUsage
)

// Main runs the program, and returns its exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	options := NewOptions()
	err := options.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		NewOptions().PrintHelp(stdout) // with the defaults, not with the values given before -help
		return exitOK
	}
	if err == nil && options.Version {
		fmt.Fprintln(stdout, programName, readBuild())
		return exitOK
	}
	if err = errors.Join(err, options.Validate()); err == nil {
		err = logsapi.ValidateAndApply(options.Logging, nil)
	}
	if err != nil {
		return usageError(stderr, err)
	}
	defer klog.Flush()

	ctx := signalContext()
	process, err := Prepare(ctx, options.Config())
	if err != nil && ctx.Err() != nil {
		return exitOK // stopped during startup
	}
	if err != nil {
		// A person reads this on a terminal, or at the end of the pod's log: one plain line.
		fmt.Fprintf(stderr, "%s: %s\n", programName, strings.Join(strings.Fields(err.Error()), " "))
		return exitFailure
	}
	if err := process.Run(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Exiting")
		return exitFailure
	}
	return exitOK
}

func usageError(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "%s: invalid flags:\n  %s\nSee %[1]s -help\n",
		programName, strings.ReplaceAll(err.Error(), "\n", "\n  "))
	return exitUsage
}
