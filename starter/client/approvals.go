package client

import (
	"context"
	"errors"
	"iter"
	"unicode/utf8"

	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// A WaitingCall is a tool call of an agent that waits for a person's word.
type WaitingCall struct {
	// ID names the agent.
	ID string `json:"id"`
	domain.PendingApproval
}

// waitingAgents yields the agents, or the one where id is not empty, of which something waits by the server's list.
func (c *Client) waitingAgents(ctx context.Context, id string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if id != "" {
			yield(id, nil)
			return
		}
		for l, err := range c.List(ctx, ListOptions{Open: true, Waiting: true}) {
			if !l.Foreign && !yield(l.ID, err) {
				return
			}
		}
	}
}

// waitingIn counts what waits for people by the server's list.
func (c *Client) waitingIn(info *workflowpb.WorkflowExecutionInfo) int {
	waiting, err := history.Waiting(c.cfg.Converter, info.GetMemo())
	if err != nil {
		return 0 // nobody has ever waited
	}
	return waiting.Count()
}

// questionsIn counts the questions among what waits.
func (c *Client) questionsIn(info *workflowpb.WorkflowExecutionInfo) int {
	waiting, _ := history.Waiting(c.cfg.Converter, info.GetMemo()) // nobody has ever waited
	return len(waiting.Questions)
}

// A Word is what a person says about a tool call that waits for it.
type Word struct {
	// Call is the call's own id. The zero one is the only call that waits.
	Call domain.ToolExecutionID
	// Digest is that of the call which the person has seen, as AllWaiting tells it. Another call is refused.
	// To approve it is needed.
	Digest domain.Digest
	// By is who says it, by their own word. Empty: the process, as Config.By names it.
	By string
	// Reason is recorded. Of a call that is denied the model gets to read it, too.
	Reason string
	// Always lets calls of the tool with exactly these arguments run from now on without asking, until that is revoked:
	// a standing approval of the session, where the call is approved.
	Always bool
	// Edit are arguments that run instead, exactly as they stand, where the call is approved; empty: none. They are refused,
	// and the call waits, where they do not fit the tool or where rules deny the call with them. The model is told.
	Edit string
}

// A Decision is what was decided about a tool call.
type Decision struct {
	Execution
	Step            int                    `json:"step"`
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id"`
	Tool            string                 `json:"tool"`
	Approval        domain.Approval        `json:"approval"`
	// Standing is the standing approval that was given with it; nil: none.
	Standing *domain.StandingApproval `json:"standing_approval,omitempty"`
}

// Approve lets a tool call run that waits for a person's word: once, and exactly as it was shown. It is refused where
// the call waits with other arguments, was decided before, or where nothing waits. It needs a worker, as Send does.
func (c *Client) Approve(ctx context.Context, id string, w Word) (Decision, error) {
	switch {
	case w.Edit != "" && w.Always:
		return Decision{}, errorf(Invalid, nil, "always: is of the arguments that were asked about; approve the call with others this once")
	case !utf8.ValidString(w.Edit):
		return Decision{}, errorf(Invalid, nil, "arguments: are not valid UTF-8; convert them")
	case w.Edit != "":
		return decide(ctx, c, id, w, "approving a call of ", contract.UpdateEdit,
			contract.EditRequest{Call: w.Call, Digest: w.Digest, Arguments: w.Edit, By: c.speaker(w), Reason: w.Reason})
	}
	return decide(ctx, c, id, w, "approving a call of ", contract.UpdateApprove,
		contract.ApproveRequest{Call: w.Call, Digest: w.Digest, By: c.speaker(w), Reason: w.Reason, Always: w.Always})
}

// Deny does not let it run: the model is told, with the reason. It is refused and needs a worker as Approve.
func (c *Client) Deny(ctx context.Context, id string, w Word) (Decision, error) {
	return decide(ctx, c, id, w, "denying a call of ", contract.UpdateDeny,
		contract.DenyRequest{Call: w.Call, Digest: w.Digest, By: c.speaker(w), Reason: w.Reason})
}

func (c *Client) speaker(w Word) string {
	if w.By == "" {
		return domain.Shorten(c.cfg.By.Identity, domain.MaxDecider)
	}
	return w.By
}

func decide[In any](
	ctx context.Context, c *Client, id string, w Word, doing string, name contract.Update[In, contract.DecisionReply], request In,
) (Decision, error) {
	switch {
	case !utf8.ValidString(w.By + w.Reason):
		return Decision{}, errorf(Invalid, nil, "reason, by: one is not valid UTF-8; convert it")
	case len(w.Reason) > domain.MaxReason:
		return Decision{}, errorf(Invalid, nil, "reason: has %d bytes; at most %d are allowed", len(w.Reason), domain.MaxReason)
	}
	p, err := c.locate(ctx, id)
	if err != nil {
		return Decision{}, err
	}
	if p.ended != nil {
		return Decision{}, p.nothingTo(string(name))
	}
	reply, err := update(ctx, c, p.agent, "", name, request)
	if errors.Is(err, errClosed) {
		return Decision{}, errorf(Refused, err, "%s has just ended; there is nothing to %s", id, name)
	}
	if err != nil {
		return Decision{}, fail(ctx, id, doing+id, err)
	}
	return Decision{p.execution(reply.Number), reply.Step, reply.ToolExecutionID, reply.Tool, reply.Approval, reply.Standing}, nil
}
