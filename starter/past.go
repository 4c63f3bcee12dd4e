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

// A pointFlags names a step of an execution.
type pointFlags struct {
	step int
	at   client.Point
}

// register adds the flags; execution is that which names the execution, and unless what is meant without it.
func (f *pointFlags) register(p *program, command *cobra.Command, execution, unless string) {
	f.step = -1
	command.Flags().Var(textFlag(&f.at.Execution), execution, "of which execution: its `NUMBER`, its id, or how that begins"+unless)
	command.Flags().Var(numberFlag(&f.step, 0, 1<<31-1), "step", "after which step; 0 is before the first, without the prompt; the last that is complete unless given")
	completeWith(command, execution, p.completeExecutions)
}

// of is the point in an agent's past.
func (f *pointFlags) of(id string) client.Point {
	at := f.at
	if at.ID = id; f.step >= 0 {
		at.Step = &f.step
	}
	return at
}

func forkCommand(p *program) *cobra.Command {
	var point pointFlags
	var o client.ForkOptions
	var agent string
	var model modelFlags
	need := followable()
	command := newCommand(`fork ID "prompt"`, "Begin another agent from a step of this one", `Begins a new agent with what an agent had come to after a step of any of its
executions, running or ended, and with a prompt of its own: where neither is
named after the last one, or where a rewind has left the session. Nothing is asked
of a model again, and the agent that it comes from stays as it was.

The fork has the model, tools and settings of the agent as they are now, unless
flags say otherwise, and a budget of its own. It has no trusted values but those
of --with, and no standing approvals. Of calls whose outcome nobody knows it
knows too, and makes none for the same effect until they are resolved
for the fork itself. Other effects it may make again: it is another agent.

Where the server has the agent no more, or it was imported, its records tell
(starter help operations), and its messages are copied. They do not say which tools it
may use: the fork has those of --agent, and without it none. It has the budgets
of the agent, and what agents above that one denied it is denied to the fork too,
also with --agent.

It needs a server that is up and a worker. --wait follows the execution, and
brings them up as run does.`, `  starter fork notes "Try it in another way"
  starter fork notes --execution 2 --step 3 --model openai-chat/gpt-5 "And now?"
  starter fork notes --step 0 --id notes-anew --wait "Another question"
  starter fork imported --agent agents/notes.md "Go on with it here"`, func(ctx context.Context, args []string) error {
		if agent != "" {
			definition, err := (&startFlags{agent: agent}).definition(p)
			if err != nil {
				return err
			}
			o.Definition = &definition
		}
		var err error
		if o.Model, err = model.chosen(); err != nil {
			return err
		}
		if o.Prompt, err = p.prompt(ctx, args[1]); err != nil {
			return err
		}
		return p.onAgent(ctx, args, need, func(ctx context.Context, s *local.Stack, id string) error {
			x, err := s.Agents.Fork(ctx, point.of(id), o)
			switch {
			case err != nil:
				return err
			case need.Up:
				p.say("%s has begun, a fork of %s", x.ID, id)
				return p.followNew(ctx, s, x)
			}
			p.warn(s.MissingFor(ctx, x.ID))
			if p.flags.json {
				return p.out.JSON(x)
			}
			p.out.Printf("%s\n", x.ID)
			p.say("`%s` waits for its end", p.again("result", x.ID))
			return nil
		})
	})
	point.register(p, command, "execution", "; the newest unless given")
	set := command.Flags()
	set.Var(textFlag(&o.ID), "id", "the `NAME` of the new agent; without one it takes this prompt and no more")
	p.agentFlag(command, &agent, "the fork, or its name where it lies in ./agents or ./.everstep/agents; the origin's definition unless given")
	model.registerModel(command, "who answers in the fork")
	set.StringVar(&o.SystemPrompt, "system", "", "another system `PROMPT`")
	p.limitFlags(set, &o.Budget)
	noteFlags(set, &o.Metadata, &o.Trusted)
	set.BoolVar(&need.Up, "wait", false, "follow the execution to its end, as run does")
	rawFlag(command, p)
	return command
}

func rewindCommand(p *program) *cobra.Command {
	var to pointFlags
	var o client.RewindOptions
	var model modelFlags
	need := followable()
	command := newCommand(`rewind ID ["prompt"] --to EXECUTION`, "Have a session go on from a step of its past", `Has an idle session go on from a step of one of its executions, which executions
lists: its model sees what it saw then, and nothing of what was said since. With a
prompt the next execution begins at once; without one the session stands there,
and the next message begins it. A rewind to the end of a later execution takes
it back.

Nothing that was done since is undone. Calls have had their effects: those that
may have are named. Tokens and money stay spent, and what is remembered beside the
conversation stays as it is now: calls of unknown outcome, standing approvals,
notes, trusted values, the model. All stays readable; messages marks what was
taken back, from the records too (starter help operations).

It is refused while an execution is in progress, and needs a server that is up and
a worker. An agent without a name is not rewound: fork it.`, `  starter rewind notes --to 2
  starter rewind notes --to 2 --step 3 "Try it in another way"
  starter rewind notes --to 4f1d --step 0 --wait "Another question"`, func(ctx context.Context, args []string) error {
		if err := client.CheckID(args[0]); err != nil {
			return err
		}
		if to.at.Execution == "" {
			return usage("--to: is missing; name an execution by its number or id, as `%s` lists them", p.again("executions", args[0]))
		}
		var err error
		if len(args) > 1 {
			o.Prompt, err = p.prompt(ctx, args[1])
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
		return p.onAgent(ctx, args, need, func(ctx context.Context, s *local.Stack, id string) error {
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
	})
	set := command.Flags()
	to.register(p, command, "to", "")
	model.registerModel(command, "who answers from then on")
	p.limitFlags(set, &o.Budget)
	set.BoolVar(&need.Up, "wait", false, "follow the execution to its end, as run does")
	rawFlag(command, p)
	return command
}
