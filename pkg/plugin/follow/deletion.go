package follow

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// RefuseDeleted returns an error if a PodManager is being deleted: the controller does not roll out or scale it any more.
func RefuseDeleted(manager *v1.PodManager) error {
	if manager.DeletionTimestamp == nil {
		return nil
	}
	return errors.New(Deletion(manager, "is being deleted, so that a change would have no effect, and none was made"))
}

// Deletion says that a PodManager is being deleted, what keeps it, and which verb shows more. said follows its name.
func Deletion(manager *v1.PodManager, said string) string {
	parts := []string{manager.Name + " " + said}
	switch names := manager.Finalizers; len(names) {
	case 0:
	case 1:
		parts = append(parts, "the finalizer "+names[0]+" keeps it")
	default:
		last := len(names) - 1
		parts = append(parts, "the finalizers "+strings.Join(names[:last], ", ")+" and "+names[last]+" keep it")
	}
	ready := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionReady)
	if ready != nil && ready.Reason == v1.ReasonTerminating && ready.Message != "" {
		parts = append(parts, "the controller says: "+ready.Message)
	}
	hint := fmt.Sprintf("run '%s' to see what the deletion waits for", text.Hint(manager.Namespace, "why", manager.Name))
	return strings.Join(append(parts, hint), "; ")
}
