package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// LogLines is the number of log lines to read and show.
const LogLines = 5

func (a *Answer) say(format string, args ...any) {
	a.Evidence = append(a.Evidence, fmt.Sprintf(format, args...))
}

// AddLog adds the end of the container's log.
func (a *Answer) AddLog(log string) {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return
	}
	a.Log = lines[max(0, len(lines)-LogLines):]
}

// AddExit adds how the last run of the answer's container ended.
func (a *Answer) AddExit(pods []*corev1.Pod, now time.Time) {
	for _, pod := range pods {
		if pod.Name != a.Pod {
			continue
		}
		for status := range podstate.ContainerStatuses(pod) {
			ended := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
			if ended != nil && status.Name == a.Container {
				a.say("container %s: %s, %s ago; restart count %d", status.Name, podstate.DescribeExit(ended), text.Age(ended.FinishedAt.Time, now),
					status.RestartCount)
			}
		}
	}
}

// AddEvent adds the latest warning event about the pod. If there is none, it adds the latest one about the PodManager.
func (a *Answer) AddEvent(events []corev1.Event, now time.Time) {
	warnings := slices.DeleteFunc(slices.Clone(events), func(event corev1.Event) bool {
		about := event.InvolvedObject.Name
		return event.Type != corev1.EventTypeWarning || about != a.Pod && (about != a.Name || a.isStale(event))
	})
	if len(warnings) == 0 {
		return
	}
	// The event of the pod has more details than the event of the PodManager, which usually has the same cause.
	last := slices.MaxFunc(warnings, func(x, y corev1.Event) int {
		isPods := func(event corev1.Event) int {
			if event.InvolvedObject.Name == a.Pod {
				return 1
			}
			return 0
		}
		return cmp.Or(isPods(x)-isPods(y), happened(x).Compare(happened(y)))
	})
	a.say("event %s, %s ago, about %s: %s", last.Reason, text.Age(happened(last), now), last.InvolvedObject.Name, podstate.OneLine("", last.Message))
}

// isStale reports whether an event about the PodManager does not belong to what is wrong now: it tells of another state, such as the halt of a
// revision that was abandoned, or it is older than the rollout.
func (a *Answer) isStale(event corev1.Event) bool {
	switch event.Reason {
	case v1.EventHalted:
		return a.Reason != v1.ReasonHalted && !a.isHalted
	case v1.EventRolledBack:
		return a.Reason != v1.ReasonRolledBack
	case v1.EventDeadline:
		return !a.isLate
	}
	nothingIsWrong := a.Reason == v1.ReasonAllAvailable || a.Reason == v1.ReasonScaledToZero || a.Reason == v1.ReasonBaking
	return nothingIsWrong || happened(event).Before(a.since)
}

// happened returns when an event was last seen. The two event APIs have different fields for that time.
func happened(event corev1.Event) time.Time {
	latest := event.CreationTimestamp.Time
	times := []time.Time{event.LastTimestamp.Time, event.EventTime.Time}
	if event.Series != nil {
		times = append(times, event.Series.LastObservedTime.Time)
	}
	for _, at := range times {
		if at.After(latest) {
			latest = at
		}
	}
	return latest
}
