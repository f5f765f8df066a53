package sim

import (
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/pkg/world/dice"
)

const (
	// settling is how long everything may take after the trouble is over: deadlines of rollouts are up to ten minutes, and backoffs of minutes
	// follow each other. Nothing may be written in the last part of it, which is quiet.
	settling, quiet = 40 * time.Minute, 5 * time.Minute
)

// Course is what happens in a cluster.
type Course struct {
	// Users is how many users there are, each with a PodManager.
	Users int
	// Length is how long they are at work.
	Length time.Duration
	// Fair is a course without faults.
	Fair bool
}

// Play plays a course, then calm, then a release by each user. It returns what was violated.
func (c *Cluster) Play(course Course) []string {
	if err := c.createNamespaces(); err != nil {
		return []string{err.Error()}
	}
	c.settings = dice.Pick(c.dice, settings{replicas: 1}, settings{replicas: 2, elects: true}, settings{replicas: 2, elects: true, shards: 4})
	c.story.tell("%d replicas, %d shards, leader election %t", c.settings.replicas, c.settings.shards, c.settings.elects)
	c.rules.prunes = !course.Fair && c.dice.Chance(0.1)
	for i := range c.settings.replicas {
		c.supervise(i)
	}
	for i := range course.Users {
		c.users = append(c.users, c.newUser(i))
	}
	c.troubled(course)
	c.calm()
	pause(c.ctx, settling)
	c.judge.checkTrue()
	c.judge.checkQuiet(time.Now().Add(-quiet))
	for _, u := range c.users {
		u.release()
	}
	pause(c.ctx, settling)
	c.judge.checkTrue()
	c.judge.checkQuiet(time.Now().Add(-quiet))
	for _, u := range c.users {
		if !u.isDone {
			c.judge.checkDone(u)
		}
	}
	c.Close()
	return c.judge.violations
}

// supervise keeps a process of the controller running, as a Deployment does.
func (c *Cluster) supervise(slot int) {
	name := fmt.Sprint(replicaPrefix, slot)
	d := dice.New(c.seed ^ hash(name))
	c.mu.Lock()
	c.replicas = append(c.replicas, c.start(name))
	c.mu.Unlock()
	c.running.Go(func() {
		for generation := 1; ; generation++ {
			<-c.replica(slot).ended
			if !pause(c.ctx, time.Duration(500+d.IntN(5000))*time.Millisecond) {
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

// troubled lets users act and things go wrong for a time.
func (c *Cluster) troubled(course Course) {
	deadline := time.Now().Add(course.Length)
	if !course.Fair {
		c.weather.set(dice.Pick(c.dice, 0, 0.01, 0.05, 0.2), dice.Pick(c.dice, 0, 0.1, 0.5))
	}
	every := dice.Pick(c.dice, 5*time.Second, 20*time.Second, time.Minute)
	var acting sync.WaitGroup
	for _, u := range c.users {
		acting.Go(func() {
			u.create()
			u.live(deadline, every)
		})
	}
	for time.Now().Before(deadline) && pause(c.ctx, time.Duration(c.dice.IntN(20_000))*time.Millisecond) {
		if !course.Fair {
			c.happen()
		}
	}
	acting.Wait()
}

// happen lets something go wrong.
func (c *Cluster) happen() {
	slot := c.dice.IntN(len(c.replicas))
	switch what := c.dice.IntN(30); {
	case what < 3:
		c.story.tell("%s is killed", c.replica(slot).name)
		c.replica(slot).kill()
	case what < 4:
		c.story.tell("%s is told to stop", c.replica(slot).name)
		c.replica(slot).stop()
	case what < 6:
		frozen, lasts := c.replica(slot), time.Duration(c.dice.IntN(60))*time.Second
		c.story.tell("%s is frozen for %v", frozen.name, lasts)
		thaw := frozen.freeze()
		c.running.Go(func() {
			pause(c.ctx, lasts)
			thaw()
		})
	case what < 7:
		c.story.tell("the API server is restarted")
		c.server.Restart()
	case what < 8:
		c.story.tell("compacted")
		c.server.Compact(c.server.Version() - int64(c.dice.IntN(50)))
	case what < 9 && c.dice.Chance(0.3):
		back := int64(c.dice.IntN(40))
		c.restore(back, dice.Pick(c.dice, 0, back, 20, 1000)) // some are caught up at once
	case what < 14:
		c.rules.imposeRandom(c.dice)
	default:
		c.disturbPod()
	}
}

// disturbPod lets something go wrong with a pod.
func (c *Cluster) disturbPod() {
	pods, err := c.kube.CoreV1().Pods(dice.Pick(c.dice, namespaces...)).List(c.ctx, metav1.ListOptions{})
	if err == nil && len(pods.Items) > 0 {
		pod := &pods.Items[c.dice.IntN(len(pods.Items))]
		c.story.tell("something happens to %s", pod.Name)
		c.kubelets.disturb(c.dice, pod)
	}
}

// calm ends all trouble.
func (c *Cluster) calm() {
	c.story.tell("calm")
	c.weather.set(0, 0)
	c.rules.calm()
	c.kubelets.calm()
}
