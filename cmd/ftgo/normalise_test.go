package main

import "regexp"

// arguments are those of a frame, and where in the function it is.
var arguments = regexp.MustCompile(`(?m)\([^()]*\)$| …$`)

var addresses = regexp.MustCompile(`\+?0x[0-9a-f]+\??|goroutine \d+`)

// normalise takes out of stack traces what differs from build to build.
func normalise(s string) string { return addresses.ReplaceAllString(s, "…") }
