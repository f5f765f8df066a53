package app

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

// asController makes the test binary run as the controller, so that tests see the exit codes and output of a real process.
const asController = "PODMANAGER_TEST_AS_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(asController) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestCommand(t *testing.T) {
	noCRD := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(noCRD.Close)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps.mycompany.com/v1","resources":[{"name":"podmanagers"}]}`)
	}))
	t.Cleanup(served.Close)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	const free = " -metrics-bind-address 127.0.0.1:0 -health-probe-bind-address 127.0.0.1:0"

	tests := map[string]struct {
		args   string
		code   int
		stdout string // the beginning
		stderr []string
		lines  int // on stderr
	}{
		"help":          {"-help", 0, "podmanager-controller keeps", nil, 0},
		"version":       {"-version", 0, "podmanager-controller " + readBuild().version + " (commit ", nil, 0},
		"bad flags":     {"-workers 0 -resync -1s", 2, "", []string{"-workers must", "-resync must", "-help"}, 4},
		"no cluster":    {free, 1, "", []string{"-kubeconfig FILE"}, 1},
		"no kubeconfig": {"-kubeconfig /nonexistent" + free, 1, "", []string{"/nonexistent", "no such file"}, 1},
		"no CRD":        {"-v 9 -logging-format json -master " + noCRD.URL + free, 1, "", []string{"kubectl apply -f artifacts/crd.yaml"}, 0},
		"no CRD, quiet": {"-master " + noCRD.URL + free, 1, "", []string{"kubectl apply -f artifacts/crd.yaml"}, 1},
		"no certificate": {"-master " + served.URL + " -metrics-secure -metrics-cert-dir /nonexistent" + free, 1, "",
			[]string{"cannot serve metrics", "the certificate in /nonexistent cannot be used", "-metrics-cert-dir"}, 1},
		"no certificate of the webhooks": {"-master " + served.URL + " -webhook-bind-address 127.0.0.1:0 -webhook-cert-dir /nonexistent" + free, 1, "",
			[]string{"cannot serve webhooks", "the certificate in /nonexistent cannot be used", "-webhook-cert-dir"}, 1},
		"no CAs of clients": {"-master " + served.URL + " -webhook-namespace a -webhook-bind-address 127.0.0.1:0 -webhook-client-ca-file /nonexistent" + free, 1, "",
			[]string{"cannot serve webhooks", "/nonexistent", "-webhook-client-ca-file"}, 1},
		"port of the webhooks taken": {"-master " + served.URL + " -webhook-namespace a -webhook-bind-address " + taken.Addr().String() + free, 1, "",
			[]string{"cannot serve webhooks", "in use", "choose another address with -webhook-bind-address"}, 1},
		"port taken": {"-master " + served.URL + " -health-probe-bind-address 0 -metrics-bind-address " + taken.Addr().String(), 1, "",
			[]string{"cannot serve metrics", "in use", "choose another address with -metrics-bind-address"}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			command := exec.Command(os.Args[0], strings.Fields(test.args)...)
			command.Env = append(os.Environ(), asController+"=yes", "KUBERNETES_SERVICE_HOST=")
			command.Stdout, command.Stderr = &stdout, &stderr
			var failed *exec.ExitError
			if err := command.Run(); err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			if code := command.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.HasPrefix(stdout.String(), test.stdout) || test.stdout == "" && stdout.Len() > 0 {
				t.Errorf("stdout is %q, want it to begin with %q", &stdout, test.stdout)
			}
			for _, part := range test.stderr {
				if !strings.Contains(stderr.String(), part) {
					t.Errorf("stderr is %q, want %q in it", &stderr, part)
				}
			}
			if lines := strings.Count(stderr.String(), "\n"); test.lines > 0 && lines != test.lines {
				t.Errorf("%d lines on stderr, want %d:\n%s", lines, test.lines, &stderr)
			}
		})
	}
}

func TestUnstampedBuild(t *testing.T) {
	info := &debug.BuildInfo{
		Main:     debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "abc"}},
	}
	if got, want := unstamped(info), (build{"v1.2.3", "abc-dirty"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := unstamped(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}), (build{"devel", "unknown"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
