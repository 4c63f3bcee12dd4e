package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func resolveCommand(p *program) *cobra.Command {
	var done, notDone bool
	var options client.ResolveOptions
	command := &cobra.Command{
		Use:   "resolve ID CALL",
		Short: "Say what a call of unknown outcome really did",
		Long: `Settles a tool call of which nobody knows whether it took effect: its worker was
lost in it, or its tool could not tell. Look at the other side first. Until it is
settled the agent does not make the same call again; then its model is told. Who
settles it, when, and the reason are recorded, and explain shows them. An agent
without a name may have ended: if it goes on, with extend, its model is told.

CALL is the call's id as status and explain show it, or the beginning of it.
list --unknown names the agents that have such calls.`,
		Example: `  starter resolve notes 3f2a --done --result "receipt 4711" --reason "journal"
  starter resolve notes 3f2a --not-done --reason "the bank has made it void"`,
		RunE: func(command *cobra.Command, args []string) error {
			if options.Verdict = domain.VerdictNotDone; done {
				options.Verdict = domain.VerdictDone
			}
			options.Call = args[1]
			return p.change(command.Context(), args, func(ctx context.Context, s *local.Stack, id string) error {
				settled, err := s.Agents.Resolve(ctx, id, options)
				if err != nil {
					return err
				}
				return p.done(settled, "the call of %s in step %d of execution %d is settled as %s; %s of %s left unsettled",
					render.OneLine(settled.Wait.Tool), settled.Wait.Step, settled.Wait.Execution, settled.Wait.Verdict(),
					render.Counted(int64(settled.Unsettled), "call"), settled.ID)
			})
		},
	}
	set := command.Flags()
	set.BoolVar(&done, "done", false, "it took effect")
	set.BoolVar(&notDone, "not-done", false, "it did not, and cannot any more")
	set.StringVar(&options.Result, "result", "", "the `TEXT` that it would have answered, for the model")
	set.StringVar(&options.Reason, "reason", "", "a `TEXT` that says how you know")
	command.MarkFlagsMutuallyExclusive("done", "not-done")
	command.MarkFlagsOneRequired("done", "not-done")
	_ = command.MarkFlagRequired("reason") // it is defined above
	return command
}
