package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// Run runs the tests of a package on the cluster that make e2e has started, and returns the exit code. setUp starts what the tests share. end stops
// that, and is told whether all tests have passed. If something fails, the logs of the controllers are kept.
func Run(m *testing.M, name string, setUp func(context.Context, *lab.Cluster) error, end func(passed bool) error) int {
	var folder string
	err := os.Chdir("../../..") // to the root of the project, as hack/test/harness/lab expects
	if err == nil {
		folder, err = lab.LogFolder(name)
	}
	if err == nil {
		err = begin(folder, setUp)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	code := m.Run()
	fmt.Println(machine)
	if err := end(code == 0); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "%s: logs of the controllers are in %s\n", name, folder)
		return code
	}
	_ = os.RemoveAll(folder)
	return code
}

// begin builds the controller, and installs the CRD and RBAC, before it calls the package's setUp.
func begin(folder string, setUp func(context.Context, *lab.Cluster) error) error {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return errors.New("KUBECONFIG must name a cluster's kubeconfig; make e2e sees to that")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute) // the first time, tools such as Helm are built
	defer cancel()
	cluster, err := lab.Attach(ctx, kubeconfig, folder, os.Getenv("PODMANAGER_PROGRAMS"))
	if err != nil {
		return err
	}
	if err := deleteSpaces(ctx, cluster); err != nil {
		return err
	}
	go machine.measure(context.Background(), writeTo(cluster)) // until the process ends
	return setUp(ctx, cluster)
}
