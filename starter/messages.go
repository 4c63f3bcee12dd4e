package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/local"
	"everstep/starter/render"
)

func messagesCommand(p *program) *cobra.Command {
	return p.withAgent(&cobra.Command{
		Use:   "messages ID",
		Short: "Show an agent's transcript",
		Long: `Shows the transcript of an agent over all its executions. It needs a worker.
Messages that can no longer be read are reported as gone (exit 1), and the
others follow.`,
		Example: `  starter messages notes
  starter messages notes --json | jq -r 'select(.message.role == "user").message.parts[].text'`,
	}, "starter messages notes", func(ctx context.Context, s *local.Server, id string) error {
		return each(p, s.Agents.Messages(ctx, id), func(entry domain.Entry) error {
			return p.show(entry, render.Message(p.out.Theme, entry))
		})
	})
}
