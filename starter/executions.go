package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func executionsCommand(p *program) *cobra.Command {
	var all bool
	command := p.looking(&cobra.Command{
		Use:   "executions ID",
		Short: "List the executions of an agent",
		Long: `Lists the executions of an agent, the oldest first: how each ended, its steps,
tokens, cost and time, and where it goes on from. One that a rewind has taken
back, whole or from a step on, is marked with the execution that goes on without
it; it can be read, compared and forked all the same. It reads what the server
has recorded and needs no worker. Executions whose runs the server has deleted
are reported as gone (exit 1), and the others follow.

Each session of a name counts from 1. With --all those before the open one are
listed too, as far as the server has them; NAME@RUN lists one of them.`,
		Example: `  starter executions notes
  starter executions notes --all
  starter executions notes --json | jq '.[] | {execution_number, status}'
  starter executions notes --json | jq '.[] | select(.taken_back == null)'`,
	}, func(ctx context.Context, s *local.Stack, id string) error {
		ids, err := sessionsOf(ctx, s, id)
		if err != nil {
			return err
		}
		if earlier := len(ids) - 1; !all {
			if ids = ids[earlier:]; earlier > 0 {
				p.say("%s of that name before this one; `%s` lists them too", render.Counted(int64(earlier), "session"), p.again("executions", id, "--all"))
			}
		}
		var gone error
		past := []client.Past{}
		for _, session := range ids {
			for one, err := range s.Agents.Executions(ctx, session) {
				if errors.Is(err, &client.Error{Class: client.Gone}) {
					gone = err
					p.report(err)
					continue
				}
				if err != nil {
					return err
				}
				past = append(past, one)
			}
		}
		if len(past) > 0 || p.flags.json {
			if err := p.table(past, render.Executions(past, p.now(), len(ids) > 1), ""); err != nil {
				return err
			}
			if next := render.NextOrigin(past); next != "" {
				p.say("%s", next)
			}
		}
		return reported(gone)
	})
	command.Flags().BoolVar(&all, "all", false, "list the executions of earlier sessions of the name too")
	return command
}

// sessionsOf are the ids of the sessions of a name, the oldest first and the one that is meant last.
func sessionsOf(ctx context.Context, s *local.Stack, id string) ([]string, error) {
	if domain.CheckAgentName(id) != nil { // it is a session, or an agent without a name, which has no other
		return []string{id}, nil
	}
	var ids []string
	for agent, err := range s.Agents.List(ctx, client.ListOptions{All: true, ListFilter: client.ListFilter{Agent: id}}) {
		if errors.Is(err, client.ErrUnreached) {
			break
		}
		if err != nil {
			return nil, err
		}
		if agent.ID != id {
			ids = append(ids, agent.ID)
		}
	}
	slices.Reverse(ids)
	return append(ids, id), nil
}
