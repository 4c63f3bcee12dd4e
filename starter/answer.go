package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

// An answering is what the flags of answer say.
type answering struct {
	// choice counts from 1; zero: none is given.
	choice     int
	value      string
	by, reason string
}

func answerCommand(p *program) *cobra.Command {
	options := answering{by: person()}
	command := &cobra.Command{
		Use:   "answer ID [CALL] [TEXT]",
		Short: "Answer a question that an agent asks",
		Long: `Answers a question that an agent asks with its tool ask_user, and waits to have
answered. The model reads the answer as it is. CALL, the id of the call that asks
or how that begins, may be left out where one question alone waits. Of a question
with choices TEXT is one of them, or --choice its number; of one with a schema
--value is the answer. Without any you are shown the question on a terminal, and
asked. The first answer counts; who answered what, and when, is recorded: explain
shows it.`,
		Example: `  starter answer notes "Berlin"
  starter answer notes 3f9e1b2c "Berlin"
  starter answer notes --choice 2
  starter answer notes --value '{"city": "Berlin", "days": 3}'
  starter answer notes 3f9e1b2c --value @answer.json`,
		Args:              cobra.RangeArgs(1, 3),
		ValidArgsFunction: p.completeIDs,
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("id: is missing; `starter answer notes \"Berlin\"` is an example")
		}
		if err := client.CheckID(args[0]); err != nil {
			return err
		}
		call, text, err := options.parts(args[1:])
		if err != nil {
			return err
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
		reply, err := p.replyTo(ctx, s, args[0], call, text, options)
		if err != nil || reply == nil {
			return err
		}
		answered, err := s.Agents.Answer(ctx, args[0], *reply)
		if err != nil {
			return err
		}
		return p.done(answered, "answered the question of %s in step %d of %s", render.OneLine(answered.Tool), answered.Step, args[0])
	}
	command.Flags().Var(numberFlag(&options.choice, 1, domain.MaxChoices), "choice", "the `NUMBER` of the choice that is the answer")
	command.Flags().StringVar(&options.value, "value", "", "the answer to a question with a schema: `JSON`, or @FILE that holds it")
	command.Flags().StringVar(&options.reason, "reason", "", "a `TEXT` that is recorded; the model does not read it")
	command.Flags().StringVar(&options.by, "by", options.by, "`WHO` answers")
	return command
}

// parts are the call and the text among the arguments after the id.
func (o answering) parts(args []string) (call, text string, _ error) {
	flagged := o.choice > 0 || o.value != ""
	switch {
	case o.choice > 0 && o.value != "":
		return "", "", usage("choice, value: give one of them")
	case flagged && len(args) == 2:
		return "", "", usage("text: is given beside --choice or --value; give one of them")
	case flagged && len(args) == 1:
		return args[0], "", nil
	case len(args) == 1:
		return "", args[0], nil
	case len(args) == 2:
		return args[0], args[1], nil
	}
	return "", "", nil
}

// replyTo is the answer that is given, or that the person types. Nil: they leave the question waiting.
func (p *program) replyTo(ctx context.Context, s *local.Stack, id, call, text string, o answering) (*client.Reply, error) {
	reply := &client.Reply{Text: text, By: o.by, Reason: o.reason}
	if o.value != "" {
		value, err := readValue(o.value)
		if err != nil {
			return nil, err
		}
		reply.Value = value
	}
	questions, err := questionsOf(ctx, s, id)
	if err == nil {
		err = p.otherwise(ctx, s, id, call, true)
	}
	if err != nil {
		return nil, err
	}
	if call != "" {
		if questions, err = calledSo(questions, "question", call, &reply.Call); err != nil {
			return nil, err
		}
	}
	if len(questions) != 1 {
		return reply, p.unanswerable(id, questions, reply, o)
	}
	question := questions[0]
	reply.Call, reply.Digest = question.ToolExecutionID, question.Digest
	switch {
	case len(question.Schema) > 0 && text != "":
		return nil, usage("text: the question asks for a JSON value; give it as in: %s", p.again("answer", render.OneLine(id), "--value", `'{"…": …}'`))
	case o.choice > 0 && question.Bytes == 0 && o.choice > len(question.Choices):
		return nil, usage("choice: there is no %d; the question has %d", o.choice, len(question.Choices))
	case o.choice > 0 && question.Bytes > 0:
		return nil, usage("choice: the question is shown cut here; give the text of the choice")
	case o.choice > 0:
		reply.Text = question.Choices[o.choice-1]
	case text == "" && o.value == "":
		return p.typedReply(ctx, question, reply)
	}
	return reply, nil
}

// unanswerable says why an answer cannot be given where not one question waits, unless the workflow says it better.
func (p *program) unanswerable(id string, questions []client.WaitingQuestion, reply *client.Reply, o answering) error {
	switch {
	case len(questions) > 1:
		return usage("call: %d questions wait; name the call of one of them, which `%s` shows", len(questions), p.again("approvals", render.OneLine(id)))
	case reply.Text == "" && o.value == "" || o.choice > 0:
		return &client.Error{Class: client.Refused, Message: "no question of " + render.OneLine(id) + " waits"}
	}
	return nil
}

func questionsOf(ctx context.Context, s *local.Stack, id string) ([]client.WaitingQuestion, error) {
	questions := []client.WaitingQuestion{}
	for question, err := range s.Agents.Questions(ctx, id) {
		if err != nil {
			return nil, err
		}
		questions = append(questions, question)
	}
	return questions, nil
}

// otherwise says which command is meant where what waits is of the other kind: a call that waits for a word, or a question.
func (p *program) otherwise(ctx context.Context, s *local.Stack, id, call string, answering bool) error {
	all, err := waitingOf(ctx, s, id)
	if err != nil {
		return err
	}
	call = strings.ToLower(call)
	calls := slices.ContainsFunc(all.calls, func(one client.WaitingCall) bool { return strings.HasPrefix(one.ToolExecutionID.String(), call) })
	questions := slices.ContainsFunc(all.questions, func(one client.WaitingQuestion) bool { return strings.HasPrefix(one.ToolExecutionID.String(), call) })
	id = render.OneLine(id)
	switch {
	case answering && calls && !questions:
		return &client.Error{Class: client.Refused, Message: "call: what waits is a tool call for somebody's word, and no question", Next: "`approve " + id + "` or `deny " + id + "` decides about it"}
	case !answering && questions && !calls:
		return &client.Error{Class: client.Refused, Message: "call: what waits is a question, and no call for somebody's word", Next: "`answer " + id + "` answers it"}
	}
	return nil
}

// leastOfCall is the shortest beginning of a call's id by which something is decided.
const leastOfCall = 4

// calledSo are those of what waits whose call's id begins so. Without any the id is taken as it is where it is whole, since
// somebody may have been faster.
func calledSo[W interface{ Pending() domain.PendingCall }](waiting []W, what, call string, id *domain.ToolExecutionID) ([]W, error) {
	found := slices.DeleteFunc(slices.Clone(waiting), func(one W) bool {
		return call == "" || !strings.HasPrefix(one.Pending().ToolExecutionID.String(), strings.ToLower(call))
	})
	if call != "" && len(call) < leastOfCall {
		return nil, usage("call: %q is short for what decides about one; give at least %d characters of its id", call, leastOfCall)
	}
	if len(found) == 0 && id.UnmarshalText([]byte(call)) != nil {
		return nil, &client.Error{Class: client.Refused, Message: "no " + what + " of a call that begins with " + render.OneLine(call) + " waits"}
	}
	return found, nil
}

// typedReply shows a question and reads its answer. Nil: the person leaves it waiting.
func (p *program) typedReply(ctx context.Context, question client.WaitingQuestion, reply *client.Reply) (*client.Reply, error) {
	if !p.interactive() && len(question.Schema) > 0 {
		return nil, usage("value: is missing; the question asks for a JSON value: give it with --value JSON, or --value @FILE")
	}
	if !p.interactive() {
		return nil, usage("text: is missing; give the answer, or --choice, or --value")
	}
	p.err.Printf("%s", render.Questions([]client.WaitingQuestion{question}, p.now()))
	forgetTyped(p.in)
	lines := linesOf(p.in)
	for {
		p.err.Printf("%s", promptFor(question.Question))
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case line := <-lines:
			if strings.TrimSpace(line) == "" {
				p.say("it waits still")
				return nil, nil
			}
			typed, err := client.TypedReply(question.PendingQuestion, line)
			if err != nil {
				p.err.Printf("%s\n", err)
				continue
			}
			typed.By, typed.Reason = reply.By, reply.Reason
			return &typed, nil
		}
	}
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

// readValue is the JSON that is given, or that in the file that is named.
func readValue(given string) (json.RawMessage, error) {
	if name, named := strings.CutPrefix(given, "@"); named {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usage("value: %s", err)
		}
		given = string(text)
	}
	if !json.Valid([]byte(given)) {
		return nil, usage("value: is no JSON")
	}
	return json.RawMessage(strings.TrimSpace(given)), nil
}
