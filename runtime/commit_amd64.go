package ftrace

// storeCommit stores n as a release store. On amd64 every store is one.
func storeCommit(p *uint32, n uint32) { *p = n }
