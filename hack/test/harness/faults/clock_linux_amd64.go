package faults

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// SetClock shifts the wall clock of a process by an offset, until it is set again. The monotonic clock is not affected, as if the machine's clock
// had been set.
//
// Go programs do not ask the C library for the time. They call a function that the kernel has mapped into their memory, the vDSO. SetClock replaces
// that function in the memory of this process alone. Other processes keep the kernel's function.
func SetClock(pid int, offset time.Duration) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("the clock of process %d cannot be set: %w", pid, err)
	}
	defer memory.Close()
	function, err := findClock(memory, pid)
	if err != nil {
		return fmt.Errorf("the clock of process %d cannot be set: %w", pid, err)
	}
	for range 100 {
		isSet, err := setWhileStopped(memory, pid, function, clockFunction(offset))
		if err != nil || isSet {
			return err
		}
	}
	return fmt.Errorf("the clock of process %d cannot be set: one of its threads was always inside clock_gettime", pid)
}

// clockFunction returns the code of clock_gettime(clock, *time). It asks the kernel, and adds the offset to the wall clock.
func clockFunction(offset time.Duration) []byte {
	var code bytes.Buffer
	code.Write([]byte{
		0xb8, 0xe4, 0x00, 0x00, 0x00, // mov $228, %eax; the number of clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test %edi, %edi; CLOCK_REALTIME is 0
		0x75, 0x0d, // jne to the ret
		0x48, 0xb9, // movabs $offset, %rcx
	})
	_ = binary.Write(&code, binary.LittleEndian, int64(offset/time.Second)) // a buffer does not fail
	code.Write([]byte{
		0x48, 0x01, 0x0e, // add %rcx, (%rsi); the seconds
		0xc3, // ret
	})
	return code.Bytes()
}

// codeRange is the location of a function in the memory of a process.
type codeRange struct{ start, end uint64 }

// findClock finds clock_gettime in the vDSO.
func findClock(memory io.ReaderAt, pid int) (codeRange, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return codeRange{}, err
	}
	var start, end uint64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err != nil {
				return codeRange{}, err
			}
		}
	}
	if end == 0 {
		return codeRange{}, errors.New("the process has no vDSO")
	}
	file, err := elf.NewFile(io.NewSectionReader(memory, int64(start), int64(end-start)))
	if err != nil {
		return codeRange{}, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return codeRange{}, err
	}
	for _, symbol := range symbols {
		if symbol.Name == "__vdso_clock_gettime" {
			return codeRange{start + symbol.Value, start + symbol.Value + symbol.Size}, nil
		}
	}
	return codeRange{}, errors.New("the vDSO of the process has no clock_gettime")
}

// setWhileStopped replaces a function while the process is stopped. It returns false if a thread was inside the function.
func setWhileStopped(memory io.WriterAt, pid int, function codeRange, code []byte) (bool, error) {
	if uint64(len(code)) > function.end-function.start {
		return false, errors.New("the function of the vDSO is too short to be replaced")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return false, err
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // the process may have been killed in the meantime
	counters, err := programCounters(pid)
	if err != nil {
		return false, err
	}
	for _, counter := range counters {
		if function.start < counter && counter < function.end {
			return false, nil
		}
	}
	_, err = memory.WriteAt(code, int64(function.start))
	return err == nil, err
}

// programCounters returns the program counters of all threads of a process, once all have stopped.
func programCounters(pid int) ([]uint64, error) {
	var counters []uint64
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		for stop := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
			call, err := os.ReadFile(filepath.Join(task, "syscall"))
			if err != nil {
				return nil, err
			}
			if fields := strings.Fields(string(call)); len(fields) > 1 { // the text is "running" until the thread has stopped
				counter, err := strconv.ParseUint(fields[len(fields)-1], 0, 64)
				if err != nil {
					return nil, err
				}
				counters = append(counters, counter)
				break
			}
			if time.Now().After(stop) {
				return nil, fmt.Errorf("thread %s does not stop", filepath.Base(task))
			}
		}
	}
	return counters, nil
}
