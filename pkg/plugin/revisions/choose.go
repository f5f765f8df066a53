package revisions

import (
	"fmt"
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

// Previous returns the revision that undo returns to: the last good one, unless that is the current template, or else the newest other one. It never
// chooses one that has failed. So the first undo leaves a failed revision, and a second undo reverts the first unless that would be a return to one.
func Previous(s snapshot.Snapshot) (snapshot.Revision, error) {
	for _, fits := range []func(snapshot.Revision) bool{
		func(r snapshot.Revision) bool { return r.Name == s.Manager.Status.CurrentRevision && !r.Failed },
		func(r snapshot.Revision) bool { return r.Number > 0 && !r.Failed },
	} {
		if revision, found := newestOther(s, fits); found {
			return revision, nil
		}
	}
	if _, found := newestOther(s, isStored); found { // all of them have failed
		anyway := text.Hint(s.Manager.Namespace, "undo", s.Manager.Name, "--to-revision", "REVISION")
		return snapshot.Revision{}, fmt.Errorf("%s has no other revision that has not failed; '%s' shows its revisions, "+
			"and '%s' returns to one all the same", s.Manager.Name, hintAtHistory(s), anyway)
	}
	return snapshot.Revision{}, fmt.Errorf("%s has no other revision to return to; '%s' shows its revisions", s.Manager.Name, hintAtHistory(s))
}

// Baseline returns the revision with which diff compares the present template: the one that undo returns to, or else the newest failed one.
func Baseline(s snapshot.Snapshot) (snapshot.Revision, error) {
	if revision, err := Previous(s); err == nil {
		return revision, nil
	}
	if revision, found := newestOther(s, isStored); found {
		return revision, nil
	}
	return snapshot.Revision{}, fmt.Errorf("%s has no other revision to compare the present template with ('%s' shows its revisions); "+
		"to compare it with a manifest, run '%s'", s.Manager.Name, hintAtHistory(s), text.Hint(s.Manager.Namespace, "diff", s.Manager.Name, "-f", "FILE"))
}

// newestOther returns the newest revision with a known template, other than the present one, that fits.
func newestOther(s snapshot.Snapshot, fits func(snapshot.Revision) bool) (snapshot.Revision, bool) {
	for _, revision := range s.History()[1:] {
		if fits(revision) && revision.Template != nil {
			return revision, true
		}
	}
	return snapshot.Revision{}, false
}

func isStored(r snapshot.Revision) bool { return r.Number > 0 }

// Doubt returns why it may be wrong to return to a revision. It is empty if nothing speaks against it.
func Doubt(s snapshot.Snapshot, to snapshot.Revision) string {
	switch {
	case to.Failed:
		return to.Title() + " has failed before"
	case !to.Good && to.Name != s.Manager.Status.CurrentRevision:
		return "the rollout of " + to.Title() + " was never completed"
	default:
		return ""
	}
}

func hintAtHistory(s snapshot.Snapshot) string {
	return text.Hint(s.Manager.Namespace, "history", s.Manager.Name)
}
