package syncstate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A status counts as kept if it comes back as it was sent. A partial loss is reported once.
func TestNoteStatus(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	condition := func(at time.Time) []metav1.Condition {
		return []metav1.Condition{{Type: v1.ConditionReady, LastTransitionTime: metav1.NewTime(at)}}
	}
	written := &v1.PodManagerStatus{Image: "app:1", Replicas: 3, Conditions: condition(at), PodNames: []string{}}
	kept := &v1.PodManagerStatus{Image: "app:1", Replicas: 3, Conditions: condition(at.Truncate(time.Second))}
	var m State
	if m.NoteStatus(written, kept) {
		t.Error("fractions of a second count as lost")
	}
	if whole := m.WithWholeStatus(&v1.PodManager{Status: *kept}); whole.Status.Image != "app:1" {
		t.Errorf("a status that was kept became %+v", whole.Status)
	}
	pruned := &v1.PodManagerStatus{Replicas: 3, Conditions: kept.Conditions}
	if !m.NoteStatus(written, pruned) {
		t.Error("NoteStatus does not report that the image was lost")
	}
	if m.NoteStatus(written, pruned) {
		t.Error("NoteStatus reports the same loss twice")
	}
	if whole := m.WithWholeStatus(&v1.PodManager{Status: *pruned}); whole.Status.Image != "app:1" {
		t.Errorf("WithWholeStatus does not restore the image, so that each sync would write the status: %+v", whole.Status)
	}
	if other := m.WithWholeStatus(&v1.PodManager{Status: v1.PodManagerStatus{Replicas: 4}}); other.Status.Image != "" {
		t.Errorf("WithWholeStatus replaces a status that another client has written: %+v", other.Status)
	}
}
