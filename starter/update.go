package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func updateCommand(p *program) *cobra.Command {
	var asked startFlags
	var options client.UpdateOptions
	command := p.changing("update ID", "Give a session another definition", `Gives the session of a named agent another definition, from its next execution
on: one in progress goes on as it began. With --agent all of the file takes the
place of what the session has, with flags over it; without it, what is given by
flags does, and the rest stays: --max-steps leaves the other limits as they are.
Who has changed it, when and why is recorded: status shows it, also while it waits
for the next execution, and explain of the first execution that has it. The tools'
schemas, prices and windows follow.`, `  starter update notes --agent agents/notes.md --reason "renamed a tool"
  starter update notes --system "Answer in one sentence." --max-steps 5
  starter update notes --model openai/gpt-5-mini`, func(ctx context.Context, s *local.Stack, id string) error {
		d, err := asked.overridden(p)
		if err != nil {
			return err
		}
		d.Budget = d.Budget.CappedBy(asked.budget)
		options.Definition = d
		switch { // with a file all of the definition is meant, else what is given
		case asked.agent == "":
			if options.Fields = d.Given(); len(options.Fields) == 0 {
				return usage("nothing is given to change; give --agent FILE, --system, --tool, --model or a limit such as --max-steps")
			}
		case d.Model.Provider == "":
			return usage("model: is missing; the file names none, so name one with --model")
		}
		if err := p.machine.CheckLocally(ctx, local.Flags{}, options.Definition, options.Definition.Budget); err != nil && s.Own(ctx, id) {
			return err
		}
		ours := s.Ours(ctx, id)
		for _, tool := range options.Definition.Tools {
			if !ours && !slices.Contains(local.BuiltinNames(), tool) { // what nobody has fails the next execution
				p.warn(fmt.Sprintf("tool: %s is not built in; where the workers of %s have none of that name, its next execution fails", domain.Shorten(tool, 100), id))
			}
		}
		updated, err := s.Agents.Update(ctx, id, options)
		if err != nil {
			return err
		}
		if len(updated.Fields) == 0 {
			return p.done(updated, "nothing differs: %s has that definition", id)
		}
		return p.done(updated, "%s has another definition %s", id, render.Change(updated.Change))
	})
	asked.registerDefinition(p, command)
	saidFlags(command, &options.By, "changes it", &options.Reason, "that is recorded")
	return command
}

// overridden is what the agent's file says, with the flags over it, but for limits.
func (f *startFlags) overridden(p *program) (d domain.Definition, err error) {
	if d, err = f.definition(p); err == nil {
		d.Model, err = f.over(d.Model)
	}
	return d, err
}
