package faults

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

const asClock = "PODMANAGER_TEST_AS_CLOCK"

// TestMain acts as a clock if the environment says so: for each line of input, it prints the wall clock and how long the process has run.
func TestMain(m *testing.M) {
	if os.Getenv(asClock) == "" {
		os.Exit(m.Run())
	}
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(time.Now().UnixNano(), time.Since(began).Nanoseconds())
	}
}

func TestSetClock(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), asClock+"=1")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = command.Wait() }()
	began := time.Now()
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour, 3 * time.Second, 0} {
		if err := SetClock(command.Process.Pid, offset); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(in)
		var wall, ran int64
		if _, err := fmt.Fscanln(out, &wall, &ran); err != nil {
			t.Fatal(err)
		}
		if off := time.Unix(0, wall).Sub(time.Now().Add(offset)).Abs(); off > 2*time.Second {
			t.Errorf("set to %v: the wall clock is off by %v", offset, off)
		}
		if time.Duration(ran) > time.Since(began) || ran < 0 {
			t.Errorf("set to %v: by the monotonic clock it has run for %v, in truth for %v", offset, time.Duration(ran), time.Since(began))
		}
	}
}
