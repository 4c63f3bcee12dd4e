package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func extendCommand(p *program) *cobra.Command {
	var t extendFlags
	var wait bool
	command := p.withAgent(&cobra.Command{
		Use:   "extend ID",
		Short: "Raise an execution's limits, or go on from where one ended",
		Long: `Gives the execution in progress new limits. Where the newest execution was
stopped or failed, the next one begins, which goes on from where that one ended,
with the new limits or, without any, with what the old ones leave.

Limits are totals: they count what was used before. A limit that was reached has
to be raised, or nothing could go on; none takes one away. What completed cannot
go on: send gives a named agent its next message.

It needs a server that is up and a worker: dev, or watch ID, brings them up.`,
		Example: `  starter extend notes --max-steps 40
  starter extend notes --max-cost 0.50 --deadline none --wait
  starter extend 7d44c2b5-3a9a-4dc0-8f0b-6a3f9e1b2c3d`,
	}, "starter extend notes --max-steps 40", func(ctx context.Context, s *local.Server, id string) error {
		extended, err := s.Agents.Extend(ctx, id, t.options())
		switch {
		case err != nil:
			return err
		case wait:
			v := p.newView(extended.ID, s.UI(extended.ID, extended.RunID))
			return p.follow(ctx, followed{stack: &local.Stack{Server: s}, view: v}, extended.Execution)
		}
		return p.extended(extended)
	})
	t.register(command.Flags(), p.now)
	command.Flags().BoolVar(&wait, "wait", false, "follow the execution to its end, as run does")
	return command
}

func (p *program) extended(x client.Extended) error {
	limits := render.Budget(x.Budget, domain.ExecutionBudget{})
	if limits == "" {
		limits = "no limit"
	}
	if x.Began {
		return p.done(x, "execution %d of %s has begun, and goes on from the one before (%s); `%s` waits for its end", x.Number, x.ID, limits, p.again("result", x.ID))
	}
	return p.done(x, "execution %d of %s goes on with %s", x.Number, x.ID, limits)
}
