//go:build (amd64 || arm64) && !race

package luck

import (
	"sync"
	"unsafe"
)

//go:linkname cheaprand runtime.cheaprand
func cheaprand() uint32

//go:linkname random runtime.rand
func random() uint64

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// thread returns the runtime's descriptor of the current thread, its m.
func thread() unsafe.Pointer

// generator is internal/chacha8rand.State, followed by the m's other generator.
type generator struct {
	buffer        [32]uint64
	seed          [4]uint64
	next, filled  uint32
	counter, _pad uint32
	cheap         uint64
}

// layout is the location of the generators in the m.
type layout struct {
	generator uintptr
	isKnown   bool
}

const (
	// step is what the cheap generator adds to its state for each number.
	step = 0xa0761d6478bd642f
	// words is how many words of an m are searched.
	words = 512
)

var find = sync.OnceValue(func() (found layout) {
	procPin()
	defer procUnpin()
	m := thread()
	before := *(*[words]uint64)(m)
	cheaprand()
	places := 0
	for word := range uintptr(words) {
		if *(*uint64)(unsafe.Add(m, word*8)) == before[word]+step {
			places++
			found.generator = word*8 - unsafe.Offsetof(generator{}.cheap)
		}
	}
	if places != 1 {
		return layout{}
	}
	g := (*generator)(unsafe.Add(m, found.generator))
	random() // this may fill the buffer
	next := g.next
	random()
	found.isKnown = g.filled <= uint32(len(g.buffer)) && (g.next == next+1 || g.next == 1)
	return found
})

// IsKnown reports whether the random choices of this runtime can be seeded.
func IsKnown() bool { return find().isKnown }

// Seed makes all further choices depend on the seed alone. It is called often, because the number of choices in between may depend on what happened
// in the process before.
func Seed(seed uint64) {
	places := find()
	if !places.isKnown {
		return
	}
	procPin()
	defer procUnpin()
	g := (*generator)(unsafe.Add(thread(), places.generator))
	g.seed = [4]uint64{seed, ^seed, seed * step, step}
	g.counter, g.next, g.filled, g.cheap = 0, uint32(len(g.buffer)), uint32(len(g.buffer)), seed
}
