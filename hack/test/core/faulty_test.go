//go:build e2e

package core

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// faulty is a space with a controller behind a proxy. hack/chaos injects random faults. Here a fault makes a state last, so that a test can inspect
// it.
type faulty struct {
	*space
	proxy      *faults.Proxy
	controller *lab.Process
}

func newFaulty(t *testing.T, flags ...string) *faulty {
	t.Helper()
	f := &faulty{space: newSpace(t)}
	var err error
	if f.proxy, err = faults.StartProxy(shared.cluster.OurKubeconfig, 1); err != nil {
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
	f.controller = f.private(append([]string{"-kubeconfig", kubeconfig}, flags...)...)
	return f
}

// did returns the end of the proxy's log.
func (f *faulty) did(lines int) string {
	log := f.proxy.Log()
	text := &strings.Builder{}
	for _, entry := range log[max(0, len(log)-lines):] {
		fmt.Fprintln(text, entry)
	}
	return text.String()
}

// answer answers requests with a status instead of forwarding them, until the returned function is called.
func (f *faulty) answer(name string, status int, match func(faults.Request) bool) (mend func()) {
	return f.proxy.Inject(faults.Rule{Name: name, Rate: 1, Faults: []faults.Fault{{Status: status}}, Match: match})
}

// own returns a matcher of requests for a resource in the test's namespace.
func (f *faulty) own(verb, resource string) func(faults.Request) bool {
	return func(r faults.Request) bool { return r.Is(verb, resource) && r.Namespace == f.Name }
}
