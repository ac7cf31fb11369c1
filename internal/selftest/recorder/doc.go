// Package recorder tests what the recorder counts, keeps and gives back: accounting, both modes of
// the buffer, pipes, sizes, markers and names, clocks, limits of the tracers, the profile,
// snapshots. It is apart from package selftest since the buffer that it fills belongs to the whole
// process.
package recorder
