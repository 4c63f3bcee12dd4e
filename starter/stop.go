package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/local"
)

func stopCommand(p *program) *cobra.Command {
	mode := contract.AfterStep
	var within time.Duration
	var reason string
	command := p.withAgent(&cobra.Command{
		Use:   "stop ID",
		Short: "Stop the execution in progress",
		Long: `Asks the execution in progress to stop, and returns. It ends as stopped, and
its partial answer is kept.

  after_step       the step finishes, tools included
  after_inference  the inference finishes, none of its tool calls starts
  now              all that is in flight is cancelled`,
		Example: `  starter stop notes
  starter stop notes --mode now --reason "wrong folder"
  starter stop notes --within 30s`,
	}, "starter stop notes", func(ctx context.Context, s *local.Server, id string) error {
		execution, err := s.Agents.Stop(ctx, id, client.StopOptions{Mode: mode, Within: within, Reason: reason})
		if err != nil {
			return err
		}
		return p.done(execution, "asked execution %d of %s to stop (%s); `%s` waits for the end", execution.Number, execution.ID, mode, p.again("result", execution.ID))
	})
	command.Flags().Var(choiceFlag[contract.StopMode]{&mode, contract.StopModes()}, "mode", "how much may still finish")
	command.Flags().Var(durationFlag{&within}, "within", "go over to mode now after so long")
	command.Flags().StringVar(&reason, "reason", "", "a `TEXT` for whoever reads the outcome")
	p.completeWith(command, "mode", completeModes)
	return command
}
