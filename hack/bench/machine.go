package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mycompany/podmanager/hack/bench/figures"
)

// thisMachine describes the machine that the bench runs on, and the commit that it measures. The version of Kubernetes is added later.
func thisMachine() figures.Machine {
	commit := "unknown"
	if out, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	return figures.Machine{
		Date: time.Now().UTC().Format(time.DateOnly), Commit: commit, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Busy: busy(),
	}
}

// busy returns the share of the machine's CPU that is in use, measured over two seconds. It returns 0 if it cannot be measured.
func busy() float64 {
	before, errBefore := readCPU()
	time.Sleep(2 * time.Second)
	after, errAfter := readCPU()
	total := after.total - before.total
	if errBefore != nil || errAfter != nil || total <= 0 {
		return 0
	}
	return 1 - (after.idle-before.idle)/total
}

// cpuTicks is how the CPU has spent its time since the machine was started.
type cpuTicks struct{ total, idle float64 }

func readCPU() (cpuTicks, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTicks{}, err
	}
	return parseCPU(string(data))
}

// parseCPU reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. The remaining fields are included in user and
// nice.
func parseCPU(stat string) (cpuTicks, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return cpuTicks{}, fmt.Errorf("/proc/stat cannot be parsed: %s", line)
	}
	var ticks cpuTicks
	for i, field := range fields[1:9] {
		number, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return cpuTicks{}, err
		}
		ticks.total += number
		if i == 3 || i == 4 {
			ticks.idle += number
		}
	}
	return ticks, nil
}
