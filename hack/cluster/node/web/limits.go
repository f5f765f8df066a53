package main

import (
	"os"
	"strings"
)

// cpuLimit is the CPU quota and its period in microseconds as the kernel has them: "max" or -1 is none.
func cpuLimit() string {
	if both, ok := read("cpu.max"); ok {
		return both
	}
	quota, _ := read("cpu/cpu.cfs_quota_us")
	period, _ := read("cpu/cpu.cfs_period_us")
	return quota + " " + period
}

// memoryLimit is in bytes; where there is none, it is "max", or with cgroup v1 a number larger than any machine.
func memoryLimit() string {
	if limit, ok := read("memory.max"); ok {
		return limit
	}
	limit, _ := read("memory/memory.limit_in_bytes")
	return limit
}

// read is a file of the container's own cgroup.
func read(name string) (string, bool) {
	data, err := os.ReadFile("/sys/fs/cgroup/" + name)
	return strings.TrimSpace(string(data)), err == nil
}
