package revisions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// Choose returns the revision with the given number, hash or name.
func Choose(s snapshot.Snapshot, wanted string) (snapshot.Revision, error) {
	var known []string
	for _, revision := range s.History() {
		number := strconv.FormatInt(revision.Number, 10)
		if wanted == revision.Name || wanted == revision.Hash || revision.Number > 0 && wanted == number {
			if revision.Template == nil {
				return revision, fmt.Errorf("the template of revision %s of %s is not known any more", wanted, s.Manager.Name)
			}
			return revision, nil
		}
		if revision.Number > 0 {
			known = append(known, number)
		}
	}
	if len(known) == 0 {
		return snapshot.Revision{}, fmt.Errorf("%s has no stored revision yet, so there is none to choose", s.Manager.Name)
	}
	return snapshot.Revision{}, fmt.Errorf("%s has no revision %s; there are %s (see %s)",
		s.Manager.Name, wanted, strings.Join(known, ", "), hintAtHistory(s))
}

// Present returns the revision of the current template.
func Present(s snapshot.Snapshot) snapshot.Revision { return s.History()[0] }

// Previous returns the revision that undo returns to: the newest other one that has proven itself.
func Previous(s snapshot.Snapshot) (snapshot.Revision, error) {
	others := stored(s)
	var names []string
	for _, revision := range others {
		if hasProvenItself(s, revision) {
			return revision, nil
		}
		names = append(names, fmt.Sprintf("%s (%s)", revision.Title(), stateOf(s, revision)))
	}
	if len(others) == 0 {
		return snapshot.Revision{}, fmt.Errorf("%s has no other revision to return to; '%s' shows its revisions", s.Manager.Name, hintAtHistory(s))
	}
	anyway := text.Hint(s.Manager.Namespace, "undo", s.Manager.Name, "--to-revision", "REVISION")
	return snapshot.Revision{}, fmt.Errorf("no other revision of %s has proven itself; there are %s; '%s' shows its revisions, "+
		"and '%s' returns to one all the same", s.Manager.Name, strings.Join(names, ", "), hintAtHistory(s), anyway)
}

// hasProvenItself reports whether the controller has found that a revision is good, and has not found later that it has failed.
func hasProvenItself(s snapshot.Snapshot, revision snapshot.Revision) bool {
	return (revision.Good || revision.Name == s.Manager.Status.CurrentRevision) && !revision.Failed
}

// Baseline returns the revision with which diff compares the present template: the one that undo returns to, or else the newest other one.
func Baseline(s snapshot.Snapshot) (snapshot.Revision, error) {
	if revision, err := Previous(s); err == nil {
		return revision, nil
	}
	if others := stored(s); len(others) > 0 {
		return others[0], nil
	}
	return snapshot.Revision{}, fmt.Errorf("%s has no other revision to compare the present template with ('%s' shows its revisions); "+
		"to compare it with a manifest, run '%s'", s.Manager.Name, hintAtHistory(s), text.Hint(s.Manager.Namespace, "diff", s.Manager.Name, "-f", "FILE"))
}

// stored returns the stored revisions with a known template, other than the present one, newest first.
func stored(s snapshot.Snapshot) []snapshot.Revision {
	return slices.DeleteFunc(s.History()[1:], func(r snapshot.Revision) bool { return r.Number == 0 || r.Template == nil })
}

func hintAtHistory(s snapshot.Snapshot) string {
	return text.Hint(s.Manager.Namespace, "history", s.Manager.Name)
}
