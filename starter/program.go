package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"go.temporal.io/sdk/contrib/envconfig"

	"everstep/starter/client"
	"everstep/worker/host"
)

// A program is one call of the command line: what it may read and write, and
// what its shared flags said.
type program struct {
	in  io.Reader
	out *output
	err *output
	env environment
	// executable starts this program again, as a worker or a supervisor.
	executable func() (string, error)
	// interrupts tells when the user wants to leave.
	interrupts func(context.Context) (context.Context, context.CancelFunc)
	now        func() time.Time
	// here is the folder in which agents are looked for by name; empty is the
	// current one.
	here string

	flags sharedFlags
	// shared are the arguments that name the server, as they were given.
	shared []string
}

// sharedFlags are those that every command takes.
type sharedFlags struct {
	connection *host.Flags
	state      string
	json       bool
	quiet      bool
}

// thisProgram is the program of the process.
func thisProgram() *program {
	env := environment{envconfig.EnvLookupOS}
	return &program{
		in: os.Stdin, out: newOutput(os.Stdout, env), err: newOutput(os.Stderr, env), env: env,
		executable: os.Executable, interrupts: untilInterrupted, now: time.Now,
	}
}

// run executes a command line and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	p.shared = sharedArguments(args)
	root := newRoot(p)
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	ctx, stop := p.interrupts(ctx)
	defer stop()
	command, err := root.ExecuteContextC(ctx)
	if _, told := errors.AsType[*exitError](err); err != nil && !told {
		err = ofCommandLine(root, command, err, args)
	}
	if err == nil {
		err = p.out.complete()
	}
	if err == nil {
		return exitDone
	}
	p.report(err)
	return exitCode(err)
}

// report prints an error, unless the user has seen it.
func (p *program) report(err error) {
	text := err.Error()
	if text == "" {
		return
	}
	p.err.printf("%s %s\n", p.err.theme.bad("error:"), clean(strings.TrimSpace(text)))
}

// say tells the user something that is not the answer, in one line.
func (p *program) say(format string, args ...any) {
	if p.flags.quiet {
		return
	}
	p.err.note(p.err.theme.faint(oneLine(fmt.Sprintf(format, args...))))
}

// detached is the error of a command that was left while what it follows goes on.
func detached(hint string) error { return &exitError{code: exitDetached, text: hint} }

// left reports whether the user has left the command.
func left(ctx context.Context, err error) bool {
	cancelled := &client.Error{Class: client.Cancelled}
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cancelled))
}
