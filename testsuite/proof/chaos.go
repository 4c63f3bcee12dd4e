package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/render"
	"everstep/testsuite/proof/kills"
	"everstep/worker/host"
)

func (p *program) chaosCommand() *cobra.Command {
	config := kills.ChaosConfig{Kills: 80, Lanes: kills.DefaultLanes, Progress: p.progress}
	var boundaries []string
	var plain bool
	var each, trees int
	command := &cobra.Command{
		Use:   "chaos",
		Short: "Kill workers everywhere, and show what became of their agents",
		Long: `Runs scripted agents and kills the worker processes that serve them with
SIGKILL, at exact points of their work: before, in and after a model's answer,
before and after a tool's effect, among parallel calls, between steps, while a
run continues as new, in a summary, before and after a hook's effect, while an
answer is checked, while an execution is paused, and as one goes on from another.
What comes out, transcript and events, is held against undisturbed runs of the
same agents and against a ledger that their tools and hooks keep.

Half of the agents are plain. The others have all that an agent can have: hooks
at every trigger, guards, answers that must fit a schema, a bound of money, a
small window, so that the conversation is summed up as it goes, and executions
that go on from one that stopped or failed. With --plain there are none of these.

It brings up a dev server of its own, whose state is thrown away afterwards, and
takes about four seconds a kill and lane. The table goes to standard output; it
ends 1 if a promise was broken, and says which.

With --tools it is aimed at the calls of tools instead: one that reads, one that
does the same anew, a keyed one, one that may not be repeated, and such a one with a
Verify. Each has its worker killed before a call is dispatched, before its effect,
in it, and after it, NUMBER times each; the models insist. A ledger by the key of
the effect shows at most one where there may be one, and steps, events, status and
list tell of an unknown outcome exactly where it is.

With --trees it is aimed at trees of agents: a parent with three sub-agents, one of
which has two of its own. The worker is killed as a sub-agent starts, while several
are at work, in one's answer, after the effect of its tool, in the same way two deep,
as one has just ended, and before the parent goes on, NUMBER times each. Every agent
is held against the one in its place of an undisturbed tree, what they used against
one budget, and nothing may be left running.

With --address it runs on that server instead, which must take clients without
TLS and keys, and which continues runs as new only if it suggests that early.`,
		Example: `  go run ./testsuite/proof chaos
  go run ./testsuite/proof chaos --kills 300 --lanes 4
  go run ./testsuite/proof chaos --plain --kills 16
  go run ./testsuite/proof chaos --tools 2 --lanes 8
  go run ./testsuite/proof chaos --trees 1
  go run ./testsuite/proof chaos --kills 10 --boundary in_stream --boundary after_effect --seed 7`,
		RunE: func(command *cobra.Command, _ []string) error {
			if !command.Flags().Changed("seed") {
				config.Seed = rand.Uint64N(1_000_000) //nolint:gosec // it only has to differ
			}
			config.Agents = kills.Scripted()
			if plain {
				config.Agents = kills.Plain()
			}
			if err := chooseBoundaries(&config, boundaries); err != nil {
				return err
			}
			if trees > 0 {
				return p.chaosTrees(command.Context(), kills.TreesConfig{Each: trees, Lanes: config.Lanes, Progress: config.Progress}, command.Flags().Changed("address"))
			}
			if each > 0 {
				return p.chaosTools(command.Context(), kills.ToolsConfig{Each: each, Lanes: config.Lanes, Progress: config.Progress}, command.Flags().Changed("address"))
			}
			return p.chaos(command.Context(), config, command.Flags().Changed("address"))
		},
	}
	set := command.Flags()
	p.machine.Connection = host.ConnectionFlags(set)
	set.Var(number{&config.Kills, 1, 1_000_000}, "kills", "how many SIGKILLs, spread evenly over the boundaries; 80 unless given")
	set.StringSliceVar(&boundaries, "boundary", nil, "`NAME` of a boundary to kill at; once for each, or separated by commas; all unless given: "+enum.Names(contract.Boundaries(), ", "))
	set.Var(number{&config.Lanes, 1, 64}, "lanes", "how many agents run at a time, each with a worker of its own; 2 unless given")
	set.BoolVar(&plain, "plain", false, "only agents with a model and tools; no hooks, guards, compaction, schema, money, pauses or going on")
	set.Uint64Var(&config.Seed, "seed", 0, "`NUMBER` that chooses the kills; by chance unless given")
	set.Var(number{&each, 1, 10_000}, "tools", "kill over the calls of tools instead, `NUMBER` times for each effect at each of four points")
	set.Var(number{&trees, 1, 10_000}, "trees", "kill over trees of agents instead, `NUMBER` times at each of seven points")
	for _, other := range []string{"kills", "boundary", "plain", "seed"} {
		command.MarkFlagsMutuallyExclusive("tools", other)
		command.MarkFlagsMutuallyExclusive("trees", other)
	}
	command.MarkFlagsMutuallyExclusive("trees", "tools")
	return command
}

func chooseBoundaries(config *kills.ChaosConfig, named []string) error {
	reached := kills.Reached(config.Agents)
	for _, name := range named {
		b := contract.Boundary(name)
		if !slices.Contains(contract.Boundaries(), b) {
			return domain.Errorf(domain.Invalid, "--boundary: %q is none of %s", domain.Shorten(name, 100), enum.Names(contract.Boundaries(), ", "))
		}
		if !slices.Contains(reached, b) {
			return domain.Errorf(domain.Invalid, "--boundary: no plain agent reaches %s; leave out --plain, or name one of %s", b, enum.Names(reached, ", "))
		}
		config.Boundaries = append(config.Boundaries, b)
	}
	return nil
}

func (p *program) chaos(ctx context.Context, config kills.ChaosConfig, elsewhere bool) (err error) {
	if config.Dir, err = os.MkdirTemp("", "everstep-chaos-"); err != nil {
		return fmt.Errorf("make a folder for the ledger: %w", err)
	}
	defer func() {
		if err == nil || ctx.Err() != nil {
			_ = os.RemoveAll(config.Dir) // it is a temporary one
			return
		}
		p.say("what was left is in %s: the ledger, the workers' logs, the server's state", config.Dir)
	}()
	if !elsewhere {
		// It suggests to continue as new after few events, so that agents do.
		lease, err := p.machine.Throwaway(ctx, filepath.Join(config.Dir, "chaos.db"), map[string]string{"limit.historyCount.suggestContinueAsNew": "60"})
		if err != nil {
			return err
		}
		defer lease.Close() //nolint:errcheck // the server goes when this process does
		config.Address, config.Namespace = lease.Server().Address, lease.Server().Namespace
	} else if err := p.chaosElsewhere(&config); err != nil {
		return err
	}
	for _, a := range config.Agents {
		p.say("%s", a)
	}
	p.say("killing %s, seed %d", render.Counted(int64(config.Kills), "worker"), config.Seed)
	report, err := kills.Chaos(ctx, config)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil && report.Agents == 0 && len(report.Broken) == 0:
		return err // there is nothing to report
	}
	return errors.Join(p.chaosReport(report, err == nil), err)
}

// chaosTools aims the kills at the calls of tools.
func (p *program) chaosTools(ctx context.Context, config kills.ToolsConfig, elsewhere bool) error {
	return p.chaosOn(ctx, elsewhere, func(dir, address, namespace string) error {
		config.Dir, config.Address, config.Namespace = dir, address, namespace
		report, err := kills.Tools(ctx, config)
		said := fmt.Sprintf("%s over the calls of tools, %s in all", render.Counted(int64(report.Kills), "kill"), render.Duration(time.Duration(report.Seconds*float64(time.Second))))
		return p.killsReport(ctx, report, report.Table(), report.Kills, report.Broken, said, err)
	})
}

// chaosTrees aims them at trees of agents.
func (p *program) chaosTrees(ctx context.Context, config kills.TreesConfig, elsewhere bool) error {
	return p.chaosOn(ctx, elsewhere, func(dir, address, namespace string) error {
		config.Dir, config.Address, config.Namespace = dir, address, namespace
		report, err := kills.Trees(ctx, config)
		said := fmt.Sprintf("%s over trees of %s, %s in all", render.Counted(int64(report.Kills), "kill"), render.Counted(int64(report.Agents), "agent"),
			render.Duration(time.Duration(report.Seconds*float64(time.Second))))
		return p.killsReport(ctx, report, report.Table(), report.Kills, report.Broken, said, err)
	})
}

// chaosOn does something on a dev server of its own, or on the one that is configured. What is left of it stays where it
// did not end well.
func (p *program) chaosOn(ctx context.Context, elsewhere bool, do func(dir, address, namespace string) error) (err error) {
	dir, err := os.MkdirTemp("", "everstep-chaos-")
	if err != nil {
		return fmt.Errorf("make a folder for the ledgers: %w", err)
	}
	defer func() {
		if err == nil || ctx.Err() != nil {
			_ = os.RemoveAll(dir) // it is a temporary one
			return
		}
		p.say("what was left is in %s: the ledgers, the workers' logs, the server's state", dir)
	}()
	if elsewhere {
		connection, err := p.machine.Configured()
		if err != nil {
			return err
		}
		return do(dir, connection.Address, connection.Namespace)
	}
	lease, err := p.machine.Throwaway(ctx, filepath.Join(dir, "chaos.db"), nil)
	if err != nil {
		return err
	}
	defer lease.Close() //nolint:errcheck // the server goes when this process does
	return do(dir, lease.Server().Address, lease.Server().Namespace)
}

// killsReport prints what kills did that were aimed at one thing; err is why the proof was not carried to its end.
func (p *program) killsReport(ctx context.Context, report any, table render.Table, kills int, promises []kills.Broken, said string, err error) error {
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil && kills == 0:
		return err // there is nothing to report
	}
	shown := p.show(report, table.Render(p.out))
	p.say("%s", said)
	if len(promises) == 0 {
		if err == nil {
			p.say("every promise was kept")
		}
		return errors.Join(shown, err)
	}
	var broken []string
	for _, b := range promises {
		broken = append(broken, "broken promise: "+b.String())
	}
	return errors.Join(shown, err, errors.New(strings.Join(broken, "\n")))
}

func (p *program) chaosElsewhere(config *kills.ChaosConfig) error {
	connection, err := p.machine.Configured()
	if err != nil {
		return err
	}
	config.Address, config.Namespace = connection.Address, connection.Namespace
	if len(config.Boundaries) == 0 {
		config.Boundaries = slices.DeleteFunc(kills.Reached(config.Agents), func(b contract.Boundary) bool { return b == contract.Continuing })
		p.say("leaving out continuing: this server need not suggest it; name it with --boundary if it does")
	}
	return nil
}

// chaosReport prints what the kills did; whole: the proof was carried to its end.
func (p *program) chaosReport(r kills.ChaosReport, whole bool) error {
	if err := p.show(r, r.Table().Render(p.out)); err != nil {
		return err
	}
	for _, kind := range r.Kinds {
		p.say("ran %s under kills: %s", render.Counted(int64(kind.Runs), "time"), kind)
	}
	p.say("%s in %s of %s with %d summaries, %s in all", render.Counted(int64(r.Total.Kills), "kill"), render.Counted(int64(r.Steps), "step"),
		render.Counted(int64(r.Agents), "agent"), r.Summaries, render.Duration(time.Duration(r.Seconds*float64(time.Second))))
	var sources []string
	for _, source := range slices.Sorted(maps.Keys(r.Status.Sources)) {
		sources = append(sources, fmt.Sprintf("%d by %s", r.Status.Sources[source], source))
	}
	p.say("status was told %s (%s), at the slowest in %.2f s", render.Counted(int64(r.Status.Answers), "time"), strings.Join(sources, ", "), r.Status.SlowestSeconds)
	if r.Held() {
		if whole {
			p.say("every promise was kept")
		}
		return nil
	}
	var broken []string
	for _, b := range r.Broken {
		broken = append(broken, "broken promise: "+b.String())
	}
	for _, b := range contract.Boundaries() {
		if n := r.Unreached[b]; n > 0 {
			broken = append(broken, fmt.Sprintf("not shown: no agent reached %s, so %s were not made", b, render.Counted(int64(n), "kill")))
		}
	}
	return errors.New(strings.Join(broken, "\n"))
}
