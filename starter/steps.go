package main

import (
	"context"
	"errors"
	"iter"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func stepsCommand(p *program) *cobra.Command {
	var number int
	command := &cobra.Command{
		Use:   "steps ID",
		Short: "Show the completed steps of an execution",
		Long: `Shows the completed steps of an execution, one a line. It needs a worker. Steps
that can no longer be read are reported as gone (exit 1), and the others follow.`,
		Example: `  starter steps notes
  starter steps notes --execution 2 --json | jq '{number, type, finish_reason}'`,
		Args:              argument("id", "starter steps notes"),
		ValidArgsFunction: p.completeIDs,
		RunE: p.withAgent(func(ctx context.Context, s *local.Server, id string) error {
			priced, err := s.Agents.Priced(ctx, id, number)
			if err != nil && !errors.Is(err, &client.Error{Class: client.Gone}) {
				return err
			}
			return each(p, s.Agents.Steps(ctx, id, number), func(step domain.StepExecution) error {
				line := render.Step(step, priced)
				return p.show(line, line.Text(p.out.Theme)+"\n")
			})
		}),
	}
	command.Flags().SortFlags = false
	executionFlag(command, &number)
	return command
}

// each does something with all that can still be read. What is gone is said, and
// is the error in the end.
func each[T any](p *program, all iter.Seq2[T, error], do func(T) error) error {
	var gone error
	for one, err := range all {
		switch {
		case errors.Is(err, &client.Error{Class: client.Gone}):
			gone = err
			p.report(err)
			continue
		case err != nil:
			return err
		}
		if err := do(one); err != nil {
			return err
		}
	}
	return reported(gone)
}

// reported turns an error that the user has seen into its exit code alone.
func reported(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitCode(err), cause: err}
}
