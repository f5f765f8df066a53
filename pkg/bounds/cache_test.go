package bounds

import (
	"strings"
	"testing"
)

// What a cache keeps is limited by the length of the texts, however many there are.
func TestCache(t *testing.T) {
	cache, computed := NewCache[int](1000), 0
	get := func(text string) int {
		return cache.Get(text, func() int { computed++; return len(text) })
	}
	for range 3 {
		if got := get("short"); got != 5 || computed != 1 {
			t.Fatalf("got %d, computed %d times, want 5, once", got, computed)
		}
	}
	long := strings.Repeat("x", 11)
	if get(long); get(long) != 11 || computed != 3 {
		t.Errorf("a text of more than a hundredth of the cache is kept")
	}
	for i := range 10_000 {
		get(strings.Repeat("y", 1+i%10) + string(rune('a'+i%26)))
		total := 0
		for text := range cache.values {
			total += len(text)
		}
		if total > 1000 || total != cache.length {
			t.Fatalf("texts of %d bytes are kept, and %d are counted, want at most 1000", total, cache.length)
		}
	}
	if len(cache.values) == 0 {
		t.Error("nothing is kept")
	}
}
