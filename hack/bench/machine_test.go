package main

import "testing"

func TestParseCPU(t *testing.T) {
	got, err := parseCPU("cpu  10 0 20 60 10 0 0 0 5 5\ncpu0 1\n")
	if err != nil || got != (cpuTicks{total: 100, idle: 70}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "cpu 1 2", "intr 1 2 3 4 5 6 7 8 9", "cpu a b c d e f g h"} {
		if _, err := parseCPU(bad); err == nil {
			t.Errorf("%q gives no error", bad)
		}
	}
}
