//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/faults"
)

// faulty is a space with a controller behind a proxy. Faults at random, and who survives them, are for hack/chaos; here
// they make a moment last in which a test wants to look.
type faulty struct {
	*space
	proxy      *faults.Proxy
	controller *process
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	f := &faulty{space: newSpace(t)}
	var err error
	if f.proxy, err = faults.StartProxy(shared.kubeconfig, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of what the proxy did:\n%s", f.did(30))
		}
		_ = f.proxy.Close()
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := f.proxy.WriteKubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	f.controller = f.private("-kubeconfig", kubeconfig)
	return f
}

// did is the end of the proxy's log.
func (f *faulty) did(lines int) string {
	log := f.proxy.Log()
	text := &strings.Builder{}
	for _, entry := range log[max(0, len(log)-lines):] {
		fmt.Fprintln(text, entry)
	}
	return text.String()
}

// own matches requests for a resource in the test's namespace.
func (f *faulty) own(verb, resource string) func(faults.Request) bool {
	return func(r faults.Request) bool { return r.Is(verb, resource) && r.Namespace == f.name }
}
