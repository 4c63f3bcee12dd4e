package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/sdk/contrib/envconfig"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

// A program is one call of the command line: what it may read and write, and
// what its shared flags said.
type program struct {
	in  io.Reader
	out *render.Output
	err *render.Output
	// machine is where a server and workers are found or brought up.
	machine *local.Machine
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
	json  bool
	quiet bool
}

// thisProgram is the program of the process.
func thisProgram() *program {
	env := local.Environment{Environment: envconfig.EnvLookupOS}
	p := &program{
		in: os.Stdin, out: terminal(os.Stdout, env), err: terminal(os.Stderr, env),
		interrupts: untilInterrupted, now: time.Now,
	}
	p.machine = &local.Machine{Env: env, Executable: os.Executable, Say: p.say, Again: p.again}
	return p
}

func terminal(file *os.File, env local.Environment) *render.Output {
	return render.NewOutput(file, env.Environ(), env.Value(local.VariableNoColor) != "", env.Columns())
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
		err = commandLineError(root, command, err, args)
	}
	if err == nil {
		err = p.out.Complete()
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
	p.err.Printf("%s %s\n", p.err.Theme.Bad("error:"), render.Clean(strings.TrimSpace(text)))
}

// say tells the user something that is not the answer, in one line.
func (p *program) say(format string, args ...any) {
	if p.flags.quiet {
		return
	}
	p.err.Note(p.err.Theme.Faint(render.OneLine(fmt.Sprintf(format, args...))))
}

// show writes an answer: the value in JSON where that was asked for, else the text.
func (p *program) show(value any, text string) error {
	if p.flags.json {
		return p.out.JSON(value)
	}
	p.out.Printf("%s", text)
	return nil
}

// done answers a command that changed something: the value in JSON where that was
// asked for, else a note.
func (p *program) done(value any, format string, args ...any) error {
	if p.flags.json {
		return p.out.JSON(value)
	}
	p.say(format, args...)
	return nil
}

// detached is the error of a command that was left while what it follows goes on.
func detached(hint string) error { return &exitError{code: exitDetached, text: hint} }

// left reports whether the user has left the command.
func left(ctx context.Context, err error) bool {
	cancelled := &client.Error{Class: client.Cancelled}
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cancelled))
}

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// untilInterrupted returns a context that ends with the first SIGINT, SIGTERM
// or SIGHUP. A second one ends the process at once.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	over := make(chan struct{})
	go func() {
		select {
		case <-over:
			return
		case <-signals:
			cancel(errInterrupted)
		}
		select {
		case <-over:
		case <-signals:
			os.Exit(exitDetached)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel(nil)
	}
}
