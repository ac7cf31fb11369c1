//go:build !unix

package record

import "os"

func forward(os.Signal) bool { return false }

func exitStatus(state *os.ProcessState) int { return state.ExitCode() }
