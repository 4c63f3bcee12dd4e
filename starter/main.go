// Command starter starts Everstep's agents, follows, asks and stops them, and
// brings up on this machine whatever is needed for that.
//
// A file holds the commands that are for the same: start, look, control, follow.
// What they do with agents goes through everstep/starter/client alone, as in any Go
// program; what people read is made in starter/render, and what is brought up on
// this machine in starter/local. Start reading with newRoot, then start.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/contrib/envconfig"

	"everstep/activities/build"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host"
)

func main() {
	host.Begin()
	os.Exit(thisProgram().run(context.Background(), os.Args[1:]))
}

func thisProgram() *program {
	env := local.Environment{Environment: envconfig.EnvLookupOS}
	p := &program{
		name: strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), in: os.Stdin, out: terminal(os.Stdout, env), err: terminal(os.Stderr, env),
		interrupts: untilInterrupted, now: time.Now,
	}
	p.machine = &local.Machine{Env: env, Executable: os.Executable, Say: p.say, Again: p.again}
	return p
}

func terminal(file *os.File, env local.Environment) *render.Output {
	return render.NewOutput(file, env.Environ(), env.Value(local.VariableNoColor) != "", env.Columns())
}

func (p *program) run(ctx context.Context, args []string) int {
	p.shared = sharedArguments(args)
	root := newRoot(p)
	if slices.Contains(args, "--version") || slices.Contains(args, "-v") {
		root.Version = version()
	}
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		described(root)
	}
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	ctx, stop := p.interrupts(ctx)
	defer stop()
	command, err := root.ExecuteContextC(ctx)
	var word string
	if n, _ := fmt.Sscanf(fmt.Sprint(err), "unknown command %q", &word); n == 1 && command == root { // cobra's own error
		err = notACommand(root, word)
	}
	if err != nil && command.ValidateFlagGroups() != nil {
		err = givenTogether(command)
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

// sharedArguments name the server, to be repeated in hints.
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

type program struct {
	name    string // that it was called by; empty is the usual one
	in      io.Reader
	out     *render.Output
	err     *render.Output
	machine *local.Machine // where a server and workers are found or brought up
	// interrupts tells when the user wants to leave.
	interrupts func(context.Context) (context.Context, context.CancelFunc)
	now        func() time.Time
	// here is where agents are looked for by name; empty is the current folder.
	here string
	// typed is what the person has typed, a line at a time; nil until they are asked.
	typed chan string

	flags  sharedFlags
	shared []string // the arguments that name the server, as they were given
}

type sharedFlags struct{ json, quiet, raw bool }

func (p *program) report(err error) {
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return
	}
	e, ok := errors.AsType[*client.Error](err)
	if full := p.machine.Full(); ok && e.Class == client.Unreachable && full != "" {
		text = full
	} else if ok && e.Next != "" {
		text += "; " + backquoted.ReplaceAllStringFunc(e.Next, func(command string) string {
			return "`" + p.again(strings.Trim(command, "`")) + "`"
		})
	}
	p.err.Print(fmt.Sprintf("%s %s\n", p.err.Theme.Bad("error:"), render.Clean(text)))
}

var backquoted = regexp.MustCompile("`[^`]+`")

// say tells the user something that is not the answer, in one line.
func (p *program) say(format string, args ...any) {
	if !p.flags.quiet {
		p.err.Note(p.err.Fold(p.err.Theme.Faint(render.OneLine(fmt.Sprintf(format, args...)))))
	}
}

// warn says what is missing, also where nothing else is shown: what waits for it may wait for good.
func (p *program) warn(missing string) {
	if missing != "" {
		p.err.Note(p.err.Theme.Warn(render.OneLine(missing)))
	}
}

// show writes an answer: the value in JSON where that was asked for, else the text.
func (p *program) show(value any, text string) error {
	if p.flags.json {
		return p.out.JSON(value)
	}
	p.out.Print(text)
	return nil
}

// answer shows what an execution has come to.
func (p *program) answer(result client.Result) error {
	if result.Source == contract.FromRawHistory {
		p.say("%s", render.RawAnswer(result))
	}
	if p.flags.raw && !p.flags.json {
		p.out.Printf("%s", result.Answer)
		return nil
	}
	return p.show(render.Result(result), p.out.Answer(result.Answer))
}

// table answers with rows, or says that there is none.
func (p *program) table(value any, t render.Table, none string) error {
	if len(t.Rows) == 0 && !p.flags.json {
		p.say("%s", none)
		return nil
	}
	return p.show(value, t.Render(p.out))
}

// done answers a command that changed something, in JSON or with a note.
func (p *program) done(value any, format string, args ...any) error {
	if p.flags.json {
		return p.out.JSON(value)
	}
	p.say(format, args...)
	return nil
}

// detached is the error of a command that was left while what it follows goes on.
func detached(hint string) error { return &exitError{code: exitDetached, text: hint} }

func left(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || client.Is(err, client.Cancelled))
}

// untilInterrupted is a context that ends with the first signal. A second one ends the process.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitDetached)
	}()
	return ctx, cancel
}

// each does something with all that can be read. What is gone is the error in the end.
func each[T any](p *program, all iter.Seq2[T, error], do func(T) error) error {
	var gone error
	for one, err := range all {
		switch {
		case client.Is(err, client.Gone):
			gone = err
			p.report(err)
			continue
		case err != nil:
			return err
		}
		if err := do(one); err != nil {
			return err
		}
	}
	return reported(gone)
}

// reported turns an error that the user has seen into its exit code alone.
func reported(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitCode(err), cause: err}
}

// again is a command line that reaches the same server as this one.
func (p *program) again(words ...string) string {
	return strings.Join(slices.Concat([]string{p.called()}, words, p.shared), " ")
}

// withoutServer refuses arguments that name a server, for commands with their own.
func (p *program) withoutServer(why string) error {
	n := len(p.shared)
	if n == 0 || n == 2 && p.shared[0] == "--state" || n == 1 && strings.HasPrefix(p.shared[0], "--state=") {
		return nil
	}
	return usage("address, namespace, profile: %s; leave them out", why)
}

func version() string {
	return fmt.Sprintf("%s (%s)", build.ID(), runtime.Version())
}

// The groups in which help lists the commands.
const (
	groupAgents = "agents"
	groupLocal  = "local"
)

func newRoot(p *program) *cobra.Command {
	root := newCommand(p.called(), "Start AI agents that cannot lose a step",
		`Everstep runs AI agents on Temporal: each step is recorded, so that an agent
goes on where it was when a worker, a machine or this command dies.

Without a configured server, run, chat, watch and --wait bring up what they need
on this machine: Temporal's own dev server, and a worker. What only looks, such as
list, status and explain, brings the server up that has been there before. A
server is configured by --address or --profile, or as Temporal's own tools are
(TEMPORAL_ADDRESS, …).

Exit codes: 0 done or completed, 1 failed or another error, 2 wrong usage,
3 stopped, 4 not found, 5 unreachable, 6 refused by the state it is in,
130 left while it goes on.`,
		`  starter run --model scripted/hello.yaml "Say hello"
  starter run --id notes --model openai/gpt-5-mini --tool list_files "Sum up"
  starter send notes "And which file is the newest?" --wait
  starter status notes
  starter dev`, nil)
	root.Version = "of a build"
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions = cobra.CompletionOptions{DisableDefaultCmd: true}
	if p.out != nil {
		root.SetUsageTemplate(strings.NewReplacer(
			".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", p.out.Width()), "if .Runnable", "if and .Runnable .HasParent",
		).Replace(root.UsageTemplate()))
	}
	root.InitDefaultVersionFlag() // as manuals name it
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: groupAgents, Title: "Agents:"},
		&cobra.Group{ID: groupLocal, Title: "This machine:"},
	)
	root.SetHelpCommand(helpCommand(p))
	root.SetHelpCommandGroupID(groupLocal)
	listTopics(p, root)
	p.machine.Connection = host.ConnectionFlags(root.PersistentFlags())
	set := root.PersistentFlags()
	set.StringVar(&p.machine.State, "state", "", "the state `FILE` of the dev server ("+local.VariableState+")")
	set.BoolVar(&p.flags.json, "json", false, "answer in JSON: one value, or one a line when following")
	set.BoolVar(&p.flags.quiet, "quiet", false, "print answers and errors only")
	add(root, groupAgents,
		runCommand(p), chatCommand(p), startCommand(p), sendCommand(p), unsendCommand(p), watchCommand(p), resultCommand(p), statusCommand(p),
		stepsCommand(p), explainCommand(p), messagesCommand(p), listCommand(p), executionsCommand(p), diffCommand(p),
		forkCommand(p), rewindCommand(p), approvalsCommand(p), approveCommand(p), denyCommand(p), answerCommand(p), revokeCommand(p), resolveCommand(p), updateCommand(p),
		deleteCommand(p), exportCommand(p), importCommand(p),
		agentsCommand(p), scheduleCommand(p),
		stopCommand(p), extendCommand(p), pauseCommand(p), resumeCommand(p), suspendCommand(p), unsuspendCommand(p), clearCommand(p), closeCommand(p),
	)
	add(root, groupLocal,
		devCommand(p), demoCommand(p), doctorCommand(p), mcpCommand(p), completionCommand(p),
	)
	root.AddCommand(workerCommandOf(p), &cobra.Command{ // this program calls itself with them
		Use: devserver.SupervisorCommand, Hidden: true, DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error { return devserver.Supervise(command.Context(), args) },
	})
	p.finish(root)
	root.RunE = func(command *cobra.Command, args []string) error { // cobra takes no word that is empty, or behind --, for one
		if len(args) > 0 {
			return notACommand(command, args[0])
		}
		return command.Help()
	}
	return root
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, command := range commands {
		command.GroupID = group
		command.Flags().SortFlags = false
		root.AddCommand(command)
	}
}
