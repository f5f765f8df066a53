//go:build e2e

package upgrade

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// earlierCommit is the version that today's replaces. Once there are releases, it is the latest of them.
const earlierCommit = "462cb57"

var (
	// earlier and today are the two versions. If there is no earlier one, missing says why.
	earlier, today *version
	missing        string
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run builds the earlier version while the harness builds today's.
func run(m *testing.M) int {
	root, err := filepath.Abs("../../..")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	folder, err := os.MkdirTemp("", "podmanager-e2e-upgrade-earlier-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built := make(chan error, 1)
	go func() { built <- build(root, earlierCommit, folder) }()
	code := harness.Run(m, "e2e-upgrade", func(ctx context.Context, cluster *lab.Cluster) error {
		err := <-built
		close(built)
		return setUp(cluster, root, folder, err)
	}, tearDown)
	<-built // if the harness failed early, the build may still be writing to the folder
	_ = os.RemoveAll(folder)
	return code
}

func setUp(cluster *lab.Cluster, root, folder string, built error) error {
	today = &version{name: "today", root: root, Cluster: cluster}
	earlier = &version{name: earlierCommit, root: folder, Cluster: cluster.WithController(filepath.Join(folder, "controller"))}
	if isMissing(built) {
		missing = built.Error()
		return nil
	}
	return built
}

// tearDown leaves today's CRD and permissions to the next suite.
func tearDown(bool) error {
	ctx := context.Background()
	if err := today.install(ctx); err != nil {
		return err
	}
	_, err := today.Kubectl(ctx, "delete", "--ignore-not-found", "-f", today.file(shardRights))
	return err
}
