package main

import (
	"os"
	"strings"
)

// cpuLimit returns the CPU quota and its period in microseconds, as the kernel reports them. "max" or -1 means no limit.
func cpuLimit() string {
	if both, ok := read("cpu.max"); ok {
		return both
	}
	quota, _ := read("cpu/cpu.cfs_quota_us")
	period, _ := read("cpu/cpu.cfs_period_us")
	return quota + " " + period
}

// memoryLimit returns the memory limit in bytes. Without a limit it is "max", or with cgroup v1 a number larger than the memory of any machine.
func memoryLimit() string {
	if limit, ok := read("memory.max"); ok {
		return limit
	}
	limit, _ := read("memory/memory.limit_in_bytes")
	return limit
}

// read returns a file of the container's own cgroup.
func read(name string) (string, bool) {
	data, err := os.ReadFile("/sys/fs/cgroup/" + name)
	return strings.TrimSpace(string(data)), err == nil
}
