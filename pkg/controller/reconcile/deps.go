package reconcile

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/controller/syncstate"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
)

// Deps are the dependencies that the parts of a sync share.
type Deps struct {
	source.Clients
	Scopes       source.ByNamespace
	States       *syncstate.Store
	Capabilities inplace.Capabilities
	Spreading    plan.Spreading
	Clock        clock.PassiveClock
}

const (
	// StaleRetry is how soon to requeue a key if the cache is behind. Watch events take milliseconds.
	StaleRetry = 20 * time.Millisecond
	// StaleLimit is how long a cache may stay behind before a sync reads live. Even a busy API server sends its events sooner, and users
	// would not want to wait much longer.
	StaleLimit = 10 * time.Second
)
