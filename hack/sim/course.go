package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/pkg/world/dice"
)

const (
	// patience is how long the cluster must be quiet to count as settled: the longest backoff is ten minutes. settling limits how long settling may
	// take: rollout deadlines are up to ten minutes, and backoffs of minutes follow each other. quiet is the length of the period before the end of
	// settling in which the controller must not have written anything.
	patience, settling, quiet = 12 * time.Minute, 60 * time.Minute, 5 * time.Minute
	// restarted is how long a new process may take to find that nothing is due.
	restarted = 3 * time.Minute
	// ending is how long processes may take to end. A real process ends at once; here all of its goroutines have to end.
	ending = 5 * time.Minute
)

// Course describes what happens in a cluster.
type Course struct {
	// Users is the number of users. Each has one PodManager.
	Users int
	// Length is how long the users are active.
	Length time.Duration
	// Fair means that there are no faults.
	Fair bool
	// Traced makes the story keep everything, so that two tries can be compared.
	Traced bool
}

// Play plays a course, then a calm period, then a release by each user. It returns the violations.
func (c *Cluster) Play(course Course) []string {
	if err := c.createNamespaces(); err != nil {
		return []string{err.Error()}
	}
	c.story.isTraced = course.Traced
	c.settings = dice.Pick(c.dice, settings{replicas: 1}, settings{replicas: 2, elects: true}, settings{replicas: 2, elects: true, shards: 4})
	c.judge.trouble("", time.Now().Add(restarting))
	c.story.tell("%d replicas, %d shards, leader election %t", c.settings.replicas, c.settings.shards, c.settings.elects)
	if !course.Fair {
		c.setTraits()
	}
	for i := range c.settings.replicas {
		c.supervise(i)
	}
	for i := range course.Users {
		c.users = append(c.users, c.newUser(i))
	}
	c.troubled(course)
	c.calm()
	c.settle()
	for _, u := range c.users {
		u.release()
	}
	c.settle()
	for _, u := range c.users {
		if !u.isDone && !c.judge.isBroken() {
			c.judge.checkDone(u)
		}
	}
	c.Close()
	time.Sleep(ending)
	return c.judge.violations
}

// setTraits picks the properties in which this cluster differs from others.
func (c *Cluster) setTraits() {
	if c.dice.Chance(0.2) {
		c.rules.prunes = dice.Pick(c.dice, "image", "rollout", "podNames", "terminatingReplicas")
	}
	if c.dice.Chance(0.2) {
		c.rules.mirror = dice.Pick(c.dice, namespaces...)
	}
	c.hasCrowd = c.dice.Chance(0.25)
	c.outages = outageDice(c.seed)
	c.areClocksOff = dice.New(c.seed ^ hashOf("clocks")).Chance(0.3)
	c.rules.kinds = dice.Pick(c.dice, []string{"refuse"}, []string{"slow"}, []string{"map"}, []string{"slow", "map", "quota"})
	for _, kind := range []string{"process", "server", "network", "rules"} {
		c.troubles = append(c.troubles, slices.Repeat([]string{kind}, dice.Pick(c.dice, 0, 0, 1, 3))...)
	}
	c.troubles = append(c.troubles, slices.Repeat([]string{"pods"}, dice.Pick(c.dice, 1, 3, 6))...)
	c.story.tell("pruned: %q, mirror: %q, crowd: %t, trouble: %v, rules: %v", c.rules.prunes, c.rules.mirror, c.hasCrowd, c.troubles, c.rules.kinds)
}

// settle waits until nothing happens any more, and then checks the result. It also restarts all replicas: if a new process finds something to do,
// the old one has missed it. If a guarantee was already violated, settle returns at once, because the rest of the course would take time and tell us
// little.
func (c *Cluster) settle() {
	if c.judge.isBroken() {
		return
	}
	for latest := time.Now().Add(settling); time.Now().Before(latest) && pause(c.ctx, time.Minute) && time.Since(c.judge.lastChange()) < patience; {
	}
	c.judge.checkTrue()
	c.judge.checkQuiet(time.Now().Add(-quiet), true, "all was calm")
	c.story.tell("all replicas are restarted, to check whether they have missed something")
	began := time.Now()
	for slot := range c.settings.replicas {
		c.killReplica(slot)
	}
	pause(c.ctx, restarted)
	if c.rules.prunes != "rollout" { // a new process does not know the part of a rollout's state that this API server drops
		c.judge.checkQuiet(began, false, "all was calm before the restart")
	}
}

// killReplica ends a process as a power failure would.
func (c *Cluster) killReplica(slot int) {
	c.story.tell("%s is killed", c.replica(slot).name)
	c.judge.trouble("", time.Now().Add(restarting))
	c.replica(slot).kill()
}

// restarting is how long it takes until another process has taken over from one that ended.
const restarting = 30 * time.Second

// supervise keeps a process of the controller running, as a Deployment does.
func (c *Cluster) supervise(slot int) {
	name := fmt.Sprint(replicaPrefix, slot)
	d := dice.New(c.seed ^ hashOf(name))
	c.mu.Lock()
	c.replicas = append(c.replicas, c.start(name))
	c.mu.Unlock()
	c.running.Go(func() {
		for generation := 1; ; generation++ {
			<-c.replica(slot).ended
			if !pause(c.ctx, 500*time.Millisecond+upTo(d, 5*time.Second)) {
				return
			}
			c.story.tell("%s is started again", name)
			next := c.start(fmt.Sprintf("%s.%d", name, generation))
			c.mu.Lock()
			c.replicas[slot] = next
			c.mu.Unlock()
		}
	})
}

func (c *Cluster) replica(slot int) *replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replicas[slot]
}

// troubled lets users act and faults happen for a while.
func (c *Cluster) troubled(course Course) {
	deadline := time.Now().Add(course.Length)
	every := dice.Pick(c.dice, 5*time.Second, 20*time.Second, time.Minute)
	var acting sync.WaitGroup
	for _, u := range c.users {
		acting.Go(func() {
			pause(c.ctx, upTo(u.dice, time.Second))
			u.create()
			u.live(deadline, every)
		})
	}
	if c.outages != nil {
		acting.Go(func() { c.loseNodes(*c.outages, deadline) })
	}
	if c.hasCrowd {
		acting.Go(func() { c.crowd(deadline) })
	}
	if slices.Contains(c.troubles, "network") {
		c.changeWeather()
	}
	for !c.judge.isBroken() && time.Now().Before(deadline) && pause(c.ctx, upTo(c.dice, 20*time.Second)) {
		if !course.Fair {
			c.happen()
		}
	}
	acting.Wait()
}

func (c *Cluster) changeWeather() {
	fault, watch := dice.Pick(c.dice, 0, 0, 0.01, 0.05, 0.2), dice.Pick(c.dice, 0, 0, 0.1, 0.5)
	c.story.tell("faults: %v of requests, %v of watches", fault, watch)
	c.weather.set(fault, watch)
}

// happen injects a fault. How likely each kind is depends on the cluster.
func (c *Cluster) happen() {
	slot := c.dice.IntN(c.settings.replicas)
	switch dice.Pick(c.dice, c.troubles...) {
	case "process":
		dice.Pick(c.dice, c.killReplica, c.stopReplica, c.stopReplica, c.freezeReplica, c.reshard)(slot)
	case "server":
		dice.Pick(c.dice, c.restart, c.restart, c.restart, c.compact, c.restoreRandom)()
	case "network":
		c.changeWeather()
	case "rules":
		c.rules.imposeRandom(c.dice)
	default:
		if c.dice.Chance(0.05) {
			c.failPods()
		} else {
			c.disturbPod()
		}
	}
}

// stopReplica stops a process gracefully.
func (c *Cluster) stopReplica(slot int) {
	c.story.tell("%s is told to stop", c.replica(slot).name)
	c.judge.trouble(stopping, time.Now().Add(restarting))
	c.replica(slot).stop()
}

func (c *Cluster) freezeReplica(slot int) {
	frozen, lasts := c.replica(slot), upTo(c.dice, time.Minute)
	c.story.tell("%s is frozen for %v", frozen.name, lasts)
	c.judge.trouble("", time.Now().Add(lasts+restarting))
	thaw := frozen.freeze()
	c.running.Go(func() {
		pause(c.ctx, lasts)
		thaw()
	})
}

func (c *Cluster) restart() {
	c.story.tell("the API server is restarted")
	c.judge.trouble("", time.Now().Add(restarting))
	c.server.Restart()
}

func (c *Cluster) compact() {
	c.story.tell("compacted")
	c.server.Compact(c.server.Version() - int64(c.dice.IntN(50)))
}

// restoreRandom restores an earlier state. In some cases the version counter continues at or beyond the present version.
func (c *Cluster) restoreRandom() {
	const first = 10 // the namespaces exist by then
	back := min(int64(c.dice.IntN(40)), max(0, c.server.Version()-first))
	c.judge.trouble("", time.Now().Add(restarting))
	c.restore(back, dice.Pick(c.dice, 0, back, 20, 1000))
}

// reshard changes the number of shards, one replica after the other, as a rolling update of a Deployment does.
func (c *Cluster) reshard(int) {
	if !c.settings.elects {
		return
	}
	c.mu.Lock()
	c.settings.shards = dice.Pick(c.dice, 0, 2, 4)
	c.mu.Unlock()
	c.story.tell("%d shards from now on", c.settings.shards)
	for slot := range c.settings.replicas {
		c.running.Go(func() {
			if pause(c.ctx, time.Duration(slot)*20*time.Second) {
				c.stopReplica(slot)
			}
		})
	}
}

// disturbPod injects a fault into a random pod.
func (c *Cluster) disturbPod() {
	pods, err := c.kube.CoreV1().Pods(dice.Pick(c.dice, namespaces...)).List(c.ctx, metav1.ListOptions{})
	if err == nil && len(pods.Items) > 0 {
		pod := &pods.Items[c.dice.IntN(len(pods.Items))]
		c.story.tell("something happens to %s", pod.Name)
		c.kubelets.disturb(c.dice, pod)
	}
}

// failPods makes the pods of a namespace fail as soon as they run, as if their nodes had run out of disk space.
func (c *Cluster) failPods() {
	where, lasts, d := dice.Pick(c.dice, namespaces...), 30*time.Second+upTo(c.dice, time.Minute), dice.New(c.dice.Uint64())
	c.story.tell("all pods of %s fail for %v", where, lasts)
	c.running.Go(func() {
		for end := time.Now().Add(lasts); time.Now().Before(end) && !c.judge.isBroken() && pause(c.ctx, time.Second); {
			pods, err := c.kube.CoreV1().Pods(where).List(c.ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			for i := range pods.Items {
				c.kubelets.disturb(d, &pods.Items[i])
			}
		}
	})
}

// calm ends all faults.
func (c *Cluster) calm() {
	c.story.tell("calm")
	c.weather.set(0, 0)
	c.rules.calm()
	c.kubelets.calm()
}
