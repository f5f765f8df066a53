//go:build (amd64 || arm64) && !race

package luck

import (
	"runtime"
	"slices"
	"testing"
)

// More goroutines become ready at the same instant than fit into the processor's own queue. They run in the same order each time.
func TestOrder(t *testing.T) {
	if !IsKnown() {
		t.Skip("the runtime is not known")
	}
	order := func(before int) (order []int) {
		for range before {
			runtime.Gosched()
		}
		start, done := make(chan struct{}), make(chan struct{})
		const all = 1000
		waiting := 0
		Seed(6)
		for i := range all {
			go func() {
				waiting++
				<-start
				order = append(order, i)
				if len(order) == all {
					close(done)
				}
			}()
		}
		for waiting < all {
			runtime.Gosched()
		}
		Seed(7)
		close(start)
		<-done
		return order
	}
	order(0) // until then, goroutines of package testing take turns, too
	first := order(0)
	for before := range 10 {
		if !slices.Equal(first, order(before)) {
			t.Fatalf("after %d more turns, the order is another one", before)
		}
	}
}
