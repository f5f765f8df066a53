//go:build e2e

package core

import (
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The metrics of a PodManager follow its changes, and disappear when it is deleted.
func TestObjectMetrics(t *testing.T) {
	s := newSpace(t)
	controller := s.private("-object-metrics")
	s.applyPrivate("web", spec(2, good, ""))
	s.applyPrivate("other", spec(1, good, ""))
	s.awaitReady("web", 2)
	s.awaitReady("other", 1)
	labels := `{namespace="` + s.Name + `",podmanager="web"`
	s.awaitObjectMetrics(controller, []string{
		"kube_podmanager_spec_replicas" + labels + "} 2", "kube_podmanager_status_replicas_available" + labels + "} 2",
		"kube_podmanager_info" + labels + `,update_revision="` + s.Manager("web").Status.UpdateRevision + `"} 1`,
		"kube_podmanager_status_condition" + labels + `,condition="Ready",status="true",reason="` + v1.ReasonAllAvailable + `"} 1`,
	}, nil)
	s.Kubectl("delete", "pm", "web")
	s.awaitObjectMetrics(controller, []string{`podmanager="other"} 1`}, []string{`podmanager="web"`})
}

// awaitObjectMetrics waits until the metrics of objects contain the parts in with, and none of those in without.
func (s *space) awaitObjectMetrics(p *lab.Process, with, without []string) {
	s.T.Helper()
	s.Await("the metrics of objects", func() (any, bool) {
		body, err := p.ReadObjectMetrics()
		ok := err == nil
		for _, part := range with {
			ok = ok && strings.Contains(body, part)
		}
		for _, part := range without {
			ok = ok && !strings.Contains(body, part)
		}
		return body, ok
	})
}
