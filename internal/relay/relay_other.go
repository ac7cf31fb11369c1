//go:build !unix

package relay

import (
	"os"
	"os/signal"
)

func forward(os.Signal) bool { return false }

func notify(c chan os.Signal) (late func()) {
	signal.Notify(c)
	return func() {}
}

type witness struct{}

func newWitness() *witness { return nil }

func (*witness) saw(os.Signal, chan os.Signal) bool { return false }

func (*witness) close() {}

// Witness is the main function of a witness, which this system has no use for.
func Witness() {}

// Die ends this process after a signal.
func Die(os.Signal) { os.Exit(1) }

// Status returns the exit status of a program.
func Status(state *os.ProcessState) int { return state.ExitCode() }

// WitnessName is the name, argument 0, by which this program is started as a witness.
const WitnessName = "ftgo-signals"
