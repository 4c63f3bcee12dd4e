package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/starter/local"
	"everstep/starter/render"
)

func explainCommand(p *program) *cobra.Command {
	var number int
	command := p.withAgent(&cobra.Command{
		Use:   "explain ID",
		Short: "Explain why an execution ended, and what it cost",
		Long: `Explains why an execution ended, or what it is doing now: a line a step with its
time, tokens, cost and tool calls, what was wasted, what the budget has left and
how to raise it, and how long the history is. Where no worker is up it tells
what the history has, and says what is missing.`,
		Example: `  starter explain notes
  starter explain notes --execution 2 --json | jq .waste`,
	}, "starter explain notes", func(ctx context.Context, s *local.Server, id string) error {
		view, err := s.Agents.Explain(ctx, id, number)
		if err != nil {
			return err
		}
		for i, advice := range view.Advice {
			view.Advice[i].Command = p.commandLine(advice.Command)
		}
		return p.show(view, render.Explanation(p.out.Theme, view, p.now()))
	})
	executionFlag(command, &number)
	return command
}
