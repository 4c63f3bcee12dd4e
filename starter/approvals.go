package main

import (
	"context"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func approvalsCommand(p *program) *cobra.Command {
	command := &cobra.Command{
		Use:   "approvals [ID]",
		Short: "Show what waits for a person: tool calls and questions",
		Long: `Shows what waits for people, of all agents or of one: tool calls that wait for
somebody's word, with the exact arguments that would run, and questions that wait
for an answer. approve and deny decide about the calls, answer answers the
questions. Of one agent its standing approvals are shown, too (approve --always,
revoke).`,
		Example: `  starter approvals
  starter approvals notes
  starter approvals --json | jq -r '.[].id'`,
		Args:              cobra.MaximumNArgs(1),
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
		all, err := waitingOf(ctx, s, id)
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
			text += render.StandingApprovals(id, status.StandingApprovals)
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

func waitingOf(ctx context.Context, s *local.Stack, id string) (all allWaiting, _ error) {
	for agent, err := range s.Agents.AllWaiting(ctx, id) {
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

func waitingCalls(ctx context.Context, s *local.Stack, id string) ([]client.WaitingCall, error) {
	calls := []client.WaitingCall{}
	for call, err := range s.Agents.Waiting(ctx, id) {
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

func approveCommand(p *program) *cobra.Command {
	return p.deciding(&cobra.Command{
		Use:   "approve ID [CALL]",
		Short: "Let a tool call run that waits for a person",
		Long: `Lets a tool call run that waits for somebody's word: once, and with exactly the
arguments that approvals shows. CALL is its id or how that begins. On a terminal
it may be left out where one call alone waits: it is shown, and you are asked. Who
approved it, when and why is recorded: explain shows it.

With --always calls of that tool with exactly these arguments run from now on
without asking, in all executions of the session, until revoke takes that back.

With --edit the call runs with arguments of your own, exactly as you give them.
They have to fit the tool, and no rule may deny the call with them; else it waits
as it was. The model is told, and reads them with the result.`,
		Example: `  starter approve notes
  starter approve notes 3f9e1b2c --reason "checked with finance"
  starter approve notes 3f9e1b2c --always
  starter approve notes 3f9e1b2c --edit '{"amount": 5}'
  starter approve notes 3f9e1b2c --edit @arguments.json`,
	}, "starter approve notes", (*client.Client).Approve, approved)
}

// approved is what has become of a call that somebody let run.
const approved = "approved"

func denyCommand(p *program) *cobra.Command {
	return p.deciding(&cobra.Command{
		Use:   "deny ID [CALL]",
		Short: "Do not let a tool call run that waits for a person",
		Long: `Does not let a tool call run that waits for somebody's word. The model is told,
with the reason, and goes on. CALL, its id or how that begins, may be left out
where one call alone waits.`,
		Example: `  starter deny notes
  starter deny notes 3f9e1b2c --reason "not before the invoice is paid"`,
	}, "starter deny notes", (*client.Client).Deny, "denied")
}

// deciding completes a command that says a person's word about a call.
func (p *program) deciding(
	command *cobra.Command, like string, decide func(*client.Client, context.Context, string, client.Word) (client.Decision, error), done string,
) *cobra.Command {
	word := client.Word{By: person()}
	command.Args = cobra.RangeArgs(1, 2)
	command.ValidArgsFunction = p.completeIDs
	command.RunE = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("id: is missing; `%s` is an example", like)
		}
		if err := client.CheckID(args[0]); err != nil {
			return err
		}
		if command.Flags().Changed("edit") {
			edit, err := readEdit(word.Edit)
			if err != nil {
				return err
			}
			word.Edit = edit
		}
		ctx := command.Context()
		s, err := p.machine.ConnectTo(ctx, args[0])
		if err != nil {
			return err
		}
		defer s.Close()
		if args[0], err = p.actOn(ctx, s, args[0]); err != nil {
			return err
		}
		p.warn(s.MissingFor(ctx, args[0]))
		calls, err := waitingCalls(ctx, s, args[0])
		if err != nil {
			return err
		}
		if err := p.otherwise(ctx, s, args[0], strings.Join(args[1:], ""), false); err != nil {
			return err
		}
		if word.Call, word.Digest, err = chosenCall(args, calls); err != nil {
			return err
		}
		if done == approved {
			if yes, err := p.seen(ctx, args, word.Call, calls); err != nil || !yes {
				return err
			}
		}
		decided, err := decide(s.Agents, ctx, args[0], word)
		if err != nil {
			return err
		}
		switch {
		case decided.Standing != nil:
			p.say("from now on such calls run without asking, until `%s`", p.again("revoke", render.OneLine(args[0]), render.ShortCall(decided.Standing.ID)))
		case word.Always:
			p.warn("the call was approved this once alone: the worker that took the word knows no --always")
		}
		return p.done(decided, "%s the call of %s in step %d of %s", done, render.OneLine(decided.Tool), decided.Step, args[0])
	}
	if done == approved {
		command.Flags().StringVar(&word.Edit, "edit", "", "arguments that run instead: a `JSON` object, or @FILE that holds it")
		command.Flags().BoolVar(&word.Always, "always", false, "let calls of the tool with exactly these arguments run from now on")
	}
	command.Flags().StringVar(&word.Reason, "reason", "", "a `TEXT` that is recorded; of a call that is denied the model reads it, too")
	command.Flags().StringVar(&word.By, "by", word.By, "`WHO` decides")
	return command
}

// chosenCall is the call that the arguments mean among those that wait. What the workflow knows better it says itself.
func chosenCall(args []string, calls []client.WaitingCall) (call domain.ToolExecutionID, digest domain.Digest, _ error) {
	found := calls
	if len(args) > 1 {
		var err error
		if found, err = calledSo(calls, "approval", args[1], &call); err != nil {
			return call, digest, err
		}
		if len(found) > 1 {
			return call, digest, usage("call: several that wait begin with %q; give more of the id", args[1])
		}
	}
	if len(found) == 1 {
		return found[0].ToolExecutionID, found[0].Digest, nil
	}
	return call, digest, nil
}

// seen reports whether the person has seen the call that they let run: they have named it, or are shown it and say yes.
func (p *program) seen(ctx context.Context, args []string, id domain.ToolExecutionID, calls []client.WaitingCall) (bool, error) {
	at := slices.IndexFunc(calls, func(c client.WaitingCall) bool { return c.ToolExecutionID == id })
	if at < 0 {
		return true, nil // the workflow says why there is none
	}
	call, agent := calls[at], render.OneLine(args[0])
	switch {
	case !call.Known():
		return false, &client.Error{Class: client.Refused, Message: "a hook has changed what call " + render.ShortCall(id) +
			" would run, which a worker alone knows; start one, and look at it again with `" + p.again("approvals", agent) + "`"}
	case len(args) > 1:
		return true, nil
	case !p.interactive():
		return false, usage("call: is missing, so nobody can have seen what would run; %s waits: `%s` shows it, and `%s` lets it run",
			render.OneLine(call.Tool), p.again("approvals", agent), p.again("approve", agent, render.ShortCall(id)))
	}
	p.err.Printf("%s", render.Waiting([]client.WaitingCall{call}, p.now()))
	if cut := p.notWhole(args[0], call); cut != "" {
		return false, &client.Error{Class: client.Refused, Message: cut}
	}
	forgetTyped(p.in)
	p.err.Printf("y runs it, all else leaves it waiting: ")
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case line := <-linesOf(p.in):
		yes := slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line)))
		if !yes {
			p.say("it waits still")
		}
		return yes, nil
	}
}

// notWhole says why a call that is shown cut is not approved by a mere yes, and how it is; empty: it is whole.
func (p *program) notWhole(id string, call client.WaitingCall) string {
	if call.Bytes == 0 {
		return ""
	}
	id = render.OneLine(id)
	return "only a part of the arguments is shown; `" + p.again("messages", id) + "` shows all, and `" +
		p.again("approve", id, render.ShortCall(call.ToolExecutionID)) + "` lets the call run"
}

// readEdit are the arguments that are given, or those in the file that is named. Without any the call would run as it was.
func readEdit(given string) (string, error) {
	if name, named := strings.CutPrefix(given, "@"); named {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", usage("edit: %s", err)
		}
		given = string(text)
	}
	if given == "" {
		return "", usage("edit: is empty; give the arguments that are to run as a JSON object")
	}
	return given, nil
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
