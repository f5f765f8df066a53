package revisions

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// How a field, or the template as a whole, is changed.
const (
	InPlace = "in place"
	Resize  = "resize"
	NewPod  = "new pod"
	// WithNewPod is for a field that could be changed without a new pod, if another field of the same change needs one.
	WithNewPod = "with the new pod"
	// WhenDeleted is for OnDelete, where only a user replaces pods.
	WhenDeleted = "when you delete the pod"
	// Impossible is for a change that needs new pods while podUpdatePolicy forbids them.
	Impossible = "impossible"
	// Nothing is for a change of the template to one that all pods have already.
	Nothing = "no pod changes"
	// OnlySurplus is for such a change if pods above replicas are deleted because of it.
	OnlySurplus = "no new pod"
)

// Difference is what differs between two templates.
type Difference struct {
	From   string   `json:"from"`
	To     string   `json:"to"`
	Fields []Change `json:"fields"`
	// How is the way in which pods get from one template to the other. Why gives the reason if it is not in place.
	How string `json:"how,omitempty"`
	Why string `json:"why,omitempty"`
}

// Change is one field that differs.
type Change struct {
	Path string `json:"path"`
	From any    `json:"from,omitempty"`
	To   any    `json:"to,omitempty"`
	// How is the way in which this field is changed, as a part of the whole change. Why gives details.
	How string `json:"how"`
	Why string `json:"why,omitempty"`
}

// Diff compares two templates of a PodManager.
func Diff(manager *v1.PodManager, from, to *corev1.PodTemplateSpec, fromTitle, toTitle string) Difference {
	d := Difference{From: fromTitle, To: toTitle, Fields: []Change{}}
	for _, field := range restartLast(differing(from, to)) {
		how, why := judge(from, with(from, field))
		d.Fields = append(d.Fields, Change{Path: field.path, From: field.from, To: field.to, How: how, Why: why})
	}
	if len(d.Fields) == 0 {
		return d
	}
	policy := manager.PodUpdatePolicy()
	d.How, d.Why = judge(from, to)
	if len(d.Fields) > 1 && d.Fields[len(d.Fields)-1].Path == restartPath {
		d.How, d.Why = besidesRestart(from, to, d.Fields[0].Path, policy)
	}
	switch {
	case manager.Strategy() == v1.OnDeleteStrategy:
		d.replace(NewPod)
		d.How, d.Why = WhenDeleted, neverInPlace(manager)
	case d.How != NewPod && policy == v1.RecreatePods:
		d.replace(NewPod)
		d.How, d.Why = NewPod, neverInPlace(manager)
	case d.How == NewPod:
		d.replace(WithNewPod)
		if policy == v1.InPlaceOnly {
			d.How, d.Why = Impossible, "podUpdatePolicy is InPlaceOnly, and "+d.Why
		}
	}
	return d
}

// neverInPlace returns the setting because of which pods are replaced instead of updated in place. Only a rolling update has a podUpdatePolicy.
func neverInPlace(manager *v1.PodManager) string {
	if strategy := manager.Strategy(); strategy != v1.RollingUpdateStrategy {
		return "the update strategy is " + string(strategy)
	}
	return "podUpdatePolicy is Recreate"
}

// Undo compares the present template of a PodManager with the one to return to.
func Undo(s snapshot.Snapshot, to snapshot.Revision) Difference {
	undone := s.Manager.DeepCopy()
	undone.Spec.Image, undone.Spec.RestartAt, undone.Spec.Template = "", nil, to.Template // which has the mark of restartAt
	return toward(s, undone, to, Present(s).Title(), to.Title())
}

// Wanted compares the present template of a PodManager with that of wanted, which is the PodManager after a change.
func Wanted(s snapshot.Snapshot, wanted *v1.PodManager, title string) Difference {
	after := s
	after.Manager = wanted
	return toward(s, wanted, Present(after), "the current template", title)
}

// toward compares the present template with that of a revision. If all pods that stay still have this revision, for example because the rollout is
// paused or was rolled back, none of them changes. wanted is the PodManager after the change.
func toward(s snapshot.Snapshot, wanted *v1.PodManager, to snapshot.Revision, from, title string) Difference {
	d := Diff(wanted, history.Template(&s.Manager.Spec), to.Template, from, title)
	surplus := s.SurplusInPause(wanted)
	switch {
	case d.How == "" || !s.AllHave(to, surplus...):
		return d
	case len(surplus) > 0:
		d.How, d.Why = OnlySurplus, "all that stay have "+to.Title()+" already"
	default:
		d.How, d.Why = Nothing, "all pods have "+to.Title()+" already"
	}
	for i := range d.Fields {
		d.Fields[i].How, d.Fields[i].Why = d.How, ""
	}
	return d
}

// restartPath is the path of the annotation that holds restartAt.
const restartPath = "metadata.annotations." + v1.AnnotationRestartedAt

// restartLast moves the field of restartAt behind the others. restartAt only shows that there was a restart, while the user has changed the other
// fields.
func restartLast(fields []field) []field {
	slices.SortStableFunc(fields, func(a, b field) int {
		order := map[bool]int{true: 1}
		return order[a.path == restartPath] - order[b.path == restartPath]
	})
	return fields
}

// besidesRestart does what judge does, for templates that differ in restartAt and in other fields. first is one of the other fields. If they need new
// pods, the reason names them instead of restartAt.
func besidesRestart(from, to *corev1.PodTemplateSpec, first string, policy v1.PodUpdatePolicy) (how, why string) {
	same := from.DeepCopy()
	delete(same.Annotations, v1.AnnotationRestartedAt)
	if mark, found := to.Annotations[v1.AnnotationRestartedAt]; found {
		metav1.SetMetaDataAnnotation(&same.ObjectMeta, v1.AnnotationRestartedAt, mark)
	}
	how, why = judge(same, to)
	if how != NewPod && policy != v1.RecreatePods {
		return NewPod, first + " differs, and so does restartAt, which needs new pods"
	}
	return how, why
}

// replace sets How for each field that could be changed in place, if the change as a whole needs new pods. Otherwise the table would promise that
// pods stay, and the sentence below it that they are replaced.
func (d *Difference) replace(how string) {
	for i := range d.Fields {
		if d.Fields[i].How != NewPod {
			d.Fields[i].How, d.Fields[i].Why = how, ""
		}
	}
}

// with returns the template with one field changed.
func with(template *corev1.PodTemplateSpec, changed field) *corev1.PodTemplateSpec {
	data, err := json.Marshal(changed.change(decode(template)))
	result := &corev1.PodTemplateSpec{}
	if err != nil || json.Unmarshal(data, result) != nil {
		return nil // no in-place update leads to a nil template
	}
	return result
}

// judge returns how a pod gets from one template to the other.
func judge(from, to *corev1.PodTemplateSpec) (how, why string) {
	diff, obstacle := compare.Templates(from, to)
	switch {
	case from != nil && to != nil && from.Annotations[v1.AnnotationRestartedAt] != to.Annotations[v1.AnnotationRestartedAt]:
		return NewPod, "the time of the restart differs" // the user restarts the pods, or undoes a restart
	case obstacle != "":
		return NewPod, obstacle
	case len(diff.Images) > 0:
		return InPlace, "restarts " + containers(diff.Images)
	case len(diff.Resources) > 0:
		return Resize, ""
	default:
		return InPlace, ""
	}
}

func containers(images map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(images)), ", ")
}

// String returns the field with its values, in one line.
func (c Change) String() string { return fmt.Sprintf("%s: %s -> %s", c.Path, show(c.From), show(c.To)) }

// longest is the number of characters of a value that a table shows.
const longest = 60

// Lines formats the difference.
func (d Difference) Lines(style text.Style) []string {
	if len(d.Fields) == 0 {
		return []string{d.From + " and " + d.To + " have the same template."}
	}
	table := text.Table{Columns: []text.Column{{Title: "FIELD"}, {Title: "FROM"}, {Title: "TO"}, {Title: "HOW"}}}
	colours := map[string]text.Colour{InPlace: text.Good, Resize: text.Good, NewPod: text.Notable, WithNewPod: text.Notable}
	for _, change := range d.Fields {
		how := change.How
		if change.Why != "" && change.How == InPlace {
			how += ", " + change.Why
		}
		table.Add(text.Plainly(change.Path), text.Plainly(show(change.From)), text.Plainly(show(change.To)), text.Cell{Text: how, Colour: colours[change.How]})
	}
	lines := append([]string{style.Paint(text.Bold, d.From+" -> "+d.To)}, table.Lines(style)...)
	return append(lines, d.Summary())
}

// Summary returns a sentence on what happens to the pods.
func (d Difference) Summary() string {
	switch d.How {
	case "":
		return "The template stays the same."
	case NewPod:
		return "Pods are replaced: " + d.Why + "."
	case WhenDeleted:
		return "Pods stay as they are until you delete them: " + d.Why + "."
	case Impossible:
		return "Pods stay as they are: " + d.Why + "."
	case Nothing:
		return "No pod changes: " + d.Why + "."
	case OnlySurplus:
		return "Surplus pods are deleted, and no other pod changes: " + d.Why + "."
	case Resize:
		return "Pods are resized in place, if their node has room."
	default:
		updated := "updated"
		if slices.ContainsFunc(d.Fields, func(change Change) bool { return change.How == Resize }) {
			updated = "updated and resized"
		}
		if d.Why != "" {
			return "Pods are " + updated + " in place, which " + d.Why + "."
		}
		return "Pods are updated in place, without a restart."
	}
}

// show formats a value in one line.
func show(value any) string {
	switch value := value.(type) {
	case nil:
		return "<none>"
	case string:
		return text.Cut(fmt.Sprintf("%q", value)[1:len(fmt.Sprintf("%q", value))-1], longest)
	default:
		data, err := json.Marshal(value)
		if err != nil {
			return "?"
		}
		return text.Cut(string(data), longest)
	}
}
