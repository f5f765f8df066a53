// Package consistency lets a controller read its own writes.
//
// An informer's store is a rumour: it lags behind what this very process has just written, and a decision made on the
// older state would repeat the write. The Tracker remembers, per owner, the resourceVersion of each write; a sync asks
// whether the store has got that far, and waits if not. It holds no stores and no clients: the caller says how far the
// store is.
package consistency
