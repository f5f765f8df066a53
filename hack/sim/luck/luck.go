//go:build (amd64 || arm64) && !race

package luck

import (
	"runtime"
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

// layout is the location of the generators in the m, and of the pointer to the m's processor.
type layout struct {
	generator uintptr
	isKnown   bool
	// processor is 0 if it is not known.
	processor uintptr
}

// processor is the beginning of the runtime's p.
type processor struct {
	id     int32
	status uint32
	_      uintptr
	// ticks counts how often the scheduler has chosen a goroutine. Every 61st time, it prefers those that did not fit into the processor's own queue,
	// as when a process with shards ends and more than 256 goroutines wake up at the same instant.
	ticks uint32
}

// afterProcessor is the distance in an m from the pointer to its processor to the number of its locks: nextp, oldp, id, two integers and a string.
const afterProcessor = 56

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
	found.processor = findProcessor(m)
	return found
})

// findProcessor returns where an m has the pointer to its processor; 0 if that is not known. The caller has pinned the m, which counts as a lock.
func findProcessor(m unsafe.Pointer) uintptr {
	before := *(*[words]uint64)(m)
	procPin()
	after := *(*[words]uint64)(m)
	procUnpin()
	for word := uintptr(afterProcessor / 8); word < words; word++ {
		at := word*8 - afterProcessor
		nextProcessor, integers, text := before[at/8+1], before[word-3], before[word-2:word]
		if after[word] != before[word]+1 || before[at/8] == 0 || nextProcessor != 0 || integers != 0 || text[0] != 0 || text[1] != 0 {
			continue
		}
		const running = 1
		if p := *(**processor)(unsafe.Add(m, at)); p.id >= 0 && int(p.id) < runtime.GOMAXPROCS(0) && p.status == running {
			return at
		}
	}
	return 0
}

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
	if places.processor != 0 {
		(*(**processor)(unsafe.Add(thread(), places.processor))).ticks = uint32(seed % 61)
	}
	g := (*generator)(unsafe.Add(thread(), places.generator))
	g.seed = [4]uint64{seed, ^seed, seed * step, step}
	g.counter, g.next, g.filled, g.cheap = 0, uint32(len(g.buffer)), uint32(len(g.buffer)), seed
}
