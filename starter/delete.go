package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func deleteCommand(p *program) *cobra.Command {
	var o client.DeleteOptions
	var yes bool
	command := newCommand("delete ID", "Delete everything of an agent, for good", `Deletes everything of an agent and of the sub-agents below it: the histories of
all runs, of every session that its name has had, what the workers' storage has
of its conversation and its tools, and its records. It takes the whole id, asks
on a terminal, and is refused while an execution is in progress or the session
is open. One that was cut off is completed by another.

The server has the histories. Storage and records are deleted where this
machine reaches them: those that EVERSTEP_STORAGE and EVERSTEP_RECORDS name, as
for workers, or the storage beside the dev server's state; records are below the
storage unless EVERSTEP_RECORDS names another place. Where the workers have some
that are not reached it is refused, unless --partly leaves those behind.

What remains is said: forks keep what was said before them, and the agent
whose sub-agent it was keeps its answer. Not looked at are files that export and
state have written, backups, archives and logs of the server, and what providers
and tools have kept. The dev server's files may hold some of it until the server
is next started, or has written some 4 MB more.`, `  starter delete notes
  starter delete notes --close --yes
  EVERSTEP_STORAGE=/mnt/shared/everstep starter delete notes --yes --json`, func(ctx context.Context, args []string) error {
		if err := client.CheckID(args[0]); err != nil {
			return err
		}
		return p.onAgent(ctx, nil, local.Need{ID: args[0]}, func(ctx context.Context, s *local.Stack, id string) (err error) {
			if meant, err := s.Agents.Find(ctx, id); err == nil && meant != id {
				return usage("id: there is no agent %q; if %s is meant, write the whole id: what is deleted is gone", id, meant)
			}
			if !yes && !p.interactive() {
				return usage("yes: nobody can be asked here whether to delete everything of %s; --yes says so", id)
			}
			reach, err := p.machine.Reach(ctx)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, reach.Close()) }()
			o.Storage, o.Records = reach.Storage, reach.Records
			if !yes {
				o.Confirm = func(found client.Belongings) error { return p.confirmed(ctx, found) }
			}
			done, err := s.Agents.Delete(ctx, id, o)
			switch {
			case err == nil && p.flags.json:
				return p.out.JSON(done)
			case err == nil:
				p.say("deleted %s: %s", id, deletedWords(done.Deleted))
				for _, r := range done.Remains {
					p.say("remains: %s", r.Text)
				}
			case done.Deleted != (client.Deleted{}):
				p.say("deleted so far: %s; `%s` deletes the rest", deletedWords(done.Deleted), p.again("delete", id))
			}
			return err
		})
	})
	set := command.Flags()
	set.BoolVarP(&yes, "yes", "y", false, "delete without asking")
	set.BoolVar(&o.Close, "close", false, "close the session first, if it is idle (this needs a worker)")
	set.BoolVar(&o.Partly, "partly", false, "leave behind what the workers have in a storage or records that are not reached from here")
	return command
}

// confirmed asks the person at this terminal.
func (p *program) confirmed(ctx context.Context, found client.Belongings) error {
	p.say("%s: %s; it cannot be undone", found.ID, deletedWords(client.Deleted{Runs: found.Runs, Subagents: found.Subagents, Records: found.Recorded}))
	for _, fork := range found.Forks {
		p.say("%s was forked from it, and keeps the conversation up to the fork", fork)
	}
	switch yes, err := p.saysYes(ctx, p.err.Fold(fmt.Sprintf("delete everything of %s? [y/N] ", render.OneLine(found.ID)))); {
	case err != nil:
		return err
	case !yes:
		return &exitError{code: exitRefused, text: "nothing was deleted"}
	}
	return nil
}

func deletedWords(d client.Deleted) string {
	return render.Joined(", ", render.Counted(d.Runs, "run")+" of workflows", render.Some(d.Subagents, "sub-agent"), render.Some(d.Segments, "segment"),
		render.Some(d.Artifacts, "artifact"), render.Some(d.Records, "record"))
}
