package main

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                   "",
		"-scale 0.05":        "",
		"-scale 0":           "above 0",
		"-scale 2":           "at most 1",
		"-rounds -1":         "at least 1",
		"more":               "only flags",
		"-only (":            "invalid value",
		"-only 1x1000 -keep": "",
	} {
		_, err := parse(strings.Fields(arguments))
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", arguments, err, want)
		}
	}
	small, _ := parse([]string{"-scale", "0.05"})
	full, _ := parse(nil)
	if small.Rounds != 1 || full.Rounds != 3 {
		t.Errorf("%d and %d rounds", small.Rounds, full.Rounds)
	}
}
