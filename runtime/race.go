//go:build race

package ftrace

import "sync"

var raceMu sync.Mutex

// raceAcquire tells the race detector what it cannot see, since this package is compiled without it: what a tracer's callbacks find was
// there before the tracer was registered.
func raceAcquire() {
	raceMu.Lock()
	//lint:ignore SA2001 the order is what matters
	raceMu.Unlock()
}
