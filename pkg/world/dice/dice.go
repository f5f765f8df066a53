package dice

import (
	"math/rand/v2"
)

// Dice is a source of random numbers. The zero Dice is deterministic: Chance is always false, and Pick returns the first choice.
type Dice struct{ *rand.Rand }

func New(seed uint64) Dice { return Dice{rand.New(rand.NewPCG(seed, 0))} }

// Chance returns true with a probability of p.
func (d Dice) Chance(p float64) bool { return d.Rand != nil && d.Float64() < p }

// IntN returns a number from 0 to n-1.
func (d Dice) IntN(n int) int {
	if d.Rand == nil {
		return 0
	}
	return d.Rand.IntN(n)
}

// Pick returns one of the choices.
func Pick[T any](d Dice, choices ...T) T { return choices[d.IntN(len(choices))] }
