package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/starter/local"
	"everstep/starter/render"
)

func closeCommand(p *program) *cobra.Command {
	return p.withAgent(&cobra.Command{
		Use:   "close ID",
		Short: "End an idle session",
		Long: `Ends the session of a named agent, so that it takes no more messages. What it
did stays readable. It is refused while an execution is in progress.`,
		Example: `  starter close notes`,
	}, "starter close notes", func(ctx context.Context, s *local.Server, id string) error {
		executions, err := s.Agents.Close(ctx, id)
		if err != nil {
			return err
		}
		return p.done(closedSession{ID: id, Executions: executions}, "closed %s after %s", id, render.Counted(int64(executions), "execution"))
	})
}

// closedSession is what close says in JSON.
type closedSession struct {
	ID         string `json:"id"`
	Executions int    `json:"executions"`
}
