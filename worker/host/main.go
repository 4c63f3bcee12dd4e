package host

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/contrib/envconfig"

	"everstep/domain"
)

// Exit codes of a worker.
const (
	exitError       = 1
	exitUsage       = 2
	exitUnreachable = 5
	exitInterrupted = 130
)

// Main is the whole of a worker's main function: it reads flags and variables
// over config, serves until it is told to stop by SIGINT or SIGTERM, lets work
// in progress finish, and exits. A second signal exits at once.
func Main(config Config) {
	os.Exit(run(config, os.Args[1:]))
}

func run(config Config, args []string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitInterrupted)
	}()
	command := Command(config)
	command.SetArgs(args)
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return exitCode(err)
	}
	return 0
}

// Command is the worker as a command, for programs that have others beside it.
// It serves until its context ends.
func Command(config Config) *cobra.Command {
	command := &cobra.Command{
		Use:   "worker",
		Short: "Run Everstep agents",
		Long: `Runs Everstep agents: their decisions, inferences and tool calls. Any number of
workers may serve one task queue; an agent goes on with another when one dies.

A flag comes before its variable, a variable before a profile of Temporal's
configuration file.

` + keysHelp() + `
Requests to models go through no proxy but that of EVERSTEP_PROXY.

Stops on SIGINT or SIGTERM when work in progress has finished, or has been
handed back; at once on a second signal.`,
		Example: `  worker --dir ./project --storage /var/lib/everstep
  worker --address temporal.example.com:7233 --namespace agents --task-queue research
  EVERSTEP_LOG_FORMAT=json OPENAI_BASE_URL=http://127.0.0.1:8000/v1 worker`,
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	connection, own := ConnectionFlags(command.Flags()), WorkerFlags(command.Flags())
	command.Flags().SortFlags = false
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return domain.Errorf(domain.Invalid, "%s; see --help", err)
	})
	command.AddCommand(codecCommand(), uiCommand())
	command.CompletionOptions.DisableDefaultCmd = true
	command.RunE = func(command *cobra.Command, _ []string) error {
		config, err := FromEnvironment(config, envconfig.EnvLookupOS, connection, own)
		if err != nil {
			return err
		}
		return Run(command.Context(), config)
	}
	return command
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return domain.Errorf(domain.Invalid, "argument %q: a worker takes flags only; see --help", args[0])
	}
	return nil
}

// Run connects, serves until ctx ends, and stops gracefully. It reads neither
// flags nor variables.
func Run(ctx context.Context, config Config) error {
	config = config.withDefaults()
	config.Connection.Logger = config.logger()
	c, err := Dial(ctx, config.Connection)
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := Start(ctx, c, config)
	if err != nil {
		return err
	}
	defer w.Stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-w.Fatal():
		return notServing(config, err)
	}
}

func exitCode(err error) int {
	switch domain.AsError(err).Kind {
	case domain.Invalid:
		return exitUsage
	case domain.Unavailable:
		return exitUnreachable
	default:
		return exitError
	}
}
