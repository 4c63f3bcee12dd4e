package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
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
			if !p.flags.json {
				p.say("`%s` waits for its end", p.again("result", x.ID))
			}
			return p.show(x, x.ID+"\n")
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
