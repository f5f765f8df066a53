package bounds

import "sync"

// Cache keeps values that are derived from texts of other clients. The total length of these texts is limited, not their number, because a client
// may write long texts. It is safe for concurrent use.
type Cache[V any] struct {
	limit int

	mu     sync.Mutex
	length int
	values map[string]V
}

// NewCache returns a cache for texts with a total length of up to limit bytes.
func NewCache[V any](limit int) *Cache[V] {
	return &Cache[V]{limit: limit, values: map[string]V{}}
}

// Get returns the value of a text. If the cache does not have it, Get computes it. A text that would take more than a hundredth of the cache is not
// kept. If the cache is full, it starts anew.
func (c *Cache[V]) Get(text string, compute func() V) V {
	c.mu.Lock()
	value, found := c.values[text]
	c.mu.Unlock()
	if found {
		return value
	}
	value = compute()
	if len(text) > c.limit/100 {
		return value
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, found := c.values[text]; found {
		return known // computed at the same time
	}
	if c.length += len(text); c.length > c.limit {
		c.values, c.length = map[string]V{}, len(text)
	}
	c.values[text] = value
	return value
}
