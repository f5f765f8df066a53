package tree_test

import (
	"testing"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
	. "github.com/mycompany/podmanager/pkg/plugin/tree"
	"github.com/mycompany/podmanager/pkg/plugin/why"
)

// A container writes its own termination message, and any client with permission can write a status. No control character from them reaches the
// terminal, and no line is longer than the terminal is wide.
func FuzzDraw(f *testing.F) {
	f.Add("Error", "exit status 1", "RollingOut", "1 of 3 pods ready", uint8(80))
	f.Add("\x1b[2J", "\x1b]0;title\x07", "\u202e", "a\r\nb\tc", uint8(20))
	f.Add("", "\x9b31m", "\x00", "\xff\xfe", uint8(1))
	f.Add("ê", "日本語", "", "x", uint8(0))
	f.Fuzz(func(t *testing.T, reason, message, readyReason, readyMessage string, width uint8) {
		crashed := Pod(1, Container(Waiting(reason, message), Terminated(reason, 3)), OnNode(readyReason), Annotated(v1.AnnotationInPlace, message))
		crashed.Status.ContainerStatuses[0].LastTerminationState.Terminated.Message = message
		evicted := FailedPod(2, 0, 0, func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = reason, message })
		s := seen(Observe(Manager(3), Pod(0), crashed, evicted))
		for i := range s.Manager.Status.Conditions {
			s.Manager.Status.Conditions[i].Reason, s.Manager.Status.Conditions[i].Message = readyReason, readyMessage
		}
		all := []snapshot.Snapshot{s}
		var log Log
		answer := why.Find(s)
		answer.Log = []string{message, readyMessage}
		for _, lines := range [][]string{Draw(s, text.Style{}), List(all, true, text.Style{}), log.Lines(all, true), answer.Lines(text.Style{})} {
			for _, line := range lines {
				checkLine(t, line, 0)
			}
		}
		for _, line := range Draw(s, text.Style{Width: int(width)}) {
			checkLine(t, line, int(width))
		}
	})
}

func checkLine(t *testing.T, line string, width int) {
	t.Helper()
	count := 0
	for _, r := range line {
		if count++; !unicode.IsPrint(r) {
			t.Errorf("%q has %q in it", line, r)
		}
	}
	if width > 0 && count > width {
		t.Errorf("%d columns instead of %d: %s", count, width, line)
	}
}
