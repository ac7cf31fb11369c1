//go:build !amd64

package ftrace

import "sync/atomic"

// storeCommit stores n as a release store.
func storeCommit(p *uint32, n uint32) { atomic.StoreUint32(p, n) }
