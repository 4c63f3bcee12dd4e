package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func revokeCommand(p *program) *cobra.Command {
	options := client.RevokeOptions{By: person()}
	command := &cobra.Command{
		Use:   "revoke ID RULE",
		Short: "Take back what approve --always has allowed",
		Long: `Takes a standing approval of a session back: people are asked again about the
calls that it let run. One that has begun goes on. RULE is its id, or how that
begins, as status and approvals show it. Who took it back, when and why is
recorded.`,
		Example: `  starter revoke notes 3f9e1b2c
  starter revoke notes 3f9e1b2c --reason "the contract has ended"`,
		RunE: func(command *cobra.Command, args []string) error {
			options.Rule = args[1]
			return p.change(command.Context(), args, func(ctx context.Context, s *local.Stack, id string) error {
				revoked, err := s.Agents.Revoke(ctx, id, options)
				if err != nil {
					return err
				}
				return p.done(revoked, "people are asked again about such calls of %s: %s", id, render.StandingApproval(revoked.Standing))
			})
		},
	}
	command.Flags().StringVar(&options.Reason, "reason", "", "a `TEXT` that is recorded")
	command.Flags().StringVar(&options.By, "by", options.By, "`WHO` takes it back")
	return command
}
