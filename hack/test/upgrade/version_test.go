//go:build e2e

package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

const shardRights = "artifacts/shards/rbac.yaml"

// version is a version of the project: its files, and its controller, which the embedded Cluster starts.
type version struct {
	*lab.Cluster
	name, root string
}

// file returns the path of a file of this version.
func (v *version) file(name string) string { return filepath.Join(v.root, name) }

// install installs the CRD, the permissions and the policies of this version over those of another one.
func (v *version) install(ctx context.Context) error {
	_, err := v.Kubectl(ctx, "apply", "-f", v.file("artifacts/crd.yaml"), "-f", v.file("artifacts/rbac.yaml"),
		"-f", v.file("artifacts/policy.yaml"), "-f", v.file(shardRights))
	return err
}

// missingError means that the clone does not have the commit.
type missingError struct{ error }

func isMissing(err error) bool { return errors.As(err, new(missingError)) }

// build extracts the files of a commit into a folder, and builds its controller there.
func build(root, commit, folder string) error {
	if err := execute(root, "git", "cat-file", "-e", commit+"^{commit}"); err != nil {
		return missingError{fmt.Errorf("this clone does not have commit %s; a clone with the full history has it: %w", commit, err)}
	}
	archive := filepath.Join(folder, "archive.tar")
	if err := execute(root, "git", "archive", "--output", archive, commit, "go.mod", "go.sum", "cmd", "pkg", "vendor", "artifacts"); err != nil {
		return err
	}
	if err := execute(folder, "tar", "-xf", archive); err != nil {
		return err
	}
	// With -trimpath the build cache also serves the next run, whose folder has another name.
	return execute(folder, "go", "build", "-trimpath", "-mod=vendor", "-buildvcs=false", "-o", "controller", "./cmd/controller")
}

// execute runs a program in a folder.
func execute(folder, program string, arguments ...string) error {
	command := exec.Command(program, arguments...)
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", command.Args, err, out)
	}
	return nil
}
