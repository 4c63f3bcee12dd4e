// Command starter starts Everstep's agents, follows, asks and stops them, and
// brings up on this machine whatever is needed for that.
//
// A file holds the commands that are for the same: start, look, control, follow.
// What they do with agents goes through everstep/starter/client alone, as in any Go
// program; what people read is made in starter/render, and what is brought up on
// this machine in starter/local. Start reading with root.go, then start.go.
package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"go.temporal.io/sdk/contrib/envconfig"

	"everstep/starter/local"
	"everstep/starter/render"
)

func main() { os.Exit(thisProgram().run(context.Background(), os.Args[1:])) }

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
	// Cobra itself makes errors of the program as a whole alone.
	if _, told := errors.AsType[*exitError](err); err != nil && !told && command == root && !errors.Is(err, context.Canceled) {
		err = unknownCommand(root, args)
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

// sharedArguments are the arguments that name the server, to be repeated in
// hints.
func sharedArguments(args []string) []string {
	var shared []string
	for i, arg := range args {
		name, _, joined := strings.Cut(arg, "=")
		switch name {
		case "--":
			return shared
		case "--address", "--namespace", "--profile", "--state":
			shared = append(shared, render.OneLine(arg))
			if !joined && i+1 < len(args) {
				shared = append(shared, render.OneLine(args[i+1]))
			}
		}
	}
	return shared
}
