package check

import (
	"github.com/mycompany/podmanager/pkg/plugin/surge"
)

// judgeSurge checks that the next rollout would not wait for a surge pod that gets no room. applies is false if a rollout needs no surge pod.
func judgeSurge(f Facts) (finding Finding, applies bool) {
	if !surge.IsNeeded(f.Manager) {
		return Finding{}, false
	}
	finding = Finding{Check: "Surge", Result: OK,
		Says: "a rollout needs a surge pod, because no pod may be unavailable; nothing was found that would keep the surge pod from running"}
	switch found := surge.Assess(f.Manager, f.Room); {
	case f.Room.Rejection != nil: // no room would help
		finding.Check, finding.Result = "Pods", Warning
		finding.Says = "the API server refuses the pods of " + f.Manager.Name + ": " + f.Room.Rejection.Message
		finding.Advice = "correct and apply the template, or create what it refers to, such as a ServiceAccount"
	case found.Obstacle != "":
		finding.Result, finding.Says, finding.Advice = Warning, "the next rollout would be blocked: "+found.Obstacle, surge.WayOut
	case found.Unknown != "":
		finding.Result, finding.Says = Unknown, found.Unknown
	}
	return finding, true
}
