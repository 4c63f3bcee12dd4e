package main

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/devserver"
	"everstep/testsuite/proof/kills"
	"everstep/testsuite/proof/report"
	"everstep/worker/host"
)

func (p *program) chaosCommand() *cobra.Command {
	config := kills.Config{Kills: 80, Lanes: kills.DefaultLanes, Progress: p.progress}
	var boundaries []string
	var plain bool
	var calls, trees int
	command := &cobra.Command{
		Use:   "chaos",
		Short: "Kill workers everywhere, and show what became of their agents",
		Long: `Runs scripted agents and kills the worker processes that serve them with
SIGKILL, at exact points of their work: before, in and after a model's answer,
before and after a tool's effect, among parallel calls, between steps, while a
run continues as new, in a summary, before and after a hook's effect, while an
answer is checked, while an execution is paused, and as one goes on from another.
What comes out, transcript and events, is compared with undisturbed runs of the
same agents and with ledgers that their tools and hooks keep.

Two of the agents are plain. Two others have all that an agent can have: hooks
at every trigger, guards, answers that must fit a schema, a bound of money, a
small window, so that the conversation is summed up as it goes, and executions
that go on from one that stopped or failed. One more has tokens for little more than
it needs undisturbed: what lost inferences may have cost ends it early, and it is
judged by never being overdrawn. With --plain there are none of these.

The workers have a seat, by which the next one tells the server at once that the one
before is gone; those of the last of several lanes have none, and a row of their own
says how soon their agents go on.

It brings up a dev server of its own, whose state is thrown away afterwards, and
takes about four seconds a kill and lane. The tables go to standard output; it
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
is compared with the one in its place of an undisturbed tree, what they used with
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
			switch {
			case calls > 0:
				config.Agents = kills.Calls()
				config.Kills = calls * len(kills.Reached(config.Agents))
			case trees > 0:
				config.Agents = kills.Trees()
				config.Kills = trees * len(kills.Reached(config.Agents))
			case plain:
				config.Agents = kills.Plain()
			default:
				config.Agents = kills.Scripted()
			}
			if err := chooseBoundaries(&config, boundaries); err != nil {
				return err
			}
			elsewhere := command.Flags().Changed("address")
			reached, continuing := kills.Reached(config.Agents), kills.Point(contract.Continuing)
			if elsewhere && len(boundaries) == 0 && slices.Contains(reached, continuing) {
				config.Points = slices.DeleteFunc(reached, func(point kills.Point) bool { return point == continuing })
				p.say("leaving out continuing: this server need not suggest it; name it with --boundary if it does")
			}
			p.say("killing workers: %d, seed %d", config.Kills, config.Seed)
			// A server of its own suggests to continue as new after few events, so that agents do.
			return p.prove(command.Context(), elsewhere, map[string]string{"limit.historyCount.suggestContinueAsNew": "60"},
				func(ctx context.Context, dir string, server devserver.Server) (report.Report, error) {
					config.Dir, config.Address, config.Namespace = dir, server.Address, server.Namespace
					return kills.Run(ctx, config)
				})
		},
	}
	set := command.Flags()
	p.machine.Connection = host.ConnectionFlags(set)
	set.Var(number{&config.Kills, 1, 1_000_000}, "kills", "how many SIGKILLs, spread evenly over the boundaries; 80 unless given")
	set.StringSliceVar(&boundaries, "boundary", nil, "`NAME` of a boundary to kill at; once for each, or separated by commas; all unless given: "+enum.Names(enum.Known[contract.Boundary](), ", "))
	set.Var(number{&config.Lanes, 1, 64}, "lanes", "how many agents run at a time, each with a worker of its own; 2 unless given")
	set.BoolVar(&plain, "plain", false, "only agents with a model and tools; no hooks, guards, compaction, schema, money, pauses or going on")
	set.Uint64Var(&config.Seed, "seed", 0, "`NUMBER` that chooses the kills; by chance unless given")
	set.Var(number{&calls, 1, 10_000}, "tools", "kill over the calls of tools instead, `NUMBER` times for each effect at each of four points")
	set.Var(number{&trees, 1, 10_000}, "trees", "kill over trees of agents instead, `NUMBER` times at each of seven points")
	for _, other := range []string{"kills", "boundary", "plain"} {
		command.MarkFlagsMutuallyExclusive("tools", other)
		command.MarkFlagsMutuallyExclusive("trees", other)
	}
	command.MarkFlagsMutuallyExclusive("trees", "tools")
	return command
}

func chooseBoundaries(config *kills.Config, named []string) error {
	reached := kills.Reached(config.Agents)
	for _, name := range named {
		if !slices.Contains(enum.Known[contract.Boundary](), contract.Boundary(name)) {
			return domain.Invalidf("--boundary: %q is none of %s", domain.Shorten(name, 100), enum.Names(enum.Known[contract.Boundary](), ", "))
		}
		if !slices.Contains(reached, kills.Point(name)) {
			return domain.Invalidf("--boundary: no plain agent reaches %s; leave out --plain, or name one of %s", name, enum.Names(reached, ", "))
		}
		config.Points = append(config.Points, kills.Point(name))
	}
	return nil
}
