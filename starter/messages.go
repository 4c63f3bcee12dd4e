package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"everstep/starter/local"
	"everstep/starter/render"
)

// messagesAre is a number of messages with its verb.
func messagesAre(n int, one, many string) string {
	return render.Counted(n, "message") + " " + map[bool]string{true: one, false: many}[n == 1]
}

func unsendCommand(p *program) *cobra.Command {
	command := newCommand("unsend ID [MESSAGE]", "Take a message back that was not read yet",
		`Takes a message back that waits for an execution in progress, as status shows it.
MESSAGE is its id, or how that begins; it may be left out where one waits alone.
What was read cannot be taken back.`,
		`  starter unsend notes
  starter unsend notes 3f9e1b2c`)
	command.RunE = func(command *cobra.Command, args []string) error {
		message := strings.Join(args[1:], "")
		return p.change(command.Context(), args, func(ctx context.Context, s *local.Stack, id string) error {
			unsent, err := s.Agents.Unsend(ctx, id, message)
			if err != nil {
				return err
			}
			return p.done(unsent, "took message %s back; %s of %s still wait", unsent.MessageID.String()[:8], render.Counted(unsent.Left, "message"), id)
		})
	}
	return command
}
