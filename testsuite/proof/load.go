package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"everstep/starter/render"
	"everstep/testsuite/proof/kills"
)

// mostSessions and mostTurns bound what load measures.
const mostSessions, mostTurns = 100_000, 100_000

func (p *program) loadCommand() *cobra.Command {
	config := kills.LoadConfig{Progress: p.progress}
	command := &cobra.Command{
		Use:   "load",
		Short: "Measure what idle sessions cost, or a long one",
		Long: `Opens sessions that each have one turn behind them and lie idle, and measures the
memory of the worker and the server before and after, the histories, and how long
the first answer takes that wakes one: with the session in the worker's memory, and
after the worker was restarted and has none.

With --turns one session has that many turns, and each is measured: the bytes that
it adds to the histories, with what a run that continues as new begins with, and the
time from the message to the answer. It ends 1 if a turn takes more bytes the longer
the session is.

The model is one of the worker's own, which answers 2 KB to prompts of 500 bytes at
once. It brings up a dev server of its own, whose state is thrown away afterwards.`,
		Example: `  go run ./testsuite/proof load
  go run ./testsuite/proof load --idle 100
  go run ./testsuite/proof load --turns 300`,
		RunE: func(command *cobra.Command, _ []string) error {
			if config.Idle == 0 && config.Turns == 0 {
				config.Idle = 1000
			}
			return p.load(command.Context(), config)
		},
	}
	set := command.Flags()
	set.Var(number{&config.Idle, 1, mostSessions}, "idle", "how many sessions lie idle; 1000 unless --turns is given")
	set.Var(number{&config.Turns, 1, mostTurns}, "turns", "how many turns one session has")
	return command
}

func (p *program) load(ctx context.Context, config kills.LoadConfig) error {
	dir, err := os.MkdirTemp("", "everstep-load-")
	if err != nil {
		return fmt.Errorf("make a folder for the server's state: %w", err)
	}
	defer os.RemoveAll(dir)
	lease, err := p.machine.Throwaway(ctx, filepath.Join(dir, "load.db"), nil)
	if err != nil {
		return err
	}
	defer lease.Close() //nolint:errcheck // the server goes when this process does
	server := lease.Server()
	config.Address, config.Namespace, config.ServerPID, config.Dir = server.Address, server.Namespace, server.PID, dir
	report, err := kills.Load(ctx, config)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	}
	if err := p.show(report, report.Told(p.out)); err != nil {
		return err
	}
	if i := report.Idle; i != nil {
		p.say("%s opened in %s; a history has %d bytes on average, %d and %s at the most", render.Counted(int64(i.Sessions), "session"),
			render.Duration(time.Duration(i.OpenedSeconds*float64(time.Second))), i.HistoryBytes, i.MostHistoryBytes, render.Counted(i.MostHistoryEvents, "event"))
	}
	if report.MachineLoad != "" {
		p.say("the machine's load average was %s before, %s at the end", report.MachineLoad, report.MachineLoadAfter)
	}
	if len(report.Broken) > 0 {
		return errors.New("broken promise: " + strings.Join(report.Broken, "\nbroken promise: "))
	}
	return nil
}
