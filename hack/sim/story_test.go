package sim

import (
	"slices"
	"testing"
	"testing/synctest"
)

func TestLeadingTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(nil)
		for range 5 {
			s.tell("refused: replica-0: delete pods team-a/web-0-1")
		}
		s.tell("refused: replica-0: delete pods team-b/web-1-1")
		s.tell("web-1: edited")
		s.tell("web-0: edited")
		s.tell("something happens to web-1-1")
		s.tell("calm")
		s.tell("VIOLATION: team-a/web-0 has 3 pods")
		s.tell("web-0: a good release")
		users := []*user{{namespace: "team-a", name: "web-0"}, {namespace: "team-b", name: "web-1"}}
		want := []string{
			"     0.000 refused: replica-0: delete pods team-a/web-0-1",
			"     0.000 refused: replica-0: delete pods team-a/web-0-1",
			"     0.000 refused: replica-0: delete pods team-a/web-0-1",
			"     0.000 web-0: edited",
			"     0.000 calm",
			"     0.000 VIOLATION: team-a/web-0 has 3 pods",
		}
		if got := s.leadingTo("team-a/web-0 has 3 pods", users); !slices.Equal(got, want) {
			t.Errorf("leadingTo returns\n%q, want\n%q", got, want)
		}
	})
}
