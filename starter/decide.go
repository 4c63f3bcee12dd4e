package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

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
	}, domain.Approved)
}

func denyCommand(p *program) *cobra.Command {
	return p.deciding(&cobra.Command{
		Use:   "deny ID [CALL]",
		Short: "Do not let a tool call run that waits for a person",
		Long: `Does not let a tool call run that waits for somebody's word. The model is told,
with the reason, and goes on. CALL, its id or how that begins, may be left out
where one call alone waits.`,
		Example: `  starter deny notes
  starter deny notes 3f9e1b2c --reason "not before the invoice is paid"`,
	}, domain.WasDenied)
}

// deciding completes a command that says a person's word about a call.
func (p *program) deciding(command *cobra.Command, verdict domain.Verdict) *cobra.Command {
	word := client.Word{Verdict: verdict, By: person()}
	command.RunE = func(command *cobra.Command, args []string) error {
		if command.Flags().Changed("edit") {
			var err error
			if word.Edit, err = textOrFile(command.Context(), "edit", word.Edit); err != nil {
				return err
			}
			if word.Edit == "" { // it would run as it was
				return usage("edit: is empty; give the arguments that are to run as a JSON object")
			}
		}
		return p.change(command.Context(), args, func(ctx context.Context, s *local.Stack, id string) error {
			named, argument := len(args) > 1, strings.Join(args[1:], "")
			calls, err := waitsOf(ctx, s.Agents, id, domain.WaitApproval, argument)
			if err == nil && named {
				if len(calls) > 1 && len(argument) >= leastOfCall {
					return usage("call: several that wait begin with %q; give more of the id", argument)
				}
				word.Call, err = checkNamed(argument, "approval", len(calls))
			}
			if err != nil {
				return err
			}
			if len(calls) == 1 { // else the workflow knows better
				word.Call, word.Digest = calls[0].ToolExecutionID, calls[0].Digest
				if verdict == domain.Approved {
					if yes, err := p.seen(ctx, id, calls[0], named); err != nil || !yes {
						return err
					}
				}
			}
			decided, err := s.Agents.Answer(ctx, id, word)
			if err != nil {
				return err
			}
			if decided.Standing != nil {
				p.say("from now on such calls run without asking, until `%s`", p.again("revoke", render.OneLine(id), render.ShortCall(decided.Standing.ID)))
			}
			return p.done(decided, "%s the call of %s in step %d of %s", verdict, render.OneLine(decided.Wait.Tool), decided.Wait.Step, id)
		})
	}
	if verdict == domain.Approved {
		command.Flags().StringVar(&word.Edit, "edit", "", "arguments that run instead: a `JSON` object, or @FILE that holds it")
		command.Flags().BoolVar(&word.Always, "always", false, "let calls of the tool with exactly these arguments run from now on")
	}
	command.Flags().StringVar(&word.Reason, "reason", "", "a `TEXT` that is recorded; of a call that is denied the model reads it, too")
	command.Flags().StringVar(&word.By, "by", word.By, "`WHO` decides")
	return command
}

// seen reports whether the person has seen the call that they let run: they have named it, or are shown it and say yes.
func (p *program) seen(ctx context.Context, id string, call client.WaitingCall, named bool) (bool, error) {
	agent, short := render.OneLine(id), render.ShortCall(call.ToolExecutionID)
	switch {
	case !seeable(call):
		return false, &client.Error{Class: client.Refused, Message: "what is shown of call " + short + " is not what would run; look at it again with `" + p.again("approvals", agent) + "`"}
	case named:
		return true, nil
	case !p.interactive():
		return false, usage("call: is missing, so nobody can have seen what would run; %s waits: `%s` shows it, and `%s` lets it run",
			render.OneLine(call.Tool), p.again("approvals", agent), p.again("approve", agent, short))
	}
	p.err.Printf("%s", render.Waiting([]client.WaitingCall{call}, p.now()))
	if cut := p.notWhole(id, call); cut != "" {
		return false, &client.Error{Class: client.Refused, Message: cut}
	}
	yes, err := p.saysYes(ctx, "y runs it, all else leaves it waiting: ")
	if err == nil && !yes {
		p.say("it waits still")
	}
	return yes, err
}

// seeable reports whether a person can see what a call that waits for their word would run. It may be shown cut.
func seeable(call client.WaitingCall) bool {
	return call.Kind != domain.WaitApproval || call.Bytes > 0 || call.Whole()
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
