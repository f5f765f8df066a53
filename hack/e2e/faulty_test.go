//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mycompany/podmanager/hack/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// recent is how long a scale-down may take before pods that are left count as too many. It is above the controller's
// staleLimit: for that long it may wait for a watch that stands still.
const recent = 20 * time.Second

// faulty is a space with a controller behind a proxy, and an oracle past it.
type faulty struct {
	*space
	proxy      *faults.Proxy
	oracle     *faults.Oracle
	kubeconfig string
	controller *process
}

// newFaulty starts all three. E2E_SEED repeats the draws of an earlier run.
func newFaulty(t *testing.T, flags ...string) *faulty {
	t.Helper()
	f := &faulty{space: newSpace(t)}
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("E2E_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("E2E_SEED=%d", seed)
	var err error
	if f.proxy, err = faults.StartProxy(shared.kubeconfig, seed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of what the proxy did:\n%s", f.did(30))
		}
		_ = f.proxy.Close()
	})
	f.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := f.proxy.WriteKubeconfig(f.kubeconfig); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	if f.oracle, err = faults.StartOracle(t.Context(), config, f.name); err != nil {
		t.Fatal(err)
	}
	f.controller = f.private(append([]string{"-kubeconfig", f.kubeconfig}, flags...)...)
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

// judge asks the oracle, and fails the test if there ever was a pod too many.
func (f *faulty) judge() *faults.Report {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	report, err := f.oracle.Report(ctx, recent)
	if err != nil {
		f.t.Fatal(err)
	}
	if report.Gaps > 0 {
		f.t.Errorf("the oracle has missed versions %d times", report.Gaps)
	}
	for i, violation := range report.Violations {
		if i == 20 {
			f.t.Errorf("and %d more", len(report.Violations)-i)
			break
		}
		f.t.Error(violation)
	}
	f.t.Logf("the oracle saw %d versions, and at most %d active pods", report.Versions, report.Peak)
	return report
}

// own matches requests for a resource in the test's namespace.
func (f *faulty) own(verb, resource string) func(faults.Request) bool {
	return func(r faults.Request) bool { return r.Is(verb, resource) && r.Namespace == f.name }
}

// createMany creates PodManagers web-0, web-1, ... for the test's own controller.
func (f *faulty) createMany(count int, replicas int32) {
	f.t.Helper()
	f.forEach(count, func(name string) error {
		manager := &v1.PodManager{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{privateLabel: ""}},
			Spec:       v1.PodManagerSpec{Replicas: &replicas, Image: "nginx"},
		}
		_, err := shared.managers.AppsV1().PodManagers(f.name).Create(f.ctx, manager, metav1.CreateOptions{})
		return err
	})
}

// scaleMany changes the replicas of those.
func (f *faulty) scaleMany(count int, replicas int32) {
	f.t.Helper()
	f.forEach(count, func(name string) error { return f.patch(name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)) })
}

func (f *faulty) patch(name, patch string) error {
	_, err := shared.managers.AppsV1().PodManagers(f.name).Patch(f.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// forEach makes requests about web-0, web-1, ..., ten at a time.
func (f *faulty) forEach(count int, request func(name string) error) {
	f.t.Helper()
	var running sync.WaitGroup
	slots := make(chan struct{}, 10)
	for i := range count {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := request(fmt.Sprintf("web-%d", i)); err != nil {
				f.t.Error(err)
			}
		})
	}
	running.Wait()
	if f.t.Failed() {
		f.t.FailNow()
	}
}

// awaitMany waits until there are so many PodManagers, all Ready with this many pods, and no pod besides.
func (f *faulty) awaitMany(limit time.Duration, count, replicas int) {
	f.t.Helper()
	f.awaitFor(limit, fmt.Sprintf("%d PodManagers to be Ready with %d pods", count, replicas), func() (any, bool) {
		list, err := shared.managers.AppsV1().PodManagers(f.name).List(f.ctx, metav1.ListOptions{})
		if err != nil {
			f.t.Fatal(err)
		}
		pods, behind := len(f.pods()), []string{}
		for _, manager := range list.Items {
			if !isReady(&manager) || int(manager.Status.Replicas) != replicas {
				behind = append(behind, manager.Name+": "+brief(&manager))
			}
		}
		seen := fmt.Sprintf("%d pods, %d not Ready:\n%s", pods, len(behind), strings.Join(behind[:min(3, len(behind))], "\n"))
		return seen, len(list.Items) == count && len(behind) == 0 && pods == count*replicas
	})
}

// deletePods deletes pods at once, as a node that is removed would.
func (f *faulty) deletePods(names ...string) {
	f.t.Helper()
	for _, name := range names {
		if err := shared.kube.CoreV1().Pods(f.name).Delete(f.ctx, name, *metav1.NewDeleteOptions(0)); err != nil {
			f.t.Fatal(err)
		}
	}
}

// inBursts makes watches stand still most of the time, until the test ends: what the controller has written it sees
// only after a while. Without that the cache would be faster than any retry, and hide what a retry does wrong.
func (f *faulty) inBursts(match func(faults.Request) bool) {
	go func() {
		for f.ctx.Err() == nil {
			stall := f.proxy.Stall(match)
			time.Sleep(2 * time.Second)
			stall.Resume()
			time.Sleep(100 * time.Millisecond)
		}
	}()
}
