package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
)

func pauseCommand(p *program) *cobra.Command {
	return p.pausing(&cobra.Command{
		Use:   "pause ID",
		Short: "Let nothing new start until resume",
		Long: `Pauses the execution in progress: what is under way finishes, and no further
inference or tool call starts until resume, or stop. The pause does not count in
--max-seconds; a deadline passes all the same.`,
		Example: `  starter pause notes`,
	}, (*client.Client).Pause, "is paused", "was paused already")
}

func resumeCommand(p *program) *cobra.Command {
	return p.pausing(&cobra.Command{
		Use:     "resume ID",
		Short:   "End a pause",
		Long:    `Lets an execution go on that was paused.`,
		Example: `  starter resume notes`,
	}, (*client.Client).Resume, "goes on", "was not paused")
}

// pausing completes a command that changes whether an execution is paused.
func (p *program) pausing(
	command *cobra.Command, change func(*client.Client, context.Context, string) (client.Pausing, error), done, before string,
) *cobra.Command {
	return p.withAgent(command, "starter "+command.Name()+" notes", func(ctx context.Context, s *local.Server, id string) error {
		paused, err := change(s.Agents, ctx, id)
		if err != nil {
			return err
		}
		state := done
		if !paused.Changed {
			state = before
		}
		return p.done(paused, "execution %d of %s %s", paused.Number, paused.ID, state)
	})
}
