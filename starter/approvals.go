package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func approvalsCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "approvals [ID]",
		Short: "Show what waits for a person: tool calls and questions",
		Long: `Shows what waits for people, of all agents, or of one and the sub-agents below it:
tool calls that wait for somebody's word, with the exact arguments that would run,
questions that wait for an answer, and calls of which nobody knows whether they
took effect. approve and deny decide about the calls, answer answers the questions,
resolve says what became of a call. Of one agent its standing approvals are shown,
too (approve --always, revoke).`,
		Example: `  starter approvals
  starter approvals notes
  starter approvals --json | jq -r '.[].id'`,
		RunE: func(command *cobra.Command, args []string) error {
			return p.onAgent(command.Context(), args, p.machine.ConnectToLook, p.idOf, p.fromRecords(p.showWaiting))
		},
	}
}

// showWaiting shows what waits for people, of all agents, or of one with the rules by which calls run unasked.
func (p *program) showWaiting(ctx context.Context, s *local.Stack, id string) error {
	agents, rules := s.Agents.AllWaiting(ctx, id), ""
	if id != "" {
		agents = s.Agents.WaitingBelow(ctx, id)
	}
	all, err := gathered(agents)
	if err == nil && id != "" && !p.flags.json {
		var status account.Status
		status, err = s.Agents.Status(ctx, id)
		rules = render.StandingApprovals(id, status.AlwaysAllowed)
	}
	switch {
	case err != nil:
		return err
	case p.flags.json:
		return p.out.JSON(all)
	case len(all) == 0:
		p.say("nothing waits for a person")
	}
	p.out.Printf("%s", render.Waiting(all, p.now())+rules)
	return nil
}

func gathered(waiting iter.Seq2[client.WaitingCall, error]) ([]client.WaitingCall, error) {
	all := []client.WaitingCall{}
	for call, err := range waiting {
		if err != nil {
			return nil, err
		}
		all = append(all, call)
	}
	return all, nil
}

// waitsOf are the calls of an agent that wait, of a kind, whose id begins as an argument says: all where none is given.
func waitsOf(ctx context.Context, agents *client.Client, id string, kind domain.WaitKind, argument string) (calls []client.WaitingCall, _ error) {
	all, err := gathered(agents.AllWaiting(ctx, id))
	if err != nil {
		return nil, err
	}
	var others []client.WaitingCall
	for _, one := range all {
		switch {
		case !strings.HasPrefix(one.ToolExecutionID.String(), strings.ToLower(argument)) || one.Kind == domain.WaitOutcome:
		case one.Kind == kind:
			calls = append(calls, one)
		default:
			others = append(others, one)
		}
	}
	if len(calls) == 0 && len(others) > 0 {
		return nil, waitsOtherwise(render.OneLine(id), others[0])
	}
	return calls, nil
}

// waitsOtherwise refuses an answer of one kind to a call that waits for another.
func waitsOtherwise(id string, other client.WaitingCall) error {
	if other.Kind == domain.WaitQuestion {
		return &client.Error{Class: client.Refused, Message: "call: what waits is a question, and no call for somebody's word", Next: "`answer " + id + "` answers it"}
	}
	id += " " + render.ShortCall(other.ToolExecutionID)
	return &client.Error{Class: client.Refused, Message: "call: what waits is a tool call for somebody's word, and no question", Next: "`approve " + id + "` or `deny " + id + "` decides about it"}
}

// leastOfCall is the shortest beginning of a call's id by which something is decided.
const leastOfCall = 4

// checkNamed refuses the beginning of a call's id by which nobody may be meant. A whole one of which nothing waits is taken
// as it is, since somebody may have been faster.
func checkNamed(argument, what string, waiting int) (call domain.ToolExecutionID, _ error) {
	if len(argument) < leastOfCall {
		return call, usage("call: %q is short for what decides about one; give at least %d characters of its id", argument, leastOfCall)
	}
	if waiting == 0 && call.UnmarshalText([]byte(argument)) != nil {
		return call, &client.Error{Class: client.Refused, Message: "no " + what + " of a call that begins with " + render.OneLine(argument) + " waits"}
	}
	return call, nil
}

// saysYes asks the person at this terminal, and reports whether they have said yes.
func (p *program) saysYes(ctx context.Context, prompt string) (bool, error) {
	forgetTyped(p.in)
	p.err.Printf("%s", prompt)
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case line := <-linesOf(p.in):
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	}
}

// textOrFile is a flag's text, or that in the file that it names after an @.
func textOrFile(ctx context.Context, flag, given string) (string, error) {
	name, named := strings.CutPrefix(given, "@")
	if !named {
		return given, nil
	}
	text, err := readNamed(ctx, name, maxGiven)
	switch {
	case errors.Is(err, errLeft):
		return "", fmt.Errorf("%s: %w", flag, err)
	case err != nil:
		return "", usage("%s: %s", flag, err)
	}
	return string(text), nil
}

// person is who uses this command, as far as the machine knows.
func person() string {
	name, machine := "", ""
	if who, err := user.Current(); err == nil {
		name = who.Username
	}
	machine, _ = os.Hostname() // without one the name has to do
	return domain.Shorten(strings.Trim(name+"@"+machine, "@"), domain.MaxDecider)
}
