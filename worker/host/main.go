package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"golang.org/x/term"

	"everstep/activities/build"
	"everstep/domain"
	"everstep/domain/spelling"
	"everstep/worker/host/codec"
	"everstep/worker/host/door"
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
	Begin()
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitInterrupted)
	}()
	os.Exit(execute(ctx, config, os.Args[1:], os.Stderr))
}

// execute tells of an error as the log would: what servers say is a part of it.
func execute(ctx context.Context, config Config, args []string, says io.Writer) int {
	config.secrets = &secrets{}
	command := called(Command(config), filepath.Base(os.Args[0]))
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		fit(command, width)
	}
	command.SetArgs(args)
	if err := command.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintln(&redactor{out: says, secrets: config.secrets}, "error:", err)
		return exitCode(err)
	}
	return 0
}

// called has the help of a worker's command carry the name of the program that it is.
func called(command *cobra.Command, name string) *cobra.Command {
	command.Use = name
	for _, c := range append(command.Commands(), command) {
		c.Example = usualName.ReplaceAllString(c.Example, "${1}"+strings.ReplaceAll(name, "$", "$$"))
	}
	return command
}

var usualName = regexp.MustCompile(`(?m)(^| )worker\b`)

// fit has the flags of a command's help wrap where a terminal's line ends.
func fit(command *cobra.Command, width int) {
	command.SetUsageTemplate(strings.ReplaceAll(command.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width)))
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
  worker --address temporal.example.com:7233 --task-queue research
  EVERSTEP_LOG_FORMAT=json OPENAI_BASE_URL=http://127.0.0.1:8000/v1 worker`,
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	connection, own := ConnectionFlags(command.Flags()), WorkerFlags(command.Flags())
	command.Flags().SortFlags = false
	without := "without one there are no file tools"
	if config.Dir != "" {
		without = config.Dir + " unless given"
	}
	dir := command.Flags().Lookup("dir")
	dir.Usage = strings.Replace(dir.Usage, " (", "; "+without+" (", 1)
	command.SetFlagErrorFunc(wrongFlag)
	command.AddCommand(checkCommand(config), codecCommand(), uiCommand())
	command.CompletionOptions.DisableDefaultCmd = true
	version := command.Flags().Bool("version", false, "say which build this is, and end")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if *version {
			_, err := fmt.Fprintf(command.OutOrStdout(), "%s %s (%s)\n", command.Name(), build.ID(), runtime.Version())
			return err
		}
		config, err := FromEnvironment(config, envconfig.EnvLookupOS, connection, own)
		if err != nil {
			return err
		}
		config.Ask = Terminal()
		return Run(command.Context(), config)
	}
	return command
}

// wrongFlag names the flag that may be meant.
func wrongFlag(command *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		command.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if near, ok := spelling.Nearest(unknown.GetSpecifiedName(), names); ok {
			return invalid("%s; did you mean --%s?", err, near)
		}
	}
	return invalid("%s; see --help", err)
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return invalid("argument %q: a worker takes flags only; see --help", args[0])
	}
	return nil
}

// Run connects, serves until ctx ends, and stops gracefully. It reads neither
// flags nor variables.
func Run(ctx context.Context, config Config) error {
	w, c, err := prepared(ctx, config)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := w.start(c); err != nil {
		return err
	}
	defer w.Stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-w.Fatal():
		return w.notServing(err)
	}
}

// prepared is a worker that has all it needs but does not serve yet, and a client of the server that it is for, whose address and
// storage are looked up first where the configuration leaves them open.
func prepared(ctx context.Context, config Config) (*Worker, client.Client, error) {
	locating, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	config, err := config.located(locating)
	if err != nil {
		return nil, nil, err
	}
	w, err := ready(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	c, err := Dial(ctx, w.config.Connection)
	if err != nil {
		return nil, nil, errors.Join(err, w.close())
	}
	return w, c, nil
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

const headPatience = 5 * time.Second

// codecCommand serves the codec to Temporal's UI, where no program of ours that
// could do it runs beside the UI.
func codecCommand() *cobra.Command {
	var who door.Door
	command := &cobra.Command{
		Use:   "codec",
		Short: "Serve the codec, so that Temporal's UI shows what is compressed",
		Long: `Serves Everstep's payload codec over HTTP, for Temporal's UI
(TEMPORAL_CODEC_ENDPOINT) and CLI (--codec-endpoint). It knows no server, agent
or key, but decodes for any program that reaches it, and for pages of the
origins given.`,
		Example: `  worker codec --listen 127.0.0.1:8234 --origin http://localhost:8233`,
	}
	command.Flags().StringArrayVar(&who.Origins, "origin", nil, "`URL` of a UI whose pages may use it; once for each")
	serving(command, &who, "127.0.0.1:8234", func() (*http.Server, error) {
		return &http.Server{Handler: codec.New().Handler(who), ReadHeaderTimeout: headPatience, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second}, nil
	})
	return command
}

// uiCommand stands before Temporal's UI, which takes any name for its own.
func uiCommand() *cobra.Command {
	var target string
	var who door.Door
	command := &cobra.Command{
		Use:   "ui",
		Short: "Stand before Temporal's UI, and let only its own pages in",
		Long: `Passes on to Temporal's UI what comes from its own pages, and refuses what comes
from pages of others, also under a name that they bind to this machine. The UI
itself should listen where no browser reaches it. It is no log-in: any program
that reaches it may use it.`,
		Example: `  worker ui --listen 127.0.0.1:8233 --target http://127.0.0.1:8080`,
	}
	command.Flags().StringVar(&target, "target", "http://127.0.0.1:8080", "`URL` of the UI")
	serving(command, &who, "127.0.0.1:8233", func() (*http.Server, error) {
		u, err := url.Parse(target)
		if err != nil || u.Scheme == "" || u.Host == "" {
			return nil, invalid("--target: %q is no URL; give one such as http://127.0.0.1:8080", target)
		}
		return &http.Server{Handler: who.Before(u, nil), ReadHeaderTimeout: headPatience}, nil // without a bound on answers: pages wait for news in them
	})
	return command
}

// serving has a command serve until its context ends.
func serving(command *cobra.Command, who *door.Door, listen string, what func() (*http.Server, error)) {
	command.Flags().StringVar(&listen, "listen", listen, "`host:port` to listen on")
	command.Flags().StringArrayVar(&who.Hosts, "host", nil, "`name` under which it is reached, beside localhost and addresses; once for each")
	command.Args = noArguments
	command.RunE = func(command *cobra.Command, _ []string) error {
		server, err := what()
		if err != nil {
			return err
		}
		return serveHTTP(command.Context(), listen, server)
	}
}

func serveHTTP(ctx context.Context, listen string, server *http.Server) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return invalid("--listen: cannot listen on %q: %s; give a free host:port", listen, err)
	}
	drained := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(drained)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(grace)
	})
	if err := server.Serve(listener); stop() {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	<-drained
	return nil
}
