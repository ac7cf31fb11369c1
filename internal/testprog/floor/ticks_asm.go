//go:build amd64 || arm64

package main

// ticks reads the processor's counter.
func ticks() uint64
