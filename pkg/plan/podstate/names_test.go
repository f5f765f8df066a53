package podstate_test

import (
	"testing"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

func TestIndexOf(t *testing.T) {
	for name, want := range map[string]int{
		"web-0": 0, "web-12": 12, "web-": -1, "web": -1, "web-x": -1, "web-01": -1, "web--1": -1, "web-+1": -1, "shop-1": -1, "web-1-1": -1,
	} {
		if got := podstate.IndexOf("web", name); got != want {
			t.Errorf("indexOf(%q) = %d, want %d", name, got, want)
		}
	}
}
