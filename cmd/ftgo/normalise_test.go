package main

import "regexp"

// arguments are the arguments of a frame, and where in the function it is.
var arguments = regexp.MustCompile(`(?m)\([^()]*\)$| …$`)

// chance is what differs from build to build and from run to run: addresses, numbers of goroutines,
// how long a test took.
var chance = regexp.MustCompile(`\+?0x[0-9a-f]+\??|goroutine \d+|\(\d+\.\d\ds\)`)

// normalise takes that out of stack traces and logs.
func normalise(s string) string { return chance.ReplaceAllString(s, "…") }
