package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mycompany/podmanager/pkg/plugin/change"
	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// script is the script that kubectl calls to complete the arguments of a plugin. kubectl finds the script by its file name, which ends with the
// plugin's name, so each name under which the plugin is installed needs a script of its own.
const script = `#!/bin/sh
# kubectl calls this to complete the arguments of kubectl %[1]s. Put it on the PATH, executable, as
# kubectl_complete-%[1]s:
#   kubectl %[1]s completion kubectl > ~/bin/kubectl_complete-%[1]s && chmod +x ~/bin/kubectl_complete-%[1]s
exec kubectl %[1]s __complete "$@"
`

func (p *plugin) completion() *cobra.Command {
	completion := &cobra.Command{Use: "completion", Short: "Print the script with which kubectl completes names, revisions and containers", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	completion.AddCommand(&cobra.Command{
		Use:   "kubectl",
		Short: "Print the script that kubectl calls",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(p.out, fmt.Sprintf(script, p.installedAs))
			return err
		},
	})
	return completion
}

type completer = cobra.CompletionFunc

// completeNames completes the names of up to most PodManagers, or of any number if most is negative.
func (p *plugin) completeNames(most int) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.namesBut(cmd, args, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// namesBut returns the names of PodManagers that start with typed and are not in taken.
func (p *plugin) namesBut(cmd *cobra.Command, taken []string, typed string) []string {
	c, err := p.connect()
	if err != nil {
		return nil
	}
	managers, err := c.ReadManagers(cmd.Context(), cluster.Selection{Namespace: c.Namespace})
	if err != nil {
		return nil
	}
	var names []string
	for _, manager := range managers {
		if strings.HasPrefix(manager.Name, typed) && !slices.Contains(taken, manager.Name) {
			names = append(names, manager.Name)
		}
	}
	return names
}

// completeRevisions completes the name of a PodManager, and then up to most of its revisions.
func (p *plugin) completeRevisions(most int) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return p.completeNames(1)(cmd, args, typed)
		case len(args) > most:
			return nil, cobra.ShellCompDirectiveNoFileComp
		default:
			return p.completeRevisionFlag(cmd, args, typed)
		}
	}
}

// completeRevisionFlag completes the revision numbers of the PodManager that is already named.
func (p *plugin) completeRevisionFlag(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_, s, err := p.readOne(cmd.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var numbers []string
	for _, revision := range s.History() {
		number := strconv.FormatInt(revision.Number, 10)
		if revision.Number > 0 && strings.HasPrefix(number, typed) {
			numbers = append(numbers, number+"\t"+snapshot.Images(revision.Template))
		}
	}
	return numbers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeNodes completes the nodes that have pods of the PodManager that is already named.
func (p *plugin) completeNodes(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_, s, err := p.readOne(cmd.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, pod := range s.Pods {
		if node := pod.Spec.NodeName; node != "" && strings.HasPrefix(node, typed) {
			names = append(names, node)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// completeContainers completes the name of a PodManager, and then the names of its containers as "CONTAINER=".
func (p *plugin) completeContainers(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return p.completeNames(1)(cmd, args, typed)
	}
	name, err := cluster.Name(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := p.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	managers, err := c.ReadManagers(cmd.Context(), cluster.Selection{Namespace: c.Namespace, Names: []string{name}})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var pairs []string
	for _, container := range change.ContainersOf(managers[0]) {
		if pair := container + "="; strings.HasPrefix(pair, typed) {
			pairs = append(pairs, pair)
		}
	}
	return pairs, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
