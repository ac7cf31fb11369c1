//go:build !unix

package tracefile

import "os"

// Create creates the file of a trace for reading and writing, or truncates the one that is there.
func Create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}
