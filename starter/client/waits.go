package client

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
)

// A WaitingCall is a tool call of an agent that waits for a person: for an approval, for an answer, or for word of what became
// of it.
type WaitingCall struct {
	// ID names the agent.
	ID string `json:"id"`
	domain.Wait
}

// AllWaiting yields the calls that wait for people, of all agents that are open, or of the one where id is not empty. Of all
// agents it knows by the server's list, which may be a moment old. It needs no worker, but without one it takes longer.
func (c *Client) AllWaiting(ctx context.Context, id string) iter.Seq2[WaitingCall, error] {
	return func(yield func(WaitingCall, error) bool) {
		if id != "" {
			c.waitsOf(ctx, id, yield)
			return
		}
		unlessDeleted := func(w WaitingCall, err error) bool { return Is(err, NotFound) || yield(w, err) }
		for l, err := range c.List(ctx, ListOptions{Open: true}) {
			more := true
			if err != nil {
				more = yield(WaitingCall{}, err)
			} else if l.Waiting+l.Unknown > 0 && !l.Foreign {
				_, more = c.waitsOf(ctx, l.ID, unlessDeleted)
			}
			if !more {
				return
			}
		}
	}
}

// WaitingBelow yields the calls that wait for people of an agent and of the sub-agents under way below it, to any depth.
func (c *Client) WaitingBelow(ctx context.Context, id string) iter.Seq2[WaitingCall, error] {
	return func(yield func(WaitingCall, error) bool) { c.waitingBelow(ctx, id, yield) }
}

func (c *Client) waitingBelow(ctx context.Context, id string, yield func(WaitingCall, error) bool) bool {
	children, more := c.waitsOf(ctx, id, yield)
	for _, sub := range children {
		more = more && c.waitingBelow(ctx, sub.AgentID.String(), yield)
	}
	return more
}

// waitsOf yields what waits of one agent. It returns the sub-agents under way, and whether more is wanted.
func (c *Client) waitsOf(ctx context.Context, id string, yield func(WaitingCall, error) bool) (children []contract.SubagentView, more bool) {
	status, err := c.Status(ctx, id)
	if err != nil {
		return nil, yield(WaitingCall{}, err)
	}
	for _, w := range status.Waits {
		if !yield(WaitingCall{id, w}, nil) {
			return nil, false
		}
	}
	return status.Children, true
}

// A Word is what a person says about a tool call that waits for it, whose id and digest AllWaiting tells. The zero call is the only
// one that waits so. By is who says it, by their own word; empty: the process, as Config.By names it.
type Word = contract.AnswerRequest

// An Answered says what became of a call that waited.
type Answered struct {
	Execution
	Wait domain.Wait `json:"wait"`
	// Standing is the standing approval that was given with the answer; nil: none.
	Standing *domain.StandingApproval `json:"standing_approval,omitempty"`
}

// Answer says something about a tool call that waits for a person: the first answer counts. It is refused where the call waits
// with something else than was shown, was answered before, where its time is over, where nothing waits, and where the answer is
// none to it, or does not fit its schema. It needs a worker, as Send does.
func (c *Client) Answer(ctx context.Context, id string, w Word) (none Answered, _ error) {
	w.By = c.speaker(w.By)
	if err := w.Check(); err != nil {
		return none, invalid(err)
	}
	p, err := c.describe(ctx, id)
	if err != nil {
		return none, err
	}
	if refused := p.check(w.Does(), contract.InProgress); refused != nil {
		return none, refused.next("`approvals` shows what waits for people, of all agents")
	}
	reply, err := tell(ctx, c, p, "", contract.UpdateAnswer, w)
	if err != nil {
		return none, err
	}
	return Answered{p.execution(reply.Number), reply.Wait, reply.Standing}, nil
}

// speaker is who says something, by their own word or by that of the process.
func (c *Client) speaker(by string) string {
	return cmp.Or(by, domain.Shorten(c.cfg.By.Identity, domain.MaxDecider))
}

// TypedReply is what a person has typed as the answer to a question, such as the number of a choice, or what is wrong with it.
func TypedReply(asked domain.Wait, typed string) (Word, error) {
	w, q := Word{Call: asked.ToolExecutionID, Digest: asked.Digest, Verdict: domain.AnsweredByPerson}, *asked.Ask
	typed = strings.TrimSpace(typed)
	n, err := strconv.Atoi(typed)
	switch {
	case len(q.Schema) > 0 && !json.Valid([]byte(typed)):
		return w, invalidf("that is no JSON; write a text in quotes, an object in braces")
	case len(q.Schema) > 0:
		w.Value = json.RawMessage(typed)
	case len(q.Choices) == 0, slices.Contains(q.Choices, typed):
		w.Text = typed
	case err != nil || n < 1 || n > len(q.Choices):
		return w, invalidf("that is none of the choices")
	default:
		w.Text = q.Choices[n-1]
	}
	return w, nil
}

// DecisionKeys are what TypedDecision reads about a call, each with what it does. edit is how other arguments are typed. Of a
// call that is not shown whole nobody lets the rest run unseen.
func DecisionKeys(asked domain.Wait, edit string, whole bool) (keys string) {
	rule := asked.Kind.Rule()
	for _, a := range rule.Answers {
		if a.Key != "" && (whole || !rule.Grants(a.Verdict)) {
			keys += a.Key[:1] + " " + a.Does + " · "
		}
		if a.Edits && whole {
			keys += "a always · "
		}
		if a.Edits {
			keys += edit + " edits it · "
		}
	}
	return keys + "d later"
}

// TypedDecision is what a person has typed about a call that waits for a decision, with the letter that stands for it: that of
// an answer of its kind, as y (yes) and n (no) with a reason; a (always) or e (edit) with other arguments, where the kind has
// that; or d (later), which decides nothing; 0: it is none of them.
func TypedDecision(asked domain.Wait, typed string) (w Word, key rune) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(typed), " ")
	verb = strings.ToLower(verb)
	w = Word{Call: asked.ToolExecutionID, Digest: asked.Digest, Reason: strings.TrimSpace(rest)}
	for _, a := range asked.Kind.Rule().Answers {
		keys := []string{a.Key}
		if a.Edits {
			keys = append(keys, "always", "edit")
		}
		for _, k := range keys {
			if k != "" && (verb == k || verb == k[:1]) {
				w.Verdict, w.Always, key = a.Verdict, k == "always", rune(k[0])
			}
		}
	}
	switch {
	case key == 'e':
		w.Arguments, w.Reason = w.Reason, ""
	case verb == "d" || verb == "later":
		key = 'd'
	}
	return w, key
}
