package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// starve takes a share of each CPU from everything else until stop is called. The checks then have to allow for a slow machine, and still catch
// what is broken.
func starve(ctx context.Context, percent int, folder string) (stop func(), err error) {
	if percent == 0 {
		return func() {}, nil
	}
	program := filepath.Join(folder, "starve")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./hack/test/harness/starve").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	p, err := lab.StartProgram(filepath.Join(folder, "starve.log"), program, "-percent", strconv.Itoa(percent))
	if err != nil {
		return nil, err
	}
	return func() { _ = p.Kill() }, nil // it does not end on its own
}
