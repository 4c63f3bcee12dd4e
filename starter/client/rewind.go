package client

import (
	"cmp"
	"context"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// RewindOptions say how a session goes on from its past.
type RewindOptions struct {
	// Prompt begins the next execution at once. Empty: the next message does.
	Prompt string
	// Model, where given beside a prompt, replaces the session's from this execution on.
	Model *domain.LLMConfig
	// Budget, which takes a prompt too, caps the definition's.
	Budget domain.ExecutionBudget
	// RequestID makes a call that is repeated with the same id one with the first. With it a worker alone says whether the
	// session is idle. Empty: each call stands for itself.
	RequestID string
}

// A Rewound says where a session stands by now, and what was done since that is not undone.
type Rewound struct {
	// Execution is the next one, which goes on from there: Began says that it has begun.
	Execution
	Began bool `json:"began"`
	// To is the step, ToNumber counts its execution, and Undo names the one whose end is where the session stood before.
	To       domain.Origin `json:"to"`
	ToNumber int           `json:"to_number"`
	Undo     int           `json:"undo_number"`
	// TakenBack counts the messages that the model sees no more.
	TakenBack int `json:"messages_taken_back"`
	// Since are the calls that were made since the step, in order, of tools that do more than read.
	Since []SinceCall `json:"calls_since"`
	// Untold says that steps since can no longer be read: there may be more such calls.
	Untold bool `json:"calls_untold,omitzero"`
}

// A SinceCall is a call whose effect a rewind does not undo.
type SinceCall struct {
	Number          int                    `json:"execution_number"`
	Step            int                    `json:"step"`
	Tool            string                 `json:"tool"`
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id"`
	Outcome         domain.ToolOutcome     `json:"outcome"`
}

// Rewind has an idle session go on from a step of its past: its model sees what it saw then, and nothing of what was said
// since. The next execution goes on from there: with the prompt, or with the next message. All of the past stays readable,
// and nothing that was done is undone: what was used, the effects of calls, calls of unknown outcome, standing approvals,
// notes and trusted values stay, and so do the model and the settings as they are now. To rewind to the end of a later
// execution takes it back. It is refused while an execution is in progress, and by agents without a name: fork those. It
// needs a worker.
//
// An execution has to be named. A step that there never was is NotFound, one that is no longer kept Gone, and one whose
// messages have left memory where there is no storage Refused.
func (c *Client) Rewind(ctx context.Context, to Point, o RewindOptions) (none Rewound, _ error) {
	request := contract.RewindRequest{Prompt: o.Prompt, Model: o.Model, Budget: o.Budget, By: c.cfg.By}
	if to.Execution == "" {
		return none, invalidf("execution: is not named; give its number, its id, or how that begins")
	}
	if err := cmp.Or(request.Check(), o.Budget.CheckDeadline(time.Now())); err != nil {
		return none, invalid(err)
	}
	open, err := c.needing(ctx, to.ID, "rewind", idleUnlessRepeated(o.RequestID))
	if err != nil {
		return none, err
	}
	p, err := c.pastPoint(ctx, to)
	if err != nil {
		return none, err
	}
	carry := p.conversation(p.compiler)
	request.Origin, request.Number, request.Newest, request.Log, request.Edits = p.origin, p.execution.Number, p.Head.Newest.Number, p.log.Ref(), p.edits
	request.ShownTokens, request.Inferences = carry.ShownTokens, p.inferences
	reply, err := tell(ctx, c, open, requestID(o.RequestID, contract.UpdateRewind, []any{to, o}), contract.UpdateRewind, request)
	if err != nil {
		return none, err
	}
	rewound := Rewound{
		Execution: open.begun(reply.Number, reply.ExecutionID, reply.RunID), Began: reply.Began, To: *p.origin.Branch(),
		ToNumber: p.execution.Number, Undo: reply.Number - 1, TakenBack: reply.TakenBack, Since: []SinceCall{},
	}
	c.since(ctx, p, &rewound)
	return rewound, nil
}

// since notes the calls that were made after a point and before the next execution, or may have been, of tools that are not known
// to read only, as the workers know them now.
func (c *Client) since(ctx context.Context, p pastPoint, rewound *Rewound) {
	var known contract.Resolved
	if resolved := p.Head.Configuration.Resolved; resolved != nil {
		known = *resolved
	}
	for number := p.execution.Number; number < min(rewound.Number, p.Head.Newest.Number+1); number++ {
		for step, err := range c.Steps(ctx, p.called(), number) {
			switch {
			case err != nil:
				rewound.Untold = true
				continue
			case number == p.execution.Number && step.Step.Number <= p.origin.Step:
				continue
			}
			for _, call := range step.Step.ToolExecutions {
				tool, _ := known.Tool(call.Name())
				if outcome := call.Outcome(); outcome.Ran() && tool.Effect != domain.ReadOnly {
					rewound.Since = append(rewound.Since, SinceCall{number, step.Step.Number, call.Name(), call.ID, outcome})
				}
			}
		}
	}
}
