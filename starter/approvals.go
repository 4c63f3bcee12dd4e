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
	"everstep/starter/local"
	"everstep/starter/render"
)

func approvalsCommand(p *program) *cobra.Command {
	long := `Shows what waits for people, of all agents, or of one and the sub-agents below it,
with the exact arguments that would run, and which commands answer it:
`
	for _, rule := range domain.WaitRules() {
		long += fmt.Sprintf("\n  %-9s %s: %s", rule.Kind, rule.Cause, strings.Join(rule.Commands(), ", "))
	}
	return newCommand("approvals [ID]", "Show what waits for a person: tool calls and questions", long+"\n\nOf one agent its standing approvals are shown, too (approve --always, revoke).", `  starter approvals
  starter approvals notes
  starter approvals --json | jq -r '.[].id'`, func(ctx context.Context, args []string) error {
		return p.onAgent(ctx, args, local.Need{Back: true, Reads: len(args) > 0}, p.showWaiting)
	})
}

// showWaiting shows what waits for people, of all agents, or of one with the rules by which calls run unasked.
func (p *program) showWaiting(ctx context.Context, s *local.Stack, id string) error {
	waiting, rules := s.Agents.AllWaiting(ctx, id), ""
	if id != "" {
		waiting = s.Agents.WaitingBelow(ctx, id)
	}
	all, err := gathered(waiting)
	if err != nil {
		return err
	}
	if p.flags.json {
		return p.out.JSON(all)
	}
	if id != "" {
		status, err := s.Agents.Status(ctx, id)
		if err != nil {
			return err
		}
		if status.TakesCommands() { // else they let nothing run any more
			rules = render.StandingApprovals(id, status.AlwaysAllowed)
		}
	}
	if len(all) == 0 {
		p.say("nothing waits for a person")
	}
	p.out.Printf("%s", render.Waiting(all, p.now())+rules)
	return nil
}

// gathered are all that a list yields, unless that ends in an error.
func gathered[T any](list iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for one, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// leastOfCall is the shortest beginning of a call's id by which something is decided.
const leastOfCall = 4

// waitOf is the call of an agent, not of its sub-agents, that a verdict answers and whose id begins as a person has typed; nothing
// typed: the only one. It is nil where none waits: a whole id is taken as it is, since somebody may have been faster. Where only others
// wait, the error names the commands that answer them.
func waitOf(ctx context.Context, agents *client.Client, id string, verdict domain.Verdict, typed string) (call *client.WaitingCall, named domain.ToolExecutionID, _ error) {
	if typed != "" && len(typed) < leastOfCall {
		return nil, named, usage("call: %q is short for what decides about one; give at least %d characters of its id", typed, leastOfCall)
	}
	all, err := gathered(agents.AllWaiting(ctx, id))
	if err != nil {
		return nil, named, err
	}
	waiting, other := 0, (*client.WaitingCall)(nil)
	for _, one := range all {
		rule := one.Kind.Rule()
		_, taken := rule.Takes(verdict)
		switch {
		case !strings.HasPrefix(one.ToolExecutionID.String(), strings.ToLower(typed)) || rule.Outlasts:
		case taken:
			waiting, call, named = waiting+1, &one, one.ToolExecutionID
		case other == nil:
			other = &one
		}
	}
	switch {
	case waiting == 1:
		return call, named, nil
	case waiting > 1 && typed != "":
		return nil, named, usage("call: several that wait begin with %q; give more of the id", typed)
	case waiting > 1:
		return nil, named, refused(fmt.Sprintf("call: %d wait for %s", waiting, call.Kind.Rule().For), "name one of them, which `approvals "+render.OneLine(id)+"` shows")
	case other != nil:
		rule, ways := other.Kind.Rule(), []string{}
		for _, command := range rule.Commands() {
			ways = append(ways, "`"+command+" "+render.OneLine(id)+" "+render.ShortCall(other.ToolExecutionID)+other.AnswerForm()+"`")
		}
		return nil, named, refused("call: "+render.OneLine(other.Tool)+" waits for "+rule.For, strings.Join(ways, " or ")+" does that")
	case typed != "" && named.UnmarshalText([]byte(typed)) != nil:
		return nil, named, refused("nothing of a call that begins with "+render.OneLine(typed)+" waits", "`approvals "+render.OneLine(id)+"` shows what does")
	}
	return nil, named, nil
}

// saysYes asks the person at this terminal, and reports whether they have said yes.
func (p *program) saysYes(ctx context.Context, prompt string) (yes bool, _ error) {
	p.asks(ctx, prompt, func(line string) bool {
		yes = slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line)))
		return true
	})
	return yes, ctx.Err()
}

// textOrFile is a flag's text, or that in the file that it names after an @.
func textOrFile(ctx context.Context, flag, given string) (string, error) {
	name, named := strings.CutPrefix(given, "@")
	if !named {
		return given, nil
	}
	file, err := openGiven(ctx, name) // it may be a pipe
	var text []byte
	if err == nil {
		defer file.Close()
		text, err = readGiven(ctx, file, maxGiven)
	}
	switch {
	case errors.Is(err, errLeft):
		return "", fmt.Errorf("%s: %w", flag, err)
	case err != nil:
		return "", usage("%s: %s", flag, err)
	case len(text) > maxGiven:
		return "", usage("%s: %s has more than %d bytes; give less", flag, name, maxGiven)
	}
	return string(text), nil
}

// person is who uses this command, as far as the machine knows.
func person() string {
	name := ""
	if who, err := user.Current(); err == nil {
		name = who.Username
	}
	machine, _ := os.Hostname() // without one the name has to do
	return domain.Shorten(strings.Trim(name+"@"+machine, "@"), domain.MaxDecider)
}

func approveCommand(p *program) *cobra.Command {
	return p.deciding(newCommand("approve ID [CALL]", "Let a tool call run that waits for a person", `Lets a tool call run that waits for somebody's word: once, and with exactly the
arguments that approvals shows. CALL is its id or how that begins. On a terminal
it may be left out where one call alone waits: it is shown, and you are asked. Who
approved it, when and why is recorded: explain shows it.

With --always calls of that tool with exactly these arguments run from now on
without asking, in all executions of the session, until revoke takes that back.

With --edit the call runs with arguments of your own, exactly as you give them.
They have to fit the tool, and no rule may deny the call with them; else it waits
as it was. The model is told, and reads them with the result.`,
		`  starter approve notes
  starter approve notes 3f9e1b2c --reason "checked with finance"
  starter approve notes 3f9e1b2c --always
  starter approve notes 3f9e1b2c --edit '{"amount": 5}'
  starter approve notes 3f9e1b2c --edit @arguments.json`, nil), domain.Approved)
}

func denyCommand(p *program) *cobra.Command {
	return p.deciding(newCommand("deny ID [CALL]", "Do not let a tool call run that waits for a person", `Does not let a tool call run that waits for somebody's word. The model is told,
with the reason, and goes on. CALL, its id or how that begins, may be left out
where one call alone waits.`,
		`  starter deny notes
  starter deny notes 3f9e1b2c --reason "not before the invoice is paid"`, nil), domain.WasDenied)
}

// deciding completes a command that says a person's word about a call.
func (p *program) deciding(command *cobra.Command, verdict domain.Verdict) *cobra.Command {
	word := client.Word{Verdict: verdict}
	command.RunE = func(command *cobra.Command, args []string) error {
		if command.Flags().Changed("edit") {
			var err error
			if word.Arguments, err = textOrFile(command.Context(), "edit", word.Arguments); err != nil {
				return err
			}
			if word.Arguments == "" { // it would run as it was
				return usage("edit: is empty; give the arguments that are to run as a JSON object")
			}
		}
		return p.change(command.Context(), args, func(ctx context.Context, s *local.Stack, id string) error {
			call, named, err := waitOf(ctx, s.Agents, id, verdict, strings.Join(args[1:], ""))
			if err != nil {
				return err
			}
			if word.Call = named; call != nil { // else the workflow knows better
				word.Digest = call.Digest
				if verdict == domain.Approved {
					if yes, err := p.seen(ctx, *call, len(args) > 1); err != nil || !yes {
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
		command.Flags().StringVar(&word.Arguments, "edit", "", "arguments that run instead: a `JSON` object, or @FILE that holds it")
		command.Flags().BoolVar(&word.Always, "always", false, "let calls of the tool with exactly these arguments run from now on")
	}
	saidFlags(command, &word.By, "decides", &word.Reason, "that is recorded; of a call that is denied the model reads it, too")
	return command
}

// seen reports whether the person has seen the call that they let run: they have named it, or are shown it and say yes.
func (p *program) seen(ctx context.Context, call client.WaitingCall, named bool) (bool, error) {
	agent, short := render.OneLine(call.ID), render.ShortCall(call.ToolExecutionID)
	switch {
	case !seeable(call):
		return false, refused("what is shown of call "+short+" is not what would run; look at it again with `"+p.again("approvals", agent)+"`", "")
	case named:
		return true, nil
	case !p.interactive():
		return false, usage("call: is missing, so nobody can have seen what would run; %s waits: `%s` shows it, and `%s` lets it run",
			render.OneLine(call.Tool), p.again("approvals", agent), p.again("approve", agent, short))
	}
	p.err.Printf("%s", render.Waiting([]client.WaitingCall{call}, p.now()))
	if cut := p.notWhole(call); cut != "" {
		return false, refused(cut, "")
	}
	yes, err := p.saysYes(ctx, "y runs it, all else leaves it waiting: ")
	if err == nil && !yes {
		p.say("it waits still")
	}
	return yes, err
}

// seeable reports whether a person can see what a call that waits for their word would run. It may be shown cut.
func seeable(call client.WaitingCall) bool {
	return call.Kind.Rule().Replies || call.Bytes > 0 || call.Whole()
}

// notWhole says why a call that is shown cut is not approved by a mere yes, and how it is; empty: it is whole.
func (p *program) notWhole(call client.WaitingCall) string {
	if call.Bytes == 0 {
		return ""
	}
	id := render.OneLine(call.ID)
	return "only a part of the arguments is shown; `" + p.again("messages", id) + "` shows all, and `" +
		p.again("approve", id, render.ShortCall(call.ToolExecutionID)) + "` lets the call run"
}

func revokeCommand(p *program) *cobra.Command {
	var options client.RevokeOptions
	command := newCommand("revoke ID RULE", "Take back what approve --always has allowed", `Takes a standing approval of a session back: people are asked again about the
calls that it let run. One that has begun goes on. RULE is its id, or how that
begins, as status and approvals show it. Who took it back, when and why is
recorded.`, `  starter revoke notes 3f9e1b2c
  starter revoke notes 3f9e1b2c --reason "the contract has ended"`, func(ctx context.Context, args []string) error {
		options.ID = args[1]
		return p.change(ctx, args, func(ctx context.Context, s *local.Stack, id string) error {
			revoked, err := s.Agents.Revoke(ctx, id, options)
			if err != nil {
				return err
			}
			return p.done(revoked, "people are asked again about such calls of %s: %s", id, render.StandingApproval(revoked.Standing))
		})
	})
	saidFlags(command, &options.By, "takes it back", &options.Reason, "that is recorded")
	return command
}
