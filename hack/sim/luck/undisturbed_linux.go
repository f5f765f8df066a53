package luck

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// schedIdle is SCHED_IDLE: the thread runs only if no other thread wants the CPU.
const schedIdle = 5

// Undisturbed makes the runtime's monitor thread run only while a core is idle. The monitor preempts a goroutine that seems to have run for 10 ms.
// On a busy machine the whole process may have waited that long for a core, and the order of its goroutines would depend on other processes.
func Undisturbed() {
	threads, err := os.ReadDir("/proc/self/task") // sorted by name
	if err != nil {
		return
	}
	// The monitor is the first thread that the runtime starts.
	monitor := 0
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil && id > os.Getpid() && (monitor == 0 || id < monitor) {
			monitor = id
		}
	}
	var priority int32
	if monitor != 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(monitor), schedIdle, uintptr(unsafe.Pointer(&priority)))
	}
}
