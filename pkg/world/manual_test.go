package world

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// manual has a row for each sentence of the manual's section "When a revision fails". begins is the beginning of the sentence, and promises are the
// promises that check it. If random scenarios never or seldom do so, tests names a unit test of the planner that checks the sentence. If there is
// nothing to check, no says why.
var manual = []struct {
	begins   string
	promises []string
	tests    string
	no       string
}{
	{begins: "An updated pod that crashes, cannot get its image", promises: []string{"named", "blame", "left-alone"}, tests: "TestFlappingIsFailing"},
	{begins: "`status.rollout.failing` names", promises: []string{"named"}},
	{begins: "What a node did to a pod", promises: []string{"blame", "failed", arrival}},
	{begins: "An exit that the container's own", promises: []string{"blame"}, tests: "TestExcusedEnds"},
	{begins: "A pod that is evicted because it exceeds its own limit", promises: []string{"left-alone"}, tests: "TestDisruption"},
	{begins: "A partition, a pause and a halt leave all pods", promises: []string{"left-alone"}},
	{begins: "Only a return to the good revision applies to all pods", promises: []string{"left-alone", arrival}},
	{begins: "A lost pod of an old revision is replaced by one of", promises: []string{"made"}},
	{begins: "At `failureThreshold`, no further pod is updated", promises: []string{"left-alone", "unproven"}},
	{begins: "A failure belongs to the revision", promises: []string{"blame", arrival}, tests: "TestOneReplacementStandsForOneFailure"},
	{begins: "The halt ends when as many pods", promises: []string{"blame", arrival}, tests: "TestPolicyChangeEndsHalt"},
	{begins: "A pod that still fails under the new policy", promises: []string{"grace", "failed"}, tests: "TestPolicyChangeGivesTimeAnew"},
	{begins: "A failing pod, or its replacement, has", promises: []string{"grace", "failed"}},
	{begins: "That time starts again if", promises: []string{"grace", "failed"}, tests: "TestNodeCondemnsNothing"},
	{begins: "If `failureThreshold` pods have not", promises: []string{"in-time", "made", arrival}, tests: "TestReadinessBlip"},
	{begins: "The spec stays as you wrote it", no: "a plan has no write to the spec"},
	{begins: "`status.failedRevision` names the failed revision", promises: []string{"failed", "made", arrival}},
	{begins: "`progressDeadlineSeconds` counts only while", promises: []string{"failed"}},
	{begins: "When it passes, the rollout is `Stalled`", promises: []string{"failed", arrival}, tests: "TestLackOfRoomRollsNothingBack"},
	{begins: "A revision becomes the last good one when", promises: []string{"current", arrival}},
	{begins: "If there is another revision to return to, `Ready` is True meanwhile", promises: []string{"ready", "progressing"}, tests: "TestBake"},
	{begins: "Until then, the failure policy applies", promises: []string{"failed", "in-time"}, tests: "TestBake"},
	{begins: "A revision that is superseded before is not good", promises: []string{"current"}},
	{begins: "The next wave follows as soon as", promises: []string{"unproven", "counts"}},
	{begins: "With 0, they are available the moment", promises: []string{"counts"}},
	{begins: "With 10 or more", no: "advice"},
}

// arrival is the name for the checks of the final state, after a time of calm.
const arrival = "arrival"

// Each sentence of the section has a row in the table, each row is about a sentence, and the promises and tests that it names exist. The section is
// at most one page.
func TestManual(t *testing.T) {
	sentences, tests := sentencesOf(t, "### When a revision fails"), testsOf(t, "../plan")
	for _, sentence := range sentences {
		matches := 0
		for _, row := range manual {
			if strings.HasPrefix(sentence, row.begins) {
				matches++
			}
		}
		if matches != 1 {
			t.Errorf("%d rows of the table are about %q", matches, sentence)
		}
	}
	for _, row := range manual {
		if !slices.ContainsFunc(sentences, func(s string) bool { return strings.HasPrefix(s, row.begins) }) {
			t.Errorf("the manual does not say %q", row.begins)
		}
		if len(row.promises) == 0 && row.tests+row.no == "" {
			t.Errorf("nothing checks %q", row.begins)
		}
		if row.tests != "" && !slices.Contains(tests, row.tests) {
			t.Errorf("the planner has no test %q", row.tests)
		}
		for _, name := range row.promises {
			if name != arrival && !slices.ContainsFunc(promises, func(p promise) bool { return p.name == name }) {
				t.Errorf("there is no promise %q", name)
			}
		}
	}
	const page = 600
	if words := len(strings.Fields(strings.Join(sentences, " "))); words > page {
		t.Errorf("the section has %d words, more than fit on a page", words)
	}
}

// sentencesOf returns the sentences of a section of the manual, without the bold words that its paragraphs begin with.
func sentencesOf(t *testing.T, heading string) []string {
	t.Helper()
	data, err := os.ReadFile("../../artifacts/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(data), heading+"\n")
	if !found {
		t.Fatalf("the manual has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n###")
	section = regexp.MustCompile(`(?m)^- \*\*.*?\*\*`).ReplaceAllString(section, "")
	section = strings.Join(strings.Fields(section), " ")
	var sentences []string
	for _, sentence := range regexp.MustCompile(`\.( |$)`).Split(section, -1) {
		if sentence != "" {
			sentences = append(sentences, sentence)
		}
	}
	return sentences
}

// testsOf returns the names of the tests in a folder and below.
func testsOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllStringSubmatch(string(data), -1) {
			names = append(names, found[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
