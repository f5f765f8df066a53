//go:build e2e

package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// shared holds what all tests use.
var shared struct {
	cluster *lab.Cluster
	// helm is the program. chart is the packaged chart, and previous is an older version with a different CRD.
	helm, chart, previous string
}

func TestMain(m *testing.M) {
	os.Exit(harness.Run(m, "e2e-chart", setUp, func(bool) error { return nil }))
}

func setUp(ctx context.Context, cluster *lab.Cluster) error {
	shared.cluster = cluster
	out, err := exec.CommandContext(ctx, "hack/tool.sh", "helm").Output()
	if err != nil {
		return fmt.Errorf("hack/tool.sh helm: %w", err)
	}
	shared.helm = strings.TrimSpace(string(out))
	// Helm keeps its caches and settings there, not in the user's folders.
	for _, name := range []string{"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} {
		if err := os.Setenv(name, filepath.Join(cluster.Folder, "helm")); err != nil {
			return err
		}
	}
	return packageCharts(ctx, cluster.Folder)
}

// The short names of PodManagers in the current CRD and in the one of the previous version.
const shortName, formerShortName = "pm", "pmformer"

// packageCharts packages the chart as it is, and as a previous version with a distinguishable CRD.
func packageCharts(ctx context.Context, folder string) error {
	former := filepath.Join(folder, "former", "podmanager")
	if err := os.CopyFS(former, os.DirFS("artifacts/chart")); err != nil {
		return err
	}
	crd := filepath.Join(former, "files", "crd.yaml")
	data, err := os.ReadFile(crd)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(data), "    - "+shortName+"\n", "    - "+formerShortName+"\n", 1)
	if changed == string(data) {
		return fmt.Errorf("%s has no short name %s", crd, shortName)
	}
	if err := os.WriteFile(crd, []byte(changed), 0o644); err != nil {
		return err
	}
	shared.chart, shared.previous = filepath.Join(folder, "podmanager-1.0.0.tgz"), filepath.Join(folder, "podmanager-0.9.0.tgz")
	for _, arguments := range [][]string{
		{"artifacts/chart", "--version", "1.0.0", "--app-version", "v1.0.0"},
		{former, "--version", "0.9.0", "--app-version", "v0.9.0"},
	} {
		arguments = append([]string{"package", "--destination", folder}, arguments...)
		if out, err := exec.CommandContext(ctx, shared.helm, arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("helm %s: %w\n%s", strings.Join(arguments, " "), err, out)
		}
	}
	return nil
}
