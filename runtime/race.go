//go:build race

package ftrace

import "sync"

var raceMu sync.Mutex

// raceAcquire orders a callback after the registration of its tracer, for the race detector. The
// detector does not see that order by itself, since this package is compiled without it.
func raceAcquire() {
	raceMu.Lock()
	//lint:ignore SA2001 the order is what matters
	raceMu.Unlock()
}
