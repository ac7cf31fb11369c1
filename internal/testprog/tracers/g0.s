// systemstack has no body in Go.
