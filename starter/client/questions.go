package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// An AgentWaits is all of an agent that waits for people.
type AgentWaits struct {
	// ID names the agent.
	ID        string
	Approvals []domain.PendingApproval
	Questions []domain.PendingQuestion
}

// AllWaiting yields the agents, or the one where id is not empty, of which something waits for people: calls for their word,
// questions for their answers. Of all agents it knows by the server's list, which may be a moment old. It needs no worker,
// but without one it takes longer.
func (c *Client) AllWaiting(ctx context.Context, id string) iter.Seq2[AgentWaits, error] {
	return func(yield func(AgentWaits, error) bool) {
		for one, err := range c.waitingAgents(ctx, id) {
			var status account.Status
			if err == nil {
				status, err = c.Status(ctx, one)
			}
			if errors.Is(err, &Error{Class: NotFound}) && id == "" {
				continue // it was deleted meanwhile
			}
			if err != nil {
				yield(AgentWaits{}, err)
				return
			}
			if len(status.PendingApprovals())+len(status.PendingQuestions()) > 0 && !yield(AgentWaits{one, status.PendingApprovals(), status.PendingQuestions()}, nil) {
				return
			}
		}
	}
}

// WaitingBelow yields an agent and the sub-agents under way below it, to any depth, as far as something of them waits for people.
func (c *Client) WaitingBelow(ctx context.Context, id string) iter.Seq2[AgentWaits, error] {
	return func(yield func(AgentWaits, error) bool) { c.waitingBelow(ctx, id, yield) }
}

func (c *Client) waitingBelow(ctx context.Context, id string, yield func(AgentWaits, error) bool) bool {
	status, err := c.Status(ctx, id)
	if err != nil {
		return yield(AgentWaits{}, err)
	}
	waits := AgentWaits{id, status.PendingApprovals(), status.PendingQuestions()}
	if len(waits.Approvals)+len(waits.Questions) > 0 && !yield(waits, nil) {
		return false
	}
	for _, sub := range status.Children {
		if !c.waitingBelow(ctx, sub.AgentID.String(), yield) {
			return false
		}
	}
	return true
}

// A WaitingQuestion is a question of an agent that waits for a person's answer.
type WaitingQuestion struct {
	// ID names the agent.
	ID string `json:"id"`
	domain.PendingQuestion
}

// A Reply is what a person answers to a question.
type Reply struct {
	// Call is the id of the call that asks. The zero one is the only one that does.
	Call domain.ToolExecutionID
	// Digest is that of the question which the person has seen, as AllWaiting tells it. Where given, another one is refused.
	Digest domain.Digest
	// Text is the answer, or one of the choices; Value is the one to a question with a schema.
	Text  string
	Value json.RawMessage
	// By is who answers, by their own word. Empty: the process, as Config.By names it.
	By string
	// Reason is recorded. The model does not read it.
	Reason string
}

// TypedReply is what a person has typed as the answer to a question, such as the number of a choice, or what is wrong with it.
func TypedReply(q domain.PendingQuestion, typed string) (Reply, error) {
	r := Reply{Call: q.ToolExecutionID, Digest: q.Digest}
	typed = strings.TrimSpace(typed)
	n, err := strconv.Atoi(typed)
	switch {
	case len(q.Schema) > 0 && !json.Valid([]byte(typed)):
		return r, errorf(Invalid, nil, "that is no JSON; write a text in quotes, an object in braces")
	case len(q.Schema) > 0:
		r.Value = json.RawMessage(typed)
	case len(q.Choices) > 0 && !slices.Contains(q.Choices, typed) && (err != nil || n < 1 || n > len(q.Choices)):
		return r, errorf(Invalid, nil, "that is none of the choices")
	case len(q.Choices) > 0 && !slices.Contains(q.Choices, typed):
		r.Text = q.Choices[n-1]
	default:
		r.Text = typed
	}
	return r, nil
}

// An Answered says what became of a question.
type Answered struct {
	Execution
	Step            int                    `json:"step"`
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id"`
	Tool            string                 `json:"tool"`
	Answer          domain.Answer          `json:"answer"`
}

// Answer answers a question that an agent asks: the first answer counts. It is refused where none waits, where somebody has
// answered before, where it is none of the choices, or where a worker finds that it does not fit the question's schema. It
// needs a worker, as Send does.
func (c *Client) Answer(ctx context.Context, id string, r Reply) (Answered, error) {
	switch {
	case !utf8.ValidString(r.Text + r.By + r.Reason):
		return Answered{}, errorf(Invalid, nil, "answer, reason, by: one is not valid UTF-8; convert it")
	case len(r.Value) > 0 && !json.Valid(r.Value):
		return Answered{}, errorf(Invalid, nil, "answer: is no JSON")
	case max(len(r.Text), len(r.Value)) > domain.MaxAnswer:
		return Answered{}, errorf(Invalid, nil, "answer: has %d bytes; at most %d are allowed", max(len(r.Text), len(r.Value)), domain.MaxAnswer)
	case len(r.Reason) > domain.MaxReason:
		return Answered{}, errorf(Invalid, nil, "reason: has %d bytes; at most %d are allowed", len(r.Reason), domain.MaxReason)
	}
	p, err := c.locate(ctx, id)
	if err != nil {
		return Answered{}, err
	}
	if p.ended != nil {
		return Answered{}, p.nothingTo("answer")
	}
	request := contract.AnswerRequest{Call: r.Call, Digest: r.Digest, Text: r.Text, Value: r.Value, By: c.speaker(Word{By: r.By}), Reason: r.Reason}
	reply, err := update(ctx, c, p.agent, "", contract.UpdateAnswer, request)
	if errors.Is(err, errClosed) {
		return Answered{}, errorf(Refused, err, "%s has just ended; there is nothing to answer", id)
	}
	if err != nil {
		return Answered{}, fail(ctx, id, "answering a question of "+id, err)
	}
	return Answered{p.execution(reply.Number), reply.Step, reply.ToolExecutionID, reply.Tool, reply.Answer}, nil
}
