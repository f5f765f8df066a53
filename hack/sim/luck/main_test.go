package luck

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1) // the garbage collector's goroutines take turns, too
	Undisturbed()
	os.Exit(m.Run())
}
