package luck

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// choices returns the results of random choices of all kinds.
func choices() []int {
	a, b := make(chan int, 100), make(chan int, 100)
	for range 100 {
		a <- 0
		b <- 1
	}
	var made []int
	for range 100 {
		select {
		case chosen := <-a:
			made = append(made, chosen)
		case chosen := <-b:
			made = append(made, chosen)
		}
	}
	numbers := map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}
	for range 20 {
		for number := range numbers {
			made = append(made, number)
		}
		made = append(made, rand.Int())
	}
	return made
}

func TestSeed(t *testing.T) {
	if !IsKnown() {
		t.Skip("the runtime is not known")
	}
	free := choices()
	if slices.Equal(free, choices()) {
		t.Fatal("random choices are the same twice, although there was no seed")
	}
	Seed(7)
	first := choices()
	Seed(7)
	second := choices()
	Seed(8)
	other := choices()
	if !slices.Equal(first, second) {
		t.Error("choices differ with the same seed")
	}
	if slices.Equal(first, other) {
		t.Error("choices are the same with another seed")
	}
}
