package main

import "github.com/spf13/cobra"

func closeCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "close ID",
		Short: "End an idle session",
		Long: `Ends the session of a named agent, so that it takes no more messages. What it
did stays readable. It is refused while an execution is in progress.`,
		Example:           `  starter close notes`,
		Args:              argument("id", "starter close notes"),
		ValidArgsFunction: p.completeIDs,
		RunE: func(command *cobra.Command, args []string) error {
			if err := checkID(args[0]); err != nil {
				return err
			}
			s, err := p.connect(command.Context(), "")
			if err != nil {
				return err
			}
			defer s.close()
			executions, err := s.agents.Close(command.Context(), args[0])
			if err != nil {
				return err
			}
			if p.flags.json {
				return p.json(closed{ID: args[0], Executions: executions})
			}
			p.say("closed %s after %s", args[0], counted(int64(executions), "execution"))
			return nil
		},
	}
}

// closed is what close says in JSON.
type closed struct {
	ID         string `json:"id"`
	Executions int    `json:"executions"`
}
