package main

import (
	"context"

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

func unread(messages int) string {
	if messages == 1 {
		return "1 message was"
	}
	return render.Counted(int64(messages), "message") + " were"
}

// followRead follows the execution that a message joins or, where it is to have one of its own, that one.
func (p *program) followRead(ctx context.Context, s *local.Stack, x client.Execution, own bool) error {
	if own {
		var err error
		if x, err = s.Agents.Reads(ctx, x); err != nil {
			return err
		}
	}
	return p.followNew(ctx, s, x)
}

func unsendCommand(p *program) *cobra.Command {
	command := &cobra.Command{
		Use:   "unsend ID [MESSAGE]",
		Short: "Take a message back that was not read yet",
		Long: `Takes a message back that waits for an execution in progress, as status shows it.
MESSAGE is its id, or how that begins; it may be left out where one waits alone.
What was read cannot be taken back.`,
		Example: `  starter unsend notes
  starter unsend notes 3f9e1b2c`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: p.completeIDs,
		RunE: func(command *cobra.Command, args []string) error {
			if err := client.CheckID(args[0]); err != nil {
				return err
			}
			ctx := command.Context()
			s, err := p.machine.ConnectTo(ctx, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			if args[0], err = p.actOn(ctx, s, args[0]); err != nil {
				return err
			}
			p.warn(s.MissingFor(ctx, args[0]))
			message := ""
			if len(args) > 1 {
				message = args[1]
			}
			unsent, err := s.Agents.Unsend(ctx, args[0], message)
			if err != nil {
				return err
			}
			return p.done(unsent, "took message %s back; %s of %s still wait", unsent.MessageID.String()[:8], render.Counted(int64(unsent.Left), "message"), args[0])
		},
	}
	return command
}
