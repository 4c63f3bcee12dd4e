package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func answerCommand(p *program) *cobra.Command {
	word := client.Word{Verdict: domain.AnsweredByPerson}
	var choice int // counts from 1; zero: none is given
	var value string
	command := newCommand("answer ID [CALL] [TEXT]", "Answer a question that an agent asks", `Answers a question that an agent asks with its tool ask_user, and waits to have
answered. The model reads the answer as it is. CALL, the id of the call that asks
or how that begins, may be left out where one question alone waits. Of a question
with choices TEXT is one of them, or --choice its number; of one with a schema
--value is the answer. Without any you are shown the question on a terminal, and
asked. The first answer counts; who answered what, and when, is recorded: explain
shows it.`, `  starter answer notes "Berlin"
  starter answer notes 3f9e1b2c "Berlin"
  starter answer notes --choice 2
  starter answer notes --value '{"city": "Berlin", "days": 3}'
  starter answer notes 3f9e1b2c --value @answer.json`, func(ctx context.Context, args []string) error {
		call := ""
		switch rest, flagged := args[1:], choice > 0 || value != ""; {
		case flagged && len(rest) == 2:
			return usage("text: is given beside --choice or --value; give one of them")
		case len(rest) == 2:
			call, word.Text = rest[0], rest[1]
		case flagged:
			call = strings.Join(rest, "")
		default:
			word.Text = strings.Join(rest, "")
		}
		return p.change(ctx, args, func(ctx context.Context, s *local.Stack, id string) error {
			if value != "" {
				text, err := textOrFile(ctx, "value", value)
				if err != nil {
					return err
				}
				if word.Value = json.RawMessage(strings.TrimSpace(text)); !json.Valid(word.Value) {
					return usage("value: is no JSON")
				}
			}
			reply, err := p.replyTo(ctx, s, id, call, choice, word)
			if err != nil || reply == nil {
				return err
			}
			answered, err := s.Agents.Answer(ctx, id, *reply)
			if err != nil {
				return err
			}
			return p.done(answered, "answered the question of %s in step %d of %s", render.OneLine(answered.Wait.Tool), answered.Wait.Step, id)
		})
	})
	command.Flags().Var(numberFlag(&choice, 1, domain.MaxChoices), "choice", "the `NUMBER` of the choice that is the answer")
	command.Flags().StringVar(&value, "value", "", "the answer to a question with a schema: `JSON`, or @FILE that holds it")
	command.MarkFlagsMutuallyExclusive("choice", "value")
	saidFlags(command, &word.By, "answers", &word.Reason, "that is recorded; the model does not read it")
	return command
}

// replyTo is the answer to a question of an agent that a word gives, or the number of a choice, or that the person types. Nil: they
// leave the question waiting.
func (p *program) replyTo(ctx context.Context, s *local.Stack, id, call string, choice int, word client.Word) (*client.Word, error) {
	if text := word.Text; call == "" && len(text) >= leastOfCall && strings.Trim(strings.ToLower(text), "0123456789abcdef-") == "" {
		// A lone text that begins the id of a question names it: as an answer it could not be taken back.
		if named, _, err := waitOf(ctx, s.Agents, id, word.Verdict, text); err == nil && named != nil {
			call, word.Text = text, ""
		}
	}
	question, named, err := waitOf(ctx, s.Agents, id, word.Verdict, call)
	if err != nil {
		return nil, err
	}
	word.Call = named
	missing := word.Text == "" && word.Value == nil // also where a choice is given, which takes the question to be read
	switch {
	case question == nil && missing:
		return nil, refused("no question of "+render.OneLine(id)+" waits", "`approvals` shows what waits for people, of all agents")
	case question == nil: // the workflow says why
		return &word, nil
	}
	word.Digest = question.Digest
	switch {
	case len(question.Ask.Schema) > 0 && word.Text != "":
		return nil, usage("text: the question asks for a JSON value; give it as in: %s", p.again("answer", render.OneLine(id), "--value", `'{"…": …}'`))
	case choice > 0 && question.Bytes > 0:
		return nil, usage("choice: the question is shown cut here; give the text of the choice")
	case choice > len(question.Ask.Choices):
		return nil, usage("choice: there is no %d; the question has %d", choice, len(question.Ask.Choices))
	case choice > 0:
		word.Text = question.Ask.Choices[choice-1]
	case missing:
		return p.typedReply(ctx, *question, word)
	}
	return &word, nil
}

// typedReply shows a question and reads its answer, in the name and for the reason of a word. Nil: the person leaves it waiting.
func (p *program) typedReply(ctx context.Context, question client.WaitingCall, of client.Word) (*client.Word, error) {
	if !p.interactive() && len(question.Ask.Schema) > 0 {
		return nil, usage("value: is missing; the question asks for a JSON value: give it with --value JSON, or --value @FILE")
	}
	if !p.interactive() {
		return nil, usage("text: is missing; give the answer, or --choice, or --value")
	}
	p.err.Printf("%s", render.Waiting([]client.WaitingCall{question}, p.now()))
	var typed *client.Word
	p.asks(ctx, promptFor(*question.Ask), func(line string) bool {
		if strings.TrimSpace(line) == "" {
			return true
		}
		word, err := client.TypedReply(question.Wait, line)
		if err != nil {
			p.err.Printf("%s\n", err)
			return false
		}
		word.By, word.Reason = of.By, of.Reason
		typed = &word
		return true
	})
	if typed == nil && ctx.Err() == nil {
		p.say("it waits still")
	}
	return typed, ctx.Err()
}

func promptFor(question domain.Question) string {
	switch {
	case len(question.Choices) > 0:
		return "your choice or its number, nothing answers later: "
	case len(question.Schema) > 0:
		return "your answer as JSON in one line, nothing answers later: "
	}
	return "your answer in one line, nothing answers later: "
}

func resolveCommand(p *program) *cobra.Command {
	var done, notDone bool
	var options client.ResolveOptions
	command := newCommand("resolve ID CALL", "Say what a call of unknown outcome really did",
		`Resolves a tool call of which nobody knows whether it took effect: its worker was
lost in it, or its tool could not tell. Look at the other side first. Until it is
resolved the agent does not make the same call again; then its model is told. Who
resolves it, when, and the reason are recorded, and explain shows them. An agent
without a name may have ended: if it goes on, with extend, its model is told.

CALL is the call's id as status and explain show it, or the beginning of it.
list --unknown names the agents that have such calls.`,
		`  starter resolve notes 3f2a --done --result "receipt 4711" --reason "journal"
  starter resolve notes 3f2a --not-done --reason "the bank has made it void"`, func(ctx context.Context, args []string) error {
			switch {
			case done == notDone:
				return usage("--done, --not-done: give one of them, whichever is true")
			case options.Reason == "":
				return usage("--reason: is missing; say how you know")
			}
			if options.Verdict = domain.VerdictNotDone; done {
				options.Verdict = domain.VerdictDone
			}
			options.Call = args[1]
			return p.change(ctx, args, func(ctx context.Context, s *local.Stack, id string) error {
				resolved, err := s.Agents.Resolve(ctx, id, options)
				if err != nil {
					return err
				}
				return p.done(resolved, "the call of %s in step %d of execution %d is resolved as %s; %s of %s left unresolved",
					render.OneLine(resolved.Wait.Tool), resolved.Wait.Step, resolved.Wait.Execution, resolved.Wait.Verdict(),
					render.Counted(resolved.UnknownOutcomes, "call"), resolved.ID)
			})
		})
	set := command.Flags()
	set.BoolVar(&done, "done", false, "it took effect")
	set.BoolVar(&notDone, "not-done", false, "it did not, and cannot any more")
	set.StringVar(&options.Result, "result", "", "the `TEXT` that it would have answered, for the model")
	set.StringVar(&options.Reason, "reason", "", "a `TEXT` that says how you know")
	return command
}
