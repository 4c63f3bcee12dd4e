package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/starter/local"
	"everstep/starter/render"
)

func statusCommand(p *program) *cobra.Command {
	return p.withAgent(&cobra.Command{
		Use:   "status ID",
		Short: "Show what an agent is doing",
		Long: `Shows what an agent is doing now, what it has used, and what its budget leaves.
Where no worker is up, it shows what the server knows, and says so.`,
		Example: `  starter status notes
  starter status notes --json | jq -r .status`,
	}, "starter status notes", func(ctx context.Context, s *local.Server, id string) error {
		status, err := s.Agents.Status(ctx, id)
		if err != nil {
			return err
		}
		return p.show(render.Status(status), render.StatusText(p.out.Theme, id, status, p.now()))
	})
}
