package text_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	. "github.com/mycompany/podmanager/pkg/plugin/text"
)

func TestTable(t *testing.T) {
	table := Table{Columns: []Column{{Title: "NAME"}, {Title: "STATE", Drop: 1}, {Title: "NODE", Drop: 2}}}
	table.Add(Plainly("web-0"), Cell{Text: "Available", Colour: Good}, Plainly("node-1"))
	table.Add(Plainly("├─ web-10"))
	tests := map[string]struct {
		style Style
		want  string
	}{
		"as wide as it likes": {Style{}, "NAME        STATE       NODE\nweb-0       Available   node-1\n├─ web-10\n"},
		"coloured": {Style{Coloured: true}, "\x1b[1mNAME\x1b[0m        \x1b[1mSTATE\x1b[0m       \x1b[1mNODE\x1b[0m\n" +
			"web-0       \x1b[32mAvailable\x1b[0m   node-1\n├─ web-10\n"},
		"the least important column goes first": {Style{Width: 25}, "NAME        STATE\nweb-0       Available\n├─ web-10\n"},
		"then the next":                         {Style{Width: 12}, "NAME\nweb-0\n├─ web-10\n"},
		"then lines are cut":                    {Style{Width: 4}, "NAME\nweb…\n├─ …\n"},
		"even to nothing":                       {Style{Width: 1}, "…\n…\n…\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := table.String(test.style); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestUsesColour(t *testing.T) {
	tests := map[string]struct {
		flag       string
		env        map[string]string
		isTerminal bool
		want       bool
	}{
		"a pipe":                {"auto", nil, false, false},
		"a terminal":            {"auto", nil, true, true},
		"no flag":               {"", nil, true, true},
		"NO_COLOR":              {"auto", map[string]string{"NO_COLOR": "1"}, true, false},
		"a dumb terminal":       {"auto", map[string]string{"TERM": "dumb"}, true, false},
		"always, in a pipe":     {"always", map[string]string{"NO_COLOR": "1"}, false, true},
		"never, on a terminal":  {"never", nil, true, false},
		"anything else, refuse": {"sometimes", nil, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := UsesColour(test.flag, func(key string) string { return test.env[key] }, test.isTerminal)
			if got != test.want || (err != nil) != (test.flag == "sometimes") {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	tests := map[string]struct {
		text  string
		width int
		want  string
	}{
		"no limit":           {"one two", 0, "one two"},
		"at blanks":          {"one two three", 7, "one two|three"},
		"a long word is cut": {"one extraordinary", 5, "one|extr…"},
		"nothing":            {"", 5, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(Wrap(test.text, test.width), "|"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A new picture replaces the last one and never scrolls the terminal.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	screen := Screen{Out: &out}
	draw := func(columns, lines int, picture ...string) string {
		t.Helper()
		out.Reset()
		if err := screen.Draw(picture, columns, lines); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := draw(80, 24, "a", "b"); got != "a\nb\n" {
		t.Errorf("the first picture: %q", got)
	}
	if got := draw(80, 24, "c"); got != "\x1b[2A\r\x1b[Jc\n" {
		t.Errorf("the second picture: %q", got)
	}
	if got := draw(20, 24, "d"); got != "\x1b[H\x1b[2Jd\n" {
		t.Errorf("after the terminal has changed its size: %q", got)
	}
	if got := draw(20, 4, "1", "2", "3", "4", "5"); got != "\x1b[H\x1b[2J1\n2\n... 3 more lines\n" {
		t.Errorf("a picture that is too high: %q", got)
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, then := range map[string]time.Time{"<unknown>": {}, "5m": now.Add(-5 * time.Minute), "0s": now.Add(time.Second)} {
		if got := Age(then, now); got != want {
			t.Errorf("%v: got %s, want %s", then, got, want)
		}
	}
}

// Control characters in text from other clients do not reach the terminal. Our own colours do.
func TestCleaner(t *testing.T) {
	style := Style{Coloured: true}
	tests := map[string]struct {
		writes []string
		want   string
	}{
		"plain":               {[]string{"a\tb\n", "größer\n"}, "a\tb\ngrößer\n"},
		"our colours":         {[]string{style.Paint(Bad, "a") + style.Paint(Bold, "b")}, style.Paint(Bad, "a") + style.Paint(Bold, "b")},
		"clears the screen":   {[]string{"\x1b[H\x1b[2Jgone"}, "\ufffd[H\ufffd[2Jgone"},
		"renames the window":  {[]string{"\x1b]0;evil\x07"}, "\ufffd]0;evil\ufffd"},
		"another colour":      {[]string{"\x1b[8mhidden"}, "\ufffd[8mhidden"},
		"overwrites the line": {[]string{"all is well\rnothing"}, "all is well\ufffdnothing"},
		"C1":                  {[]string{"\u009b2J"}, "\ufffd2J"},
		"no UTF-8":            {[]string{"a\xffb"}, "a\ufffdb"},
		"a character in two":  {[]string{"gr\xc3", "\xb6ßer"}, "größer"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			cleaner := Cleaner(&out)
			for _, text := range test.writes {
				if n, err := cleaner.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("wrote %d of %d bytes: %v", n, len(text), err)
				}
			}
			if out.String() != test.want {
				t.Errorf("got %q, want %q", out.String(), test.want)
			}
		})
	}
}
