// Command proof shows what Everstep promises, on real workers and a real Temporal server:
//
//	go run ./testsuite/proof chaos    kills workers, and compares what came of their agents with undisturbed runs
//	go run ./testsuite/proof crowd    runs many agents on one rate limit
//	go run ./testsuite/proof load     measures what idle sessions cost, and the turns of a long one
//
// It is a program of this repository, and no part of what users install. Each command brings up a dev server of its own, and
// starts this program again where it needs a worker that can be killed.
//
// How a kill happens and how a run is judged is in the package kills; crowd.go with quota.go and load.go are measurements, and
// stand by themselves. All of them tell what they found in a Report of the package report: each figure is named there once.
// This file has what the commands share.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/contrib/envconfig"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/testsuite/proof/kills"
	"everstep/testsuite/proof/report"
	"everstep/worker/host"
)

func main() {
	host.Begin()
	env := local.Environment{Environment: envconfig.EnvLookupOS}
	terminal := func(file *os.File) *render.Output {
		return render.NewOutput(file, env.Environ(), env.Value(local.VariableNoColor) != "", env.Columns())
	}
	p := newProgram(env, terminal(os.Stdout), terminal(os.Stderr))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(p.run(ctx, os.Args[1:]))
}

type program struct {
	out, err    *render.Output
	machine     *local.Machine
	json, quiet bool
	// began says that the command line was right, and its command runs.
	began bool
}

func newProgram(env local.Environment, out, err *render.Output) *program {
	p := &program{out: out, err: err}
	p.machine = &local.Machine{Env: env, Executable: os.Executable, Say: p.say}
	return p
}

// The exit codes are those of the starter.
const (
	exitDone        = 0
	exitOther       = 1 // a promise was broken, or another error
	exitUsage       = 2
	exitUnreachable = 5
	exitInterrupted = 130
)

// errInterrupted is the error of a proof that the user left.
var errInterrupted = errors.New("interrupted; nothing is left of it")

func (p *program) run(ctx context.Context, args []string) int {
	root := p.command()
	root.SetArgs(args)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = p.out.Complete()
	}
	if err == nil {
		return exitDone
	}
	p.err.Printf("%s", p.err.Fold(fmt.Sprintf("%s %s\n", p.err.Theme.Bad("error:"), render.Clean(err.Error()))))
	return p.exitCode(err)
}

func (p *program) exitCode(err error) int {
	invalid, isDomain := errors.AsType[*domain.Error](err)
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case !p.began, isDomain && invalid.Kind == domain.Invalid, errors.Is(err, &client.Error{Class: client.Invalid}):
		return exitUsage
	case errors.Is(err, &client.Error{Class: client.Unreachable}):
		return exitUnreachable
	}
	return exitOther
}

func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "proof",
		Short: "Show what Everstep promises, on real workers and a real server",
		Long: `Kills workers, crowds a rate limit and loads a worker with sessions, and shows what became of the agents.

Exit codes: 0 every promise was kept, 1 one was broken, or another error, 2 wrong usage, 5 unreachable, 130 interrupted.`,
		Example: `  go run ./testsuite/proof chaos --kills 300
  go run ./testsuite/proof crowd
  go run ./testsuite/proof load --idle 1000 --turns 300`,
		SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.PersistentFlags().BoolVar(&p.json, "json", false, "answer in JSON")
	root.PersistentFlags().BoolVar(&p.quiet, "quiet", false, "print answers and errors only")
	for _, command := range []*cobra.Command{p.chaosCommand(), p.crowdCommand(), p.loadCommand()} {
		run := command.RunE
		command.RunE = func(command *cobra.Command, args []string) error {
			p.began = true
			return run(command, args)
		}
		command.Args = cobra.NoArgs
		command.Flags().SortFlags = false
		root.AddCommand(command)
	}
	root.AddCommand(hidden(devserver.SupervisorCommand, devserver.Supervise), hidden(kills.WorkerCommand, kills.Worker(map[string]inference.Provider{answeringName: answering{}})))
	return root
}

// hidden is a command by which this program starts itself again.
func hidden(name string, run func(context.Context, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error { return run(command.Context(), args) },
	}
}

// say tells the user something that is not the answer, in one line.
func (p *program) say(format string, args ...any) {
	if !p.quiet {
		p.err.Note(p.err.Fold(p.err.Theme.Faint(render.OneLine(fmt.Sprintf(format, args...)))))
	}
}

func (p *program) progress(line string) { p.say("%s", line) }

// A measurement is a proof that is made on a server, with what it keeps in a folder.
type measurement func(ctx context.Context, dir string, server devserver.Server) (report.Report, error)

// prove makes a proof in a folder of its own, and shows what it found. The folder stays where that was not all well. The
// server is the one that flags name, where elsewhere, or else a dev server of its own with dynamic configuration.
func (p *program) prove(ctx context.Context, elsewhere bool, dynamic map[string]string, measure measurement) error {
	dir, err := os.MkdirTemp("", "everstep-proof-")
	if err != nil {
		return fmt.Errorf("make a folder for what workers and server keep: %w", err)
	}
	found, err := p.measure(ctx, dir, elsewhere, dynamic, measure)
	if ctx.Err() != nil {
		_ = os.RemoveAll(dir) // it is a temporary one
		return errInterrupted
	}
	if err == nil || len(found.Facts) > 0 {
		err = errors.Join(p.show(found), err, found.Err())
	}
	if err != nil {
		p.say("what was left is in %s: ledgers, the workers' logs, the server's state", dir)
		return err
	}
	p.say("every promise was kept")
	return os.RemoveAll(dir)
}

func (p *program) measure(ctx context.Context, dir string, elsewhere bool, dynamic map[string]string, measure measurement) (report.Report, error) {
	if elsewhere {
		connection, err := p.machine.Configured()
		if err != nil {
			return report.Report{}, err
		}
		return measure(ctx, dir, devserver.Server{Address: connection.Address, Namespace: connection.Namespace})
	}
	lease, err := p.machine.Acquire(ctx, devserver.Config{StateFile: filepath.Join(dir, "dev.db"), Dynamic: dynamic})
	if err != nil {
		return report.Report{}, err
	}
	defer lease.Close() //nolint:errcheck // the server goes when this process does
	return measure(ctx, dir, lease.Server)
}

func (p *program) show(found report.Report) error {
	if p.json {
		return p.out.JSON(found)
	}
	p.out.Printf("%s", found.Text(p.out))
	return nil
}

// A number is the value of a flag: a whole number within bounds.
type number struct {
	target      *int
	least, most int
}

func (n number) String() string { return "" }
func (n number) Type() string   { return "number" }
func (n number) Set(text string) (err error) {
	if *n.target, err = strconv.Atoi(text); err != nil || *n.target < n.least || *n.target > n.most {
		return fmt.Errorf("is no whole number from %d to %d", n.least, n.most)
	}
	return nil
}
