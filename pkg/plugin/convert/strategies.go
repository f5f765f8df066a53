package convert

import (
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// strategy sets the PodManager's update strategy. The limits apply to rolling updates.
func (c *conversion) strategy(kind v1.UpdateStrategyType, limits map[string]any) {
	strategy := map[string]any{"type": string(kind)}
	if kind == v1.RollingUpdateStrategy && len(limits) > 0 {
		strategy["rollingUpdate"] = limits
	}
	c.spec["updateStrategy"] = strategy
}

// maxPercent is the highest percentage that the CRD admits for each limit.
var maxPercent = map[string]int{"maxSurge": 9999, "maxUnavailable": 100, "partition": 100}

// limit copies a number or percentage to the limits. If the field is missing and otherwise is not nil, it uses otherwise.
func (c *conversion) limit(limits map[string]any, name string, otherwise any, path ...string) error {
	value := c.take(append([]string{"spec"}, path...)...)
	if value == nil {
		value = otherwise
	}
	if text, isText := value.(string); isText {
		percent, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
		if err != nil || !strings.HasSuffix(text, "%") {
			return fmt.Errorf("spec.%s is %q, not a percentage", strings.Join(path, "."), text)
		}
		if most := maxPercent[name]; percent > most {
			c.note("spec.%s: is %d%%, the most that a PodManager may have; the source has %s", strings.Join(path, "."), most, text)
			percent = most
		}
		value = strconv.Itoa(percent) + "%"
	}
	if value != nil {
		limits[name] = value
	}
	return nil
}

// deadlines keeps minReadySeconds and the grace period below progressDeadlineSeconds, as the CRD requires.
func (c *conversion) deadlines() {
	deadline, given := c.spec["progressDeadlineSeconds"].(int64)
	if !given {
		deadline = v1.DefaultProgressDeadlineSeconds
	}
	if ready, _ := c.spec["minReadySeconds"].(int64); ready >= deadline {
		deadline = ready + v1.DefaultProgressDeadlineSeconds
		c.spec["progressDeadlineSeconds"] = deadline
		c.note("spec.progressDeadlineSeconds: is %d, to be above minReadySeconds", deadline)
	}
	if deadline <= v1.DefaultGracePeriodSeconds {
		grace := max(0, deadline-1)
		c.spec["failurePolicy"] = map[string]any{"gracePeriodSeconds": grace}
		c.note("spec.failurePolicy.gracePeriodSeconds: is %d, to be below progressDeadlineSeconds", grace)
	}
}

// aboutFailures adds a note on the failure policy, which the source does not have.
func (c *conversion) aboutFailures() {
	if strategy, _ := c.spec["updateStrategy"].(map[string]any); strategy["type"] == string(v1.OnDeleteStrategy) {
		return
	}
	c.note("new in a PodManager: a rollout halts at the first pod that fails (failurePolicy.onFailure: Halt); "+
		"Rollback returns to the last good revision by itself, Continue goes on as a %s does", c.kind)
}
