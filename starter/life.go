package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func suspendCommand(p *program) *cobra.Command {
	o := client.SuspendOptions{By: person()}
	command := p.changing(&cobra.Command{
		Use:   "suspend ID",
		Short: "Have a session accept nothing until unsuspend",
		Long: `Has the session of a named agent accept no messages, and not go on, until
unsuspend. The execution in progress comes to its end; messages that wait stay,
and begin none. Who is refused is told since when, and why.`,
		Example: `  starter suspend notes
  starter suspend notes --reason "the data is being moved"`,
	}, func(ctx context.Context, s *local.Stack, id string) error {
		done, err := s.Agents.Suspend(ctx, id, o)
		switch {
		case err != nil:
			return err
		case !done.Changed:
			return p.done(done, "%s was suspended already", id)
		case done.Busy:
			return p.done(done, "%s accepts nothing more; the execution in progress comes to its end", id)
		}
		return p.done(done, "%s accepts nothing until `%s`", id, p.again("unsuspend", id))
	})
	command.Flags().StringVar(&o.Reason, "reason", "", "a `TEXT` for whoever is refused")
	command.Flags().StringVar(&o.By, "by", o.By, "`WHO` suspends it")
	return command
}

func unsuspendCommand(p *program) *cobra.Command {
	return p.changing(&cobra.Command{
		Use:     "unsuspend ID",
		Short:   "Have a suspended session accept messages again",
		Long:    `Ends a suspension. Messages that wait begin their executions.`,
		Example: `  starter unsuspend notes`,
	}, func(ctx context.Context, s *local.Stack, id string) error {
		done, err := s.Agents.Unsuspend(ctx, id)
		switch {
		case err != nil:
			return err
		case !done.Changed:
			return p.done(done, "%s was not suspended", id)
		}
		return p.done(done, "%s accepts messages again", id)
	})
}

func clearCommand(p *program) *cobra.Command {
	return p.changing(&cobra.Command{
		Use:   "clear ID",
		Short: "Begin the conversation of a session anew",
		Long: `Rewinds an idle session to before all messages, those that were given too: the
model sees none of them. All of it stays readable, and the session keeps what it
is and has done: its model, calls of unknown outcome, standing approvals, trusted
values, notes of tools, counts. A rewind takes it back. messages marks what was
cleared, from the records too. Of what was cleared execution_history shows the
model how it ended, and no text.`,
		Example: `  starter clear notes`,
	}, func(ctx context.Context, s *local.Stack, id string) error {
		cleared, err := s.Agents.Clear(ctx, id)
		if err != nil {
			return err
		}
		return p.done(cleared, "the model of %s sees %s no more", id, render.Counted(int64(cleared.Messages), "message"))
	})
}
