package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

func (p *plugin) migrate() *cobra.Command {
	var o writeOptions
	command := &cobra.Command{
		Use:   "migrate",
		Short: "Rewrite all PodManagers in the storage version of the CRD, so that an old version can be removed",
		Long: `Rewrite all PodManagers of the cluster in the storage version of the CRD, and remove all other versions from the CRD's
status.storedVersions. Only then does the API server allow an old version to be removed from the CRD. Nothing changes for users and pods. migrate is
for administrators of the cluster, and can be run again if it was interrupted.`,
		Example: "  " + text.Command + " migrate --dry-run=server\n  " + text.Command + " migrate",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.runMigrate(cmd.Context(), o)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.add(command)
	return command
}

func (p *plugin) runMigrate(ctx context.Context, o writeOptions) error {
	if err := cluster.CheckDryRun(o.dryRun); err != nil {
		return err
	}
	c, err := p.connect()
	if err != nil {
		return err
	}
	done, err := c.Migrate(ctx, o.dryRun)
	if err != nil {
		return err
	}
	return p.show(o.format, done, func(text.Style) []string { return migrated(done, o.dryRun) }, "customresourcedefinition.apiextensions.k8s.io/"+cluster.CRDName)
}

// migrated describes what migrate has done, or would do.
func migrated(m cluster.Migration, dryRun string) []string {
	before := strings.Join(m.Before, ", ")
	switch {
	case m.IsDone():
		return []string{fmt.Sprintf("All PodManagers are stored as %s already: there is nothing to do%s", m.StorageVersion, tried(dryRun))}
	case dryRun != cluster.DryRunNone:
		return []string{
			fmt.Sprintf("PodManagers that would be rewritten as %s unless they are in this version already: %d%s",
				m.StorageVersion, m.Objects, tried(dryRun)),
			fmt.Sprintf("status.storedVersions of the CRD would be %s, is %s%s", m.StorageVersion, before, tried(dryRun)),
		}
	default:
		return []string{
			fmt.Sprintf("PodManagers checked: %d; rewritten as %s: %d, stored that way already: %d, written or deleted by other clients meanwhile: %d",
				m.Objects, m.StorageVersion, m.Rewritten, m.Objects-m.Rewritten-m.Overtaken, m.Overtaken),
			fmt.Sprintf("status.storedVersions of the CRD is %s, was %s", m.StorageVersion, before),
		}
	}
}
