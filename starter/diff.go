package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func diffCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "Show where two executions part",
		Long: `Compares two executions step by step, and shows what is different in each step
that is not the same: what it was asked, what the model said, which calls it
asked for, what came of them, and the tokens. A and B are ids of agents, of which
the newest execution is meant, or ID:EXECUTION with its number or id, or how that
begins.

Steps that a fork has from its origin are the origin's own: the first that differs
is where they part. Two executions of one agent that have no such steps in common
are compared by their own. It needs no worker. Exit 0, whether they differ or not.`,
		Example: `  starter diff notes:1 notes:2
  starter diff notes notes-anew
  starter diff notes:1 notes:2 --json | jq .equal_steps`,
		ValidArgsFunction: p.completeIDs,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			points := make([]client.Point, len(args))
			for i, arg := range args {
				points[i].ID, points[i].Execution, _ = strings.Cut(arg, ":")
				if err := client.CheckID(points[i].ID); err != nil {
					return err
				}
			}
			return p.onAgent(ctx, []string{points[0].ID}, p.machine.ConnectToLook, p.idOf, p.fromRecords(func(ctx context.Context, s *local.Stack, id string) (err error) {
				points[0].ID = id
				if points[1].ID, err = p.idOf(ctx, s, points[1].ID); err != nil {
					return err
				}
				difference, err := s.Agents.Diff(ctx, points[0], points[1])
				if err != nil {
					return err
				}
				return p.show(difference, render.Difference(p.out.Theme, difference))
			}))
		},
	}
}
