package main

import (
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for _, text := range []string{"v0.2.0", "v1.0.0", "v10.20.30", "v0.2.0-rc.1", "v0.2.0-0a"} {
		var v version
		if err := v.Set(text); err != nil || string(v) != text || v.number() != text[1:] {
			t.Errorf("%s: got %s (error %v)", text, v, err)
		}
	}
	for _, text := range []string{"", "0.2.0", "v0.2", "v0.02.0", "v0.2.0-", "v0.2.0-rc..1", "v0.2.0-01", "v0.2.0_1", "v0.2.0+build", "latest", "v0.2.0 "} {
		var v version
		if err := v.Set(text); err == nil || !strings.Contains(err.Error(), "say VERSION=v0.2.0") {
			t.Errorf("%q: error %v, want one that says what to write", text, err)
		}
	}
}

func TestVersionOrder(t *testing.T) {
	for _, pair := range [][2]version{{"v0.2.0", "v0.1.9"}, {"v0.10.0", "v0.9.0"}, {"v0.2.0", "v0.2.0-rc.1"}, {"v0.2.0-rc.2", "v0.2.0-rc.1"}} {
		if higher, err := pair[0].follows(string(pair[1])); err != nil || !higher {
			t.Errorf("%s does not follow %s (error %v)", pair[0], pair[1], err)
		}
		if higher, err := pair[1].follows(string(pair[0])); err != nil || higher {
			t.Errorf("%s follows %s (error %v)", pair[1], pair[0], err)
		}
	}
}

func TestImages(t *testing.T) {
	for text, want := range map[string]image{
		"mycompany/podmanager:v0.2.0":     {"mycompany/podmanager", "v0.2.0", ""},
		"127.0.0.1:5000/podmanager:v1":    {"127.0.0.1:5000/podmanager", "v1", ""},
		"registry.example.com/a/b:v0.2.0": {"registry.example.com/a/b", "v0.2.0", ""},
	} {
		var got image
		if err := got.Set(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v (error %v), want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "podmanager", "127.0.0.1:5000/podmanager", "podmanager:", ":v1", "a b:v1", "podmanager@sha256:0"} {
		var got image
		if err := got.Set(text); err == nil {
			t.Errorf("%q is accepted as %+v", text, got)
		}
	}
}

func TestUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"usage: release COMMAND":          nil,
		"usage: release COMMAND ":         {"ship"},
		`"" is not a version`:             {"check", "-version", "", "-ref", "a:v0.2.0"},
		"needs -ref":                      {"check", "-version", "v0.2.0"},
		"takes flags only":                {"check", "-version", "v0.2.0", "now"},
		"needs -attest-tool":              {"pack", "-version", "v0.2.0", "-ref", "a:v0.2.0", "-created", "2026-01-31T12:00:00Z"},
		`cannot parse "yesterday"`:        {"pack", "-created", "yesterday"},
		"needs -created":                  {"bundle", "-version", "v0.2.0", "-ref", "a:v0.2.0"},
		`"v1" is not a version: say VERS`: {"bundle", "-replaces", "v1"},
	} {
		if err := run(args); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v: error %v, want one with %q", args, err, want)
		}
	}
}
