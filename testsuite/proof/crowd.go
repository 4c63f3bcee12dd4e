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

	"everstep/testsuite/proof/kills"
)

func (p *program) crowdCommand() *cobra.Command {
	config := kills.CrowdConfig{Agents: 100, Workers: 2, Steps: 12, RequestsPerMinute: 600, Thinks: 200 * time.Millisecond}
	command := &cobra.Command{
		Use:   "crowd",
		Short: "Run many agents on one rate limit, and show that all take turns",
		Long: `Runs many agents at once on one quota of requests a minute, against a model
server on this machine that refuses what exceeds it (HTTP 429), as providers do.
The workers have the same limit (--rate-limits), so that requests wait for their
turn in Temporal's task queue before they are made.

It brings up a dev server of its own, whose state is thrown away afterwards. The
table goes to standard output. It ends 1 if a promise was broken, and says which:
each agent completes, at most one request in a hundred is refused, each agent has
had its share at half time, and status says who waits.
With --no-limit the workers have no limit, to see the difference.`,
		Example: `  go run ./testsuite/proof crowd
  go run ./testsuite/proof crowd --agents 20 --steps 6 --requests 120
  go run ./testsuite/proof crowd --no-limit`,
		RunE: func(command *cobra.Command, _ []string) error { return p.crowd(command.Context(), config) },
	}
	set := command.Flags()
	set.Var(number{&config.Agents, 2, 2000}, "agents", "how many agents; 100 unless given")
	set.Var(number{&config.Workers, 1, 16}, "workers", "how many workers serve them; 2 unless given")
	set.Var(number{&config.Steps, 2, 1000}, "steps", "how many inferences each agent makes; 12 unless given")
	set.Var(number{&config.RequestsPerMinute, 1, 1_000_000}, "requests", "the quota, in requests a minute; 600 unless given")
	set.BoolVar(&config.Unlimited, "no-limit", false, "the workers know of no quota")
	return command
}

func (p *program) crowd(ctx context.Context, config kills.CrowdConfig) error {
	dir, err := os.MkdirTemp("", "everstep-crowd-")
	if err != nil {
		return fmt.Errorf("make a folder for the server's state: %w", err)
	}
	defer os.RemoveAll(dir)
	lease, err := p.machine.Throwaway(ctx, filepath.Join(dir, "crowd.db"), nil)
	if err != nil {
		return err
	}
	defer lease.Close() //nolint:errcheck // the server goes when this process does
	config.Address, config.Namespace, config.Dir = lease.Server().Address, lease.Server().Namespace, dir
	config.Progress = p.progress
	report, err := kills.Crowd(ctx, config)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	}
	if err = p.show(report, report.Table()); err == nil && len(report.Broken) > 0 {
		return errors.New("broken promise: " + strings.Join(report.Broken, "\nbroken promise: "))
	}
	return err
}
