//go:build race

package selftest

const race = true
