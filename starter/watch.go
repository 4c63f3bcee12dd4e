package main

import (
	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func watchCommand(p *program) *cobra.Command {
	var f local.Flags
	var number int
	var exactly bool
	command := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow an execution to its end",
		Long: `Follows an execution from its beginning to its end, as run does. It can be
started at any time and any number of times, and costs the execution nothing.

What the model writes is shown as it arrives; what it thinks as well, on a
terminal and with --json. Whoever comes in the middle gets the last 8 KiB of it.
Where an attempt failed, its text is withdrawn and that of the next one follows.
None of it is shown where a hook may rewrite answers.

With --json each event is a line; text, reasoning and text_withdrawn say of which
attempt they are. With --events each event that the execution
itself has noted is a line of JSON instead: each once, in order, the same at any
time, and without any text of users, models or tools.

Where no server is configured, what the execution needs to go on is brought up,
as run does.`,
		Example: `  starter watch notes
  starter watch notes --execution 2
  starter watch notes --json | jq -r .type
  starter watch notes --json | jq -j 'select(.type == "text").text'
  starter watch notes --events | jq -r 'select(.type == "AgentStepCompleted").usage'`,
		Args:              argument("id", "starter watch notes"),
		ValidArgsFunction: p.completeIDs,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			if err := checkID(args[0]); err != nil {
				return err
			}
			s, err := p.machine.BringUp(ctx, f)
			if err != nil {
				return err
			}
			defer s.Close()
			q := followed{stack: s, view: p.newView(args[0], s.UI(args[0], ""))}
			switch {
			case exactly:
				q.view, q.events, q.exactly = render.Blind{}, true, true
			case p.flags.json:
				q.view, q.events = render.JSONView{Out: p.out}, true
			}
			return p.follow(ctx, q, client.Execution{ID: args[0], Number: number})
		},
	}
	executionFlag(command, &number)
	command.Flags().BoolVar(&exactly, "events", false, "write the events that the execution itself has noted, one a line, in JSON")
	f.Register(command.Flags())
	return command
}
