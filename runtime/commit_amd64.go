package ftrace

// storeCommit is a release store: on amd64 a plain one is.
func storeCommit(p *uint32, n uint32) { *p = n }
