package sim

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
)

// runs are the ways to deploy the controller.
var runs = map[string]settings{
	"alone": {replicas: 1}, "elected": {replicas: 2, elects: true}, "sharded": {replicas: 2, elects: true, shards: 4},
}

// restores are the ways to restore the state of an earlier version. They differ in the version from which the server continues, and in what is
// written before the controller can notice the restore.
var restores = map[string]func(l *longRun, before int64){
	"caught up at once":           func(l *longRun, before int64) { l.restore(before, l.server.Version()-before) },
	"ahead":                       func(l *longRun, before int64) { l.restore(before, 1000) },
	"caught up by foreign writes": func(l *longRun, before int64) { l.catchUp(before, l.touchForeign) },
	"caught up by a PodManager":   func(l *longRun, before int64) { l.catchUp(before, func() { l.touch("web") }) },
	"never caught up": func(l *longRun, before int64) {
		for range 5000 {
			l.touchForeign()
		}
		time.Sleep(2 * time.Minute) // until bookmarks have told the informers the newest version
		l.restore(before, 0)
	},
}

// skipLongRaces skips runs of several processes under the race detector, which makes them ten times slower.
func skipLongRaces(t *testing.T, how string) {
	t.Helper()
	if isRaced && how != "alone" {
		t.Skip("this test takes too long with the race detector")
	}
}

// Each replica notices a restore exactly once, even if the server's version is as high as before by then. It then converges to the restored state.
func TestRestore(t *testing.T) {
	for how, settings := range runs {
		for when, restore := range restores {
			t.Run(how+"/"+when, func(t *testing.T) {
				skipLongRaces(t, how)
				rewinds := runLong(t, settings, func(l *longRun) {
					l.create("web", 3)
					l.create("early", 2)
					time.Sleep(2 * time.Minute)
					l.expect("early 2, web 3")
					before := l.server.Version()
					// The restore reverts all of this.
					l.patch("web", `{"spec":{"replicas":8}}`)
					l.create("late", 2)
					l.delete("early")
					time.Sleep(time.Minute)
					l.expect("late 2, web 8")
					restore(l, before)
					l.patch("web", `{"spec":{"replicas":5}}`) // this gets the generation of the change that was reverted
					time.Sleep(time.Minute)
					l.expect("early 2, web 5")
					time.Sleep(3 * time.Minute)
				})
				if rewinds != settings.replicas {
					t.Errorf("%d rewinds were noticed by %d replicas", rewinds, settings.replicas)
				}
			})
		}
	}
}

// A restore that only brings back deleted objects is noticed, too.
func TestRestoreOfDeleted(t *testing.T) {
	for how, settings := range runs {
		for _, when := range []string{"caught up at once", "caught up by foreign writes"} {
			t.Run(how+"/"+when, func(t *testing.T) {
				rewinds := runLong(t, settings, func(l *longRun) {
					l.create("web", 3)
					l.create("early", 2)
					time.Sleep(2 * time.Minute)
					before := l.server.Version()
					l.delete("early")
					time.Sleep(time.Minute)
					l.expect("web 3")
					restores[when](l, before)
					time.Sleep(time.Minute)
					l.must(l.kube.CoreV1().Pods("team-a").Delete(l.ctx, l.podsOf("early")[0].Name, metav1.DeleteOptions{}))
					time.Sleep(time.Minute)
					l.expect("early 2, web 3")
				})
				if rewinds != settings.replicas {
					t.Errorf("%d rewinds were noticed by %d replicas", rewinds, settings.replicas)
				}
			})
		}
	}
}

// No other fault looks like a restore, however late the events arrive.
func TestNoRestore(t *testing.T) {
	for name, trouble := range map[string]func(l *longRun){
		"restart":             func(l *longRun) { l.server.Restart() },
		"late events":         func(l *longRun) { l.eachStream((*apiserver.Stream).Resume) },
		"watches that resume": func(l *longRun) { l.eachStream(func(s *apiserver.Stream) { s.Cut(io.EOF) }) },
		"watches that expire": func(l *longRun) { l.eachStream((*apiserver.Stream).Expire) },
		"compaction": func(l *longRun) {
			l.server.Compact(l.server.Version())
			l.eachStream(func(s *apiserver.Stream) { s.Cut(io.EOF) })
		},
		"compaction, no resume": func(l *longRun) {
			l.server.Compact(l.server.Version())
			time.Sleep(time.Minute)
			l.eachStream((*apiserver.Stream).Resume)
		},
	} {
		t.Run(name, func(t *testing.T) {
			skipLongRaces(t, "sharded")
			rewinds := runLong(t, runs["sharded"], func(l *longRun) {
				for _, name := range []string{"web", "gone", "again", "relabelled"} {
					l.create(name, 2)
				}
				time.Sleep(2 * time.Minute)
				l.expect("again 2, gone 2, relabelled 2, web 2")
				l.eachStream((*apiserver.Stream).Pause)
				l.touch("web")
				l.delete("gone")
				l.delete("again")
				for _, pod := range l.podsOf("relabelled") {
					_, err := l.kube.CoreV1().Pods("team-a").Patch(l.ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{})
					l.must(err)
				}
				time.Sleep(5 * time.Second)
				l.create("again", 3)
				time.Sleep(40 * time.Second)
				trouble(l)
				time.Sleep(3 * time.Minute)
				l.expect("again 3, relabelled 2, web 2")
			})
			if rewinds > 0 {
				t.Errorf("%d rewinds were noticed when there was none", rewinds)
			}
		})
	}
}

// longRun is a cluster that runs the controller for minutes. Only the test itself causes faults.
type longRun struct {
	*Cluster
	t       *testing.T
	touches int
}

// runLong runs a test with the controller, and returns how many rewinds the replicas noticed.
func runLong(t *testing.T, settings settings, test func(*longRun)) int {
	t.Helper()
	var live io.Writer
	if os.Getenv("SIM_STORY") != "" {
		live = os.Stderr
	}
	before := rewinds(t)
	synctest.Test(t, func(t *testing.T) {
		c, err := New(1, crd, live)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		l := &longRun{Cluster: c, t: t}
		l.must(c.createNamespaces())
		c.settings = settings
		for i := range settings.replicas {
			c.supervise(i)
		}
		test(l)
	})
	return rewinds(t) - before
}

// rewinds returns the number of rewinds that all replicas noticed, according to the metric.
func rewinds(t *testing.T) int {
	t.Helper()
	metrics.Register()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "podmanager_rewinds_total" {
			return int(family.GetMetric()[0].GetCounter().GetValue())
		}
	}
	t.Fatal("there is no metric podmanager_rewinds_total")
	return 0
}

// eachStream calls a function with each watch of all replicas.
func (l *longRun) eachStream(do func(*apiserver.Stream)) {
	for _, r := range l.replicas {
		for _, stream := range r.streams {
			do(stream)
		}
	}
}

func (l *longRun) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Error(err)
	}
}

func (l *longRun) create(name string, replicas int32) {
	l.t.Helper()
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodManagerSpec{Replicas: &replicas, Image: "nginx:1.29"}}
	_, err := l.managers.AppsV1().PodManagers("team-a").Create(l.ctx, manager, metav1.CreateOptions{})
	l.must(err)
}

func (l *longRun) delete(name string) {
	l.t.Helper()
	l.must(l.managers.AppsV1().PodManagers("team-a").Delete(l.ctx, name, metav1.DeleteOptions{}))
}

func (l *longRun) patch(name, patch string) {
	l.t.Helper()
	_, err := l.managers.AppsV1().PodManagers("team-a").Patch(l.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	l.must(err)
}

// touch changes an annotation of a PodManager. The controller need not do anything about it.
func (l *longRun) touch(name string) {
	l.t.Helper()
	l.touches++
	l.patch(name, fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, l.touches))
}

// touchForeign writes an object that the controller does not watch.
func (l *longRun) touchForeign() {
	l.t.Helper()
	l.touches++
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("foreign-", l.touches)}}
	_, err := l.kube.CoreV1().ConfigMaps("team-b").Create(l.ctx, foreign, metav1.CreateOptions{})
	l.must(err)
}

func (l *longRun) restore(version, ahead int64) {
	l.t.Helper()
	l.Cluster.restore(l.server.Version()-version, ahead)
}

// catchUp restores a version, and then calls touch until the server's version exceeds the newest one before the restore.
func (l *longRun) catchUp(version int64, touch func()) {
	l.t.Helper()
	newest := l.server.Version()
	l.restore(version, 0)
	for l.server.Version() <= newest {
		touch()
	}
}

func (l *longRun) podsOf(name string) []corev1.Pod {
	l.t.Helper()
	pods, err := l.kube.CoreV1().Pods("team-a").List(l.ctx, metav1.ListOptions{LabelSelector: v1.LabelManager + "=" + name})
	l.must(err)
	return pods.Items
}

// expect compares the PodManagers and the numbers of their pods. A PodManager that is not ready is marked as such.
func (l *longRun) expect(want string) {
	l.t.Helper()
	managers, err := l.managers.AppsV1().PodManagers("team-a").List(l.ctx, metav1.ListOptions{})
	l.must(err)
	var got []string
	for _, manager := range managers.Items {
		text := fmt.Sprint(manager.Name, " ", len(l.podsOf(manager.Name)))
		if !meta.IsStatusConditionTrue(manager.Status.Conditions, v1.ConditionReady) || manager.Status.ObservedGeneration != manager.Generation {
			text += " not ready"
		}
		got = append(got, text)
	}
	if got := strings.Join(got, ", "); got != want {
		l.t.Errorf("there is %s, want %s", got, want)
	}
}
