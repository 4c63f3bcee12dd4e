package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func rewindCommand(p *program) *cobra.Command {
	var to pointFlags
	var o client.RewindOptions
	var model modelFlags
	need := followable()
	command := newCommand(`rewind ID ["prompt"] --to EXECUTION`, "Have a session go on from a step of its past",
		`Has an idle session go on from a step of one of its executions, which executions
lists: its model sees what it saw then, and nothing of what was said since. With a
prompt the next execution begins at once; without one the session stands there,
and the next message begins it. A rewind to the end of a later execution takes
it back.

Nothing that was done since is undone. Calls have had their effects: those that
may have are named. Tokens and money stay spent, and what is remembered beside the
conversation stays as it is now: calls of unknown outcome, standing approvals,
notes, trusted values, the model. All stays readable; messages marks what was
taken back, from the records too (starter help operations).

It is refused while an execution is in progress, with a prompt also while the
session is suspended, and needs a server that is up and a worker. An agent without
a name is not rewound: fork it.`,
		`  starter rewind notes --to 2
  starter rewind notes --to 2 --step 3 "Try it in another way"
  starter rewind notes --to 4f1d --step 0 --wait "Another question"`, nil)
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := client.CheckID(args[0]); err != nil {
			return err
		}
		if to.at.Execution == "" {
			return usage("--to: is missing; name an execution by its number or id, as `%s` lists them", p.again("executions", args[0]))
		}
		var err error
		if len(args) > 1 {
			o.Prompt, err = p.prompt(command.Context(), args[1])
		}
		if err == nil {
			o.Model, err = model.chosen()
		}
		if err != nil {
			return err
		}
		if o.Prompt == "" && (need.Up || o.Model != nil || !o.Budget.IsZero()) {
			return usage("--wait, --model, limits: are the next execution's, which begins with the next message; give them with a prompt, or to send")
		}
		return p.onAgent(command.Context(), args, need, func(ctx context.Context, s *local.Stack, id string) error {
			x, err := s.Agents.Rewind(ctx, to.of(id), o)
			if err != nil {
				return err
			}
			p.warn(render.NotUndone(x))
			told := fmt.Sprintf("%s goes on after step %d of execution %d", x.ID, x.To.Step, x.ToNumber)
			if x.TakenBack > 0 { // else nothing was, but what a clear or an earlier rewind hid is back
				told += fmt.Sprintf("; %s taken back; `%s` undoes that", messagesAre(x.TakenBack, "is", "are"), p.again("rewind", x.ID, "--to", strconv.Itoa(x.Undo)))
			}
			switch {
			case need.Up:
				p.say("%s", told)
				return p.followNew(ctx, s, x.Execution)
			case x.Began:
				return p.done(x, "%s; execution %d has begun", told, x.Number)
			}
			return p.done(x, "%s; the next message begins execution %d", told, x.Number)
		})
	}
	set := command.Flags()
	to.register(p, command, "to", "")
	model.registerModel(command, "who answers from then on")
	p.limitFlags(set, &o.Budget)
	set.BoolVar(&need.Up, "wait", false, "follow the execution to its end, as run does")
	rawFlag(command, p)
	return command
}
