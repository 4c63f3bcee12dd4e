package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

// sent says what has become of a message.
func (p *program) sent(x client.Execution, queued bool) error {
	switch short := x.Waits.String()[:8]; {
	case x.Waits.IsZero():
		return p.done(x, "execution %d of %s has begun", x.Number, x.ID)
	case queued:
		return p.done(x, "message %s waits until execution %d of %s has ended; `%s` takes it back", short, x.Number, x.ID, p.again("unsend", x.ID, short))
	default:
		return p.done(x, "message %s waits for the next step of execution %d of %s; `%s` takes it back", short, x.Number, x.ID, p.again("unsend", x.ID, short))
	}
}

// countedAre is a number with its noun and verb.
func countedAre(n int, noun, one, many string) string {
	return render.Counted(n, noun) + " " + map[bool]string{true: one, false: many}[n == 1]
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
