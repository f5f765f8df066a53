//go:build e2e

package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// fleet is everything that the test runs: a controller without shards, and one whose replicas share the work.
type fleet struct {
	T      *testing.T
	groups []*group
	*witness
}

// group is the replicas of one controller, with a namespace for its PodManagers.
type group struct {
	*harness.Space
	shards  int // 0 for a single leader
	running []*lab.Process
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{T: t}
	var namespaces []string
	for _, shards := range []int{0, 4} {
		g := &group{Space: harness.NewSpace(t, today.Cluster), shards: shards}
		t.Cleanup(g.forget)
		f.groups = append(f.groups, g)
		namespaces = append(namespaces, g.Name)
	}
	f.witness = newWitness(t, today.Cluster, namespaces...)
	return f
}

// forget kills the replicas, and removes finalizers. Otherwise the namespace would remain if the test has failed.
func (g *group) forget() {
	for _, p := range g.running {
		_ = p.Kill()
	}
	ctx, nothing := context.Background(), []byte(`{"metadata":{"finalizers":null}}`)
	managers := g.Cluster.Managers.AppsV1().PodManagers(g.Name)
	if list, err := managers.List(ctx, metav1.ListOptions{}); err == nil {
		for _, manager := range list.Items {
			_, _ = managers.Patch(ctx, manager.Name, types.MergePatchType, nothing, metav1.PatchOptions{})
		}
	}
	pods := g.Cluster.Kube.CoreV1().Pods(g.Name)
	if list, err := pods.List(ctx, metav1.ListOptions{}); err == nil {
		for _, pod := range list.Items {
			_, _ = pods.Patch(ctx, pod.Name, types.MergePatchType, nothing, metav1.PatchOptions{})
		}
	}
}

// populate adds a PodManager for each state to each group.
func (f *fleet) populate(purpose string) []*subject {
	var subjects []*subject
	for _, g := range f.groups {
		for name, state := range states {
			subjects = append(subjects, &subject{Space: g.Space, name: name + "-" + purpose, state: state})
		}
	}
	return subjects
}

// replace starts replicas of a version in all groups, and then stops the previous ones. It returns when the new ones have synced every PodManager.
func (f *fleet) replace(v *version) {
	f.T.Helper()
	present := f.views()
	for _, g := range f.groups {
		retired := g.running
		g.running = nil
		for range max(1, g.shards/2) {
			g.start(v)
		}
		for _, p := range retired {
			if err := errors.Join(p.Stop(), p.Err); err != nil {
				f.T.Fatalf("a replica did not stop cleanly: %v\n%s", err, p.Tail(20))
			}
		}
	}
	harness.Await(f.T, "the replicas of "+v.name+" to have synced all PodManagers", func() (any, bool) {
		var waiting []string
		for _, g := range f.groups {
			log := g.log()
			for key, v := range present {
				if v.manager != nil && v.manager.Namespace == g.Name && !hasSynced(log, key) {
					waiting = append(waiting, key)
				}
			}
		}
		return waiting, len(waiting) == 0
	})
}

// start starts a replica.
func (g *group) start(v *version) {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(g.Ctx, harness.Scaled(harness.Patience))
	defer cancel()
	p, err := v.Start(ctx, fmt.Sprintf("%s-shards-%d", v.name, g.shards), "-v", "4", "-namespace", g.Name, "-leader-elect",
		"-leader-elect-resource-namespace=podmanager-system", "-leader-elect-resource-name="+g.Name,
		"-leader-elect-lease-duration=30s", "-leader-elect-renew-deadline=20s", "-leader-elect-retry-period=500ms", fmt.Sprint("-shards=", g.shards))
	if err != nil {
		g.T.Fatal(err)
	}
	g.running = append(g.running, p)
}

// log returns the lines of all running replicas.
func (g *group) log() []string {
	g.T.Helper()
	var lines []string
	for _, p := range g.running {
		data, err := os.ReadFile(p.Log)
		if err != nil {
			g.T.Fatal(err)
		}
		lines = append(lines, strings.Split(string(data), "\n")...)
	}
	return lines
}

// hasSynced reports whether a replica has completed a sync of a PodManager.
func hasSynced(log []string, key string) bool {
	return slices.ContainsFunc(log, func(line string) bool {
		return strings.Contains(line, `"Synced"`) && strings.Contains(line, fmt.Sprintf("podManager=%q", key))
	})
}

// wantDecodable fails the test if a controller has ever reported an object that it could not decode.
func (f *fleet) wantDecodable() {
	f.T.Helper()
	for _, g := range f.groups {
		events, err := g.Cluster.Kube.EventsV1().Events(g.Name).List(g.Ctx, metav1.ListOptions{FieldSelector: "reason=" + v1.EventUndecodable})
		if err != nil {
			f.T.Fatal(err)
		}
		for _, event := range events.Items {
			f.T.Errorf("%s: %s", event.Regarding.Name, event.Note)
		}
	}
}
