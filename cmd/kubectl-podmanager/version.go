package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"

	"github.com/mycompany/podmanager/pkg/plugin/output"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

func (p *plugin) version() *cobra.Command {
	var format output.Format
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the plugin",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			is := buildVersion()
			return p.show(format, map[string]string{"version": is, "go": runtime.Version()}, func(text.Style) []string {
				return []string{fmt.Sprintf("%s %s (%s, %s/%s)", text.Command, is, runtime.Version(), runtime.GOOS, runtime.GOARCH)}
			}, is)
		},
	}
	addOutput(command, &format)
	return command
}

// buildVersion returns the version that the Makefile stamped into the binary, or the one that the Go command recorded.
func buildVersion() string {
	if stamped := version.Get().GitVersion; !strings.Contains(stamped, "$Format") {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// userAgent returns the user agent that identifies the plugin's requests in audit logs.
func userAgent() string { return "kubectl-podmanager/" + buildVersion() }
