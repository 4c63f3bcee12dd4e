package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/local"
)

// withAgent completes a command by what it does with the agent that its argument names.
func (p *program) withAgent(
	command *cobra.Command, like string, run func(ctx context.Context, s *local.Stack, id string) error,
) *cobra.Command {
	return p.withAgentOf(p.machine.ConnectTo, p.actOn, command, like, run)
}

// reading is withAgent of a command that reads the records where no server is up, and says so.
func (p *program) reading(
	command *cobra.Command, like string, run func(ctx context.Context, s *local.Stack, id string) error,
) *cobra.Command {
	return p.readingBy(p.machine.ConnectToAsk, command, like, run)
}

// looking is reading of a command that needs no worker: the dev server that has been there is brought back for it.
func (p *program) looking(
	command *cobra.Command, like string, run func(ctx context.Context, s *local.Stack, id string) error,
) *cobra.Command {
	return p.readingBy(p.machine.ConnectToLook, command, like, run)
}

func (p *program) readingBy(
	connect func(ctx context.Context, id string) (*local.Stack, error), command *cobra.Command, like string,
	run func(ctx context.Context, s *local.Stack, id string) error,
) *cobra.Command {
	return p.withAgentOf(connect, p.idOf, command, like, func(ctx context.Context, s *local.Stack, id string) error {
		err := run(ctx, s, id)
		if !errors.Is(err, &client.Error{Class: client.Unreachable}) {
			p.sayUnreached(s)
		}
		return err
	})
}

// sayUnreached says where no server was up that the records have told.
func (p *program) sayUnreached(s *local.Stack) {
	if s.Unreached() {
		p.say("no server is up: this is what the records tell")
	}
}

func (p *program) withAgentOf(
	connect func(ctx context.Context, id string) (*local.Stack, error),
	find func(ctx context.Context, s *local.Stack, argument string) (string, error), command *cobra.Command, like string,
	run func(ctx context.Context, s *local.Stack, id string) error,
) *cobra.Command {
	command.Args, command.ValidArgsFunction = arguments(like, "id"), p.completeIDs
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := client.CheckID(args[0]); err != nil {
			return err
		}
		s, err := connect(command.Context(), args[0])
		if err != nil {
			return err
		}
		defer s.Close()
		id, err := find(command.Context(), s, args[0])
		if err != nil {
			return err
		}
		return run(command.Context(), s, id)
	}
	return command
}

// idOf is the id of the agent that an argument means, which may be the beginning of one. It is shown then.
func (p *program) idOf(ctx context.Context, s *local.Stack, argument string) (string, error) {
	id, err := s.Agents.Find(ctx, argument)
	if err == nil && id != argument {
		p.say("%s is %s", argument, id)
	}
	return id, err
}

// leastToAct is the shortest beginning of an id by which a command changes an agent.
const leastToAct = 4

// actOn is idOf for what changes the agent: a short beginning is too easily that of another one.
func (p *program) actOn(ctx context.Context, s *local.Stack, argument string) (string, error) {
	id, err := s.Agents.Find(ctx, argument)
	switch {
	case err != nil:
		return "", err
	case id != argument && len(argument) < leastToAct:
		return "", usage("id: %q is short for a command that changes an agent; write at least %d characters of %s, or all of it", argument, leastToAct, id)
	case id != argument:
		p.say("%s is %s", argument, id)
	}
	return id, nil
}
