package main

import (
	"context"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
)

// An agentWork is what a command does with the agent that its argument names, or the schedule.
type agentWork func(ctx context.Context, s *local.Stack, id string) error

// looks is the need of a command that needs no worker. The dev server that has been there is brought back for it; where no server
// is up, the records are read.
func looks() local.Need { return local.Need{Back: true, Reads: true} }

// withAgent is newCommand of one that does something with the agent that its argument names. Flags may change the need.
func (p *program) withAgent(need *local.Need, use, short, long, example string, do agentWork) *cobra.Command {
	return newCommand(use, short, long, example, func(ctx context.Context, args []string) error { return p.onAgent(ctx, args, *need, do) })
}

// leastToAct is the shortest beginning of an id by which a command changes an agent: a shorter one is too easily that of another.
const leastToAct = 4

// onAgent does something with the agent that the first argument means. Without one it is that which the need names, by its whole id
// that was checked, or none. What only looks takes any beginning of an id. Where the records have told, since no server was up, that is said.
func (p *program) onAgent(ctx context.Context, args []string, need local.Need, do agentWork) error {
	if len(args) > 0 {
		need.ID = args[0]
		if err := client.CheckID(need.ID); err != nil {
			return err
		}
	}
	s, err := p.machine.Connect(ctx, need)
	if err != nil {
		return err
	}
	defer s.Close()
	id := need.ID
	if len(args) > 0 {
		if id, err = p.idOf(ctx, s, need.ID); err != nil {
			return err
		}
		if looks := need.Back || need.Reads; !looks && id != need.ID && len(need.ID) < leastToAct {
			return usage("id: %q is short for a command that changes an agent; write at least %d characters of %s, or all of it", need.ID, leastToAct, id)
		}
	}
	err = do(ctx, s, id)
	if s.Unreached && !client.Is(err, client.Unreachable) {
		p.say("no server is up: this is what the records tell")
	}
	return err
}

// changing is withAgent of a command that changes it.
func (p *program) changing(use, short, long, example string, do agentWork) *cobra.Command {
	return p.withAgent(&local.Need{}, use, short, long, example, do)
}

// change is onAgent for what changes it.
func (p *program) change(ctx context.Context, args []string, do agentWork) error {
	return p.onAgent(ctx, args, local.Need{}, do)
}

// looking is withAgent of a command that only looks.
func (p *program) looking(use, short, long, example string, do agentWork) *cobra.Command {
	return p.withAgent(new(looks()), use, short, long, example, do)
}

// idOf is the id of the agent that an argument means, which may be the beginning of one. It is shown then.
func (p *program) idOf(ctx context.Context, s *local.Stack, argument string) (string, error) {
	id, err := s.Agents.Find(ctx, argument)
	if err == nil && id != argument {
		p.say("%s is %s", argument, id)
	}
	return id, err
}
