package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func stepsCommand(p *program) *cobra.Command {
	var number int
	command := p.withAgent(&cobra.Command{
		Use:   "steps ID",
		Short: "Show the completed steps of an execution",
		Long: `Shows the completed steps of an execution, one a line. It needs a worker. Steps
that can no longer be read are reported as gone (exit 1), and the others follow.`,
		Example: `  starter steps notes
  starter steps notes --execution 2 --json | jq '{number, type, finish_reason}'`,
	}, "starter steps notes", func(ctx context.Context, s *local.Server, id string) error {
		priced, err := s.Agents.Priced(ctx, id, number)
		if err != nil && !errors.Is(err, &client.Error{Class: client.Gone}) {
			return err
		}
		return each(p, s.Agents.Steps(ctx, id, number), func(step domain.StepExecution) error {
			line := render.Step(step, priced)
			return p.show(line, line.Text(p.out.Theme)+"\n")
		})
	})
	executionFlag(command, &number)
	return command
}
