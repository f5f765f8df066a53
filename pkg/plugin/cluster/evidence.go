package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/why"
)

// AddEvidence adds to an answer what only the API server can tell, as far as the user may read it.
func (c *Cluster) AddEvidence(ctx context.Context, s snapshot.Snapshot, answer *why.Answer) {
	if outcome := follow.Of(s.Manager); outcome == follow.Done || outcome == follow.Baking {
		return // old events would only mislead
	}
	answer.AddExit(s.Pods, s.Now)
	var events []corev1.Event
	for _, name := range slices.Compact([]string{answer.Pod, s.Manager.Name}) {
		if name == "" {
			continue
		}
		list, err := c.Kube.CoreV1().Events(s.Manager.Namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("involvedObject.name", name).String(),
		})
		if err != nil {
			answer.Evidence = append(answer.Evidence, "events cannot be read: "+c.Advise(err, s.Manager.Namespace).Error())
			break
		}
		events = append(events, list.Items...)
	}
	answer.AddEvent(events, s.Now)
	if !answer.HasLog {
		return
	}
	log, err := c.Kube.CoreV1().Pods(s.Manager.Namespace).GetLogs(answer.Pod, &corev1.PodLogOptions{
		Container: answer.Container, Previous: answer.Previous, TailLines: ptr.To[int64](why.LogLines), LimitBytes: ptr.To[int64](1 << 14),
	}).DoRaw(ctx)
	if err != nil {
		answer.Evidence = append(answer.Evidence, fmt.Sprintf("the log of container %s cannot be read: %v", answer.Container, err))
		return
	}
	answer.AddLog(string(log))
}
