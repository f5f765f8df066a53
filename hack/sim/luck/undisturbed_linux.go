//go:build (amd64 || arm64) && !race

package luck

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	// stopSignal is a real-time signal that no program uses.
	stopSignal = 42
	// onStack and restorer are flags of sigaction: SA_ONSTACK and SA_RESTORER.
	onStack, restorer = 0x08000000, 0x04000000
)

// action is the kernel's struct sigaction.
type action struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// stayAddress returns the address of a signal handler that never returns.
func stayAddress() uintptr

// Undisturbed stops the runtime's monitor thread for good. The monitor preempts a goroutine that seems to have run for 10 ms. On a busy machine the
// whole process may have waited that long for a core, and the order of its goroutines would depend on other processes. Without the monitor, a
// goroutine runs until it waits for something: one that never waits keeps even a test's time limit from ending the process.
func Undisturbed() {
	monitor := monitorThread()
	if monitor == 0 {
		return
	}
	stay := action{handler: stayAddress(), flags: onStack | restorer, restorer: stayAddress(), mask: ^uint64(0)}
	if _, _, failed := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, stopSignal, uintptr(unsafe.Pointer(&stay)), 0, 8, 0, 0); failed != 0 {
		return
	}
	for range 1000 {
		// While it sleeps, it holds no lock.
		if call, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", monitor)); err == nil && strings.HasPrefix(string(call), fmt.Sprint(syscall.SYS_NANOSLEEP, " ")) {
			_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(monitor), stopSignal)
			return
		}
		for began := time.Now(); time.Since(began) < 50*time.Microsecond; { // the monitor may stop for a while if all goroutines wait
		}
	}
}

// monitorThread returns the first thread that the runtime has started, which is the monitor; 0 if it is not found.
func monitorThread() (monitor int) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil && id > os.Getpid() && (monitor == 0 || id < monitor) {
			monitor = id
		}
	}
	return monitor
}
