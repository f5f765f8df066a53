//go:build race

package sim

const isRaced = true
