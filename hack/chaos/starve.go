package main

import (
	"fmt"
	"path/filepath"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// starve takes CPU from everything else until stop is called, by programs that do nothing as fast as they can. The judges then have to allow
// for a slow machine, and still to catch what is broken.
func starve(programs int, folder string) (stop func(), err error) {
	var running []*lab.Process
	stop = func() {
		for _, p := range running {
			_ = p.Kill() // it does not end by itself
		}
	}
	for i := range programs {
		p, err := lab.StartProgram(filepath.Join(folder, fmt.Sprintf("starve-%d.log", i)), "/bin/sh", "-c", "while :; do :; done")
		if err != nil {
			stop()
			return nil, err
		}
		running = append(running, p)
	}
	return stop, nil
}
