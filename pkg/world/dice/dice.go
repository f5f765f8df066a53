package dice

import (
	"math/rand/v2"
)

// Dice are a source of random numbers.
type Dice struct{ *rand.Rand }

func New(seed uint64) Dice { return Dice{rand.New(rand.NewPCG(seed, 0))} }

// Chance is true with a probability of p.
func (d Dice) Chance(p float64) bool { return d.Float64() < p }

// Pick is one of the choices.
func Pick[T any](d Dice, choices ...T) T { return choices[d.IntN(len(choices))] }
