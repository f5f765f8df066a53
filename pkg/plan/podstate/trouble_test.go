package podstate_test

import (
	"testing"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

func TestMentions(t *testing.T) {
	tests := map[string]struct {
		text, image string
		want        bool
	}{
		"the name as in the spec":     {`Back-off pulling image "app:1"`, "app:1", true},
		"with its registry":           {`failed to pull and unpack image "docker.io/library/app:1": not found`, "app:1", true},
		"at the end":                  {"no such image: app:1", "app:1", true},
		"a longer tag":                {`Back-off pulling image "app:10"`, "app:1", false},
		"a name without the tag":      {`Back-off pulling image "app:1"`, "app", false},
		"a longer tag, then the name": {`app:10, app:1`, "app:1", true},
		"no text":                     {"", "app:1", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := podstate.Mentions(test.text, test.image); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
