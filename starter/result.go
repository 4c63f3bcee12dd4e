package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func resultCommand(p *program) *cobra.Command {
	var number int
	var noWait bool
	command := p.withAgent(&cobra.Command{
		Use:   "result ID",
		Short: "Wait for an execution's end and print its answer",
		Long: `Waits until an execution has ended, prints its answer, and exits 0 where it
completed, 1 where it failed, 3 where it was stopped. It needs no worker. Where
the agent answers in JSON, --json has the answer's value under output.`,
		Example: `  starter result notes
  starter result notes --execution 2 --no-wait --json
  starter result notes --json | jq .output`,
	}, "starter result notes", func(ctx context.Context, s *local.Server, id string) error {
		get := s.Agents.Wait
		if noWait {
			get = s.Agents.Result
		}
		result, err := get(ctx, id, number)
		if err != nil && left(ctx, err) {
			p.sayDetached(&local.Stack{Server: s}, client.Execution{ID: id, Number: number})
			return detached("")
		}
		if err != nil {
			return err
		}
		if err := p.show(render.Result(result), p.out.Answer(result.Answer)); err != nil {
			return err
		}
		return p.reportEnding(ctx, s, result, endingNote{})
	})
	command.Flags().BoolVar(&noWait, "no-wait", false, "be refused (exit 6) where it is in progress")
	executionFlag(command, &number)
	return command
}
