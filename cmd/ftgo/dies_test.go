package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var signals = map[string]syscall.Signal{"0": 0, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM,
	"HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "ABRT": syscall.SIGABRT, "PIPE": syscall.SIGPIPE}

// dies SIGNAL ARG runs ./plain and ./hooked, sends each the signal once it has printed a line, and
// compares how they ended: status, signal, and the fatal error that they printed. Signal 0 is none,
// and PIPE closes their standard output instead. ./hooked must leave the file trace.
func dies(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: dies SIGNAL ARG")
	}
	sig, known := signals[args[0]]
	if !known {
		ts.Fatalf("there is no signal %s", args[0])
	}
	if sig != 0 && sig != syscall.SIGPIPE && signal.Ignored(sig) {
		ts.Logf("signal %s is ignored here, and so it is in programs that are started from here", args[0])
		return
	}
	run := func(program string) (state, fatal string) {
		cmd := exec.Command(ts.MkAbs(program), args[1])
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = []string{"GOMAXPROCS=" + ts.Getenv("GOMAXPROCS")}
		if program == "hooked" {
			cmd.Env = append(cmd.Env, "FTGO_TRACER="+ts.Getenv("FTGO_TRACER"), "FTGO_OUT="+ts.Getenv("FTGO_OUT"))
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		ts.Check(err)
		ts.Check(cmd.Start())
		defer time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }).Stop()
		if sig != 0 {
			out := bufio.NewReader(stdout)
			_, err := out.ReadString('\n')
			ts.Check(err)
			if sig == syscall.SIGPIPE {
				stdout.Close()
			} else {
				ts.Check(cmd.Process.Signal(sig))
			}
			io.Copy(io.Discard, out)
		}
		cmd.Wait()
		return cmd.ProcessState.String(), fatalError.FindString(stderr.String())
	}
	os.Remove(ts.MkAbs("trace"))
	wantState, wantFatal := run("plain")
	state, fatal := run("hooked")
	if state != wantState || fatal != wantFatal {
		ts.Fatalf("%s %s ends with %q and prints %q, hooked with %q and %q", args[0], args[1], wantState, wantFatal, state, fatal)
	}
	if trace := ts.ReadFile("trace"); strings.Count(trace, "main.work()") != 4 {
		ts.Fatalf("%s %s has left the trace\n%.2000s", args[0], args[1], trace)
	}
}

var fatalError = regexp.MustCompile(`(?m)^(fatal error|SIG[A-Z]+): .*$`)

// asnobody NAME=VALUE ... PROGRAM runs a program as user and group 65534, with nothing else in its
// environment.
func asnobody(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: asnobody NAME=VALUE ... PROGRAM")
	}
	cmd := exec.Command(ts.MkAbs(args[len(args)-1]))
	cmd.Env = args[:len(args)-1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Run())
}
