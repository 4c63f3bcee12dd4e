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
	"everstep/starter/client"
	"everstep/starter/render"
)

func approvalsCommand(p *program) *cobra.Command {
	command := &cobra.Command{
		Use:   "approvals [ID]",
		Short: "Show what waits for a person: tool calls and questions",
		Long: `Shows what waits for people, of all agents, or of one and the sub-agents below it:
tool calls that wait for somebody's word, with the exact arguments that would run, and questions that wait
for an answer. approve and deny decide about the calls, answer answers the
questions. Of one agent its standing approvals are shown, too (approve --always,
revoke).`,
		Example: `  starter approvals
  starter approvals notes
  starter approvals --json | jq -r '.[].id'`,
		Args:              arguments("starter approvals notes", "[id]"),
		ValidArgsFunction: p.completeIDs,
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		id, ctx := "", command.Context()
		if len(args) > 0 {
			id = args[0]
			if err := client.CheckID(id); err != nil {
				return err
			}
		}
		s, err := p.machine.ConnectToLook(ctx, id)
		if err != nil {
			return err
		}
		defer s.Close()
		if id != "" {
			if id, err = p.idOf(ctx, s, id); err != nil {
				return err
			}
		}
		agents := s.Agents.AllWaiting(ctx, id)
		if id != "" {
			agents = s.Agents.WaitingBelow(ctx, id)
		}
		all, err := gathered(agents)
		if err == nil {
			p.sayUnreached(s)
		}
		switch {
		case err != nil:
			return err
		case p.flags.json:
			return p.out.JSON(all.listed())
		case len(all.calls)+len(all.questions) == 0:
			p.say("nothing waits for a person")
		}
		text := render.Waiting(all.calls, p.now()) + render.Questions(all.questions, p.now())
		if id != "" {
			status, err := s.Agents.Status(ctx, id)
			if err != nil {
				return err
			}
			text += render.StandingApprovals(id, status.AlwaysAllowed)
		}
		p.out.Printf("%s", text)
		return nil
	}
	return command
}

// An allWaiting is what waits for people.
type allWaiting struct {
	calls     []client.WaitingCall
	questions []client.WaitingQuestion
}

func waitingOf(ctx context.Context, agents *client.Client, id string) (all allWaiting, _ error) {
	return gathered(agents.AllWaiting(ctx, id))
}

func gathered(agents iter.Seq2[client.AgentWaits, error]) (all allWaiting, _ error) {
	for agent, err := range agents {
		if err != nil {
			return all, err
		}
		for _, call := range agent.Approvals {
			all.calls = append(all.calls, client.WaitingCall{ID: agent.ID, PendingApproval: call})
		}
		for _, question := range agent.Questions {
			all.questions = append(all.questions, client.WaitingQuestion{ID: agent.ID, PendingQuestion: question})
		}
	}
	return all, nil
}

// listed is one list of both, each with its kind.
func (w allWaiting) listed() []any {
	type approval struct {
		Kind string `json:"kind"`
		client.WaitingCall
	}
	type question struct {
		Kind string `json:"kind"`
		client.WaitingQuestion
	}
	list := []any{}
	for _, call := range w.calls {
		list = append(list, approval{"approval", call})
	}
	for _, asked := range w.questions {
		list = append(list, question{"question", asked})
	}
	return list
}

// callsOf are the calls that wait which an argument means, all where none is given. Where none waits any more call is the
// one that is meant.
func (w allWaiting) callsOf(id string, named bool, argument string) (calls []client.WaitingCall, call domain.ToolExecutionID, _ error) {
	calls, questions := beginning(w.calls, argument), beginning(w.questions, argument)
	if id = render.OneLine(id); len(calls) == 0 && len(questions) > 0 {
		return nil, call, &client.Error{Class: client.Refused, Message: "call: what waits is a question, and no call for somebody's word", Next: "`answer " + id + "` answers it"}
	}
	if !named {
		return calls, call, nil
	}
	if len(calls) > 1 && len(argument) >= leastOfCall {
		return nil, call, usage("call: several that wait begin with %q; give more of the id", argument)
	}
	call, err := checkNamed(argument, "approval", len(calls))
	return calls, call, err
}

// questionsOf are the questions that wait which an argument means, all where none is given. Where none waits any more
// call is the one that is meant.
func (w allWaiting) questionsOf(id, argument string) (questions []client.WaitingQuestion, call domain.ToolExecutionID, _ error) {
	calls, questions := beginning(w.calls, argument), beginning(w.questions, argument)
	if id = render.OneLine(id); len(questions) == 0 && len(calls) > 0 {
		id += " " + render.ShortCall(calls[0].ToolExecutionID)
		return nil, call, &client.Error{Class: client.Refused, Message: "call: what waits is a tool call for somebody's word, and no question", Next: "`approve " + id + "` or `deny " + id + "` decides about it"}
	}
	if argument == "" {
		return questions, call, nil
	}
	call, err := checkNamed(argument, "question", len(questions))
	return questions, call, err
}

// beginning is what waits of calls whose id begins so.
func beginning[W interface{ Pending() domain.PendingCall }](waiting []W, id string) []W {
	return slices.DeleteFunc(slices.Clone(waiting), func(one W) bool {
		return !strings.HasPrefix(one.Pending().ToolExecutionID.String(), strings.ToLower(id))
	})
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
