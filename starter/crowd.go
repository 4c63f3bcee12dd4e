package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"everstep/starter/proof"
)

// crowdFlags say how large the crowd is.
type crowdFlags struct {
	agents, workers, steps, requests int
	unlimited                        bool
}

func crowdCommand(p *program) *cobra.Command {
	f := crowdFlags{agents: 100, workers: 2, steps: 12, requests: 600}
	command := &cobra.Command{
		Use:   "crowd",
		Short: "Run many agents on one rate limit, and show that all get their turn",
		Long: `Runs many agents at once on one quota of requests a minute, against a model
server on this machine that refuses what exceeds it (HTTP 429), as providers do.
The workers have the same limit (--rate-limits), so that requests wait for their
turn in Temporal's task queue before they are made.

It brings up a dev server of its own, whose state is thrown away afterwards. The
table goes to standard output. It ends 1 if a promise was broken, and says which:
each agent completes, at most one request in a hundred is refused, each agent has
had its share at half time, and status says who waits.
With --no-limit the workers have no limit, to see the difference.`,
		Example: `  starter crowd
  starter crowd --agents 20 --steps 6 --requests 120
  starter crowd --no-limit`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return p.crowd(command.Context(), f) },
	}
	set := command.Flags()
	set.SortFlags = false
	set.Var(numberFlag{&f.agents, 2, 2000}, "agents", "how many agents; 100 unless given")
	set.Var(numberFlag{&f.workers, 1, 16}, "workers", "how many workers serve them; 2 unless given")
	set.Var(numberFlag{&f.steps, 2, 1000}, "steps", "how many inferences each agent makes; 12 unless given")
	set.Var(numberFlag{&f.requests, 1, 1_000_000}, "requests", "the quota, in requests a minute; 600 unless given")
	set.BoolVar(&f.unlimited, "no-limit", false, "the workers know of no quota")
	return command
}

func (p *program) crowd(ctx context.Context, f crowdFlags) error {
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
	report, err := proof.Crowd(ctx, proof.CrowdConfig{
		Address: lease.Server().Address, Namespace: lease.Server().Namespace, Dir: dir,
		Agents: f.agents, Workers: f.workers, Steps: f.steps, RequestsPerMinute: f.requests, Unlimited: f.unlimited,
		Thinks: 200 * time.Millisecond, Progress: p.machine.Progress,
	})
	switch {
	case ctx.Err() != nil:
		return detached("interrupted; nothing is left of it")
	case err != nil:
		return err
	}
	if p.flags.json {
		err = p.out.JSON(report)
	} else {
		p.out.Printf("%s", report.Table())
	}
	if err == nil && len(report.Broken) > 0 {
		return &exitError{code: exitOther, text: "broken promise: " + strings.Join(report.Broken, "\nbroken promise: ")}
	}
	return err
}
