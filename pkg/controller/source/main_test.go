package source

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

func TestMain(m *testing.M) {
	// The error handlers of client-go sleep until some time after the last error, whether that was in fake time or in real time, and hold a lock that
	// all bubbles share.
	utilruntime.ErrorHandlers = nil //nolint:reassign // there is no other way
	os.Exit(m.Run())
}
