package client

import (
	"context"
	"iter"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// An Ending says in short how an execution has ended, or that it has not.
type Ending struct {
	Status     domain.ExecutionStatus `json:"status"`
	StopReason domain.StopReason      `json:"stop_reason,omitzero"`
	Code       domain.Code            `json:"code,omitzero"`
	// SessionLimit says that it was a limit of the session's budget which ended it.
	SessionLimit bool `json:"session_limit,omitzero"`
	// Steps, TotalTokens and CostNanoUSD are what it took, until now where it is in progress: in a list nil where the server ended
	// it; CostNanoUSD also where nobody knows what its model costs.
	Steps       *int   `json:"step_count"`
	TotalTokens *int64 `json:"total_tokens"`
	CostNanoUSD *int64 `json:"cost_nano_usd"`
}

func endingOf(o contract.Outcome) Ending {
	return Ending{
		Status: o.Status, StopReason: o.StopReason, Code: o.Code, SessionLimit: o.SessionLimit,
		Steps: &o.Steps, TotalTokens: new(o.Usage.TotalTokens()), CostNanoUSD: o.Cost(),
	}
}

// A Past is one execution of an agent, as its history tells of it.
type Past struct {
	Execution
	// Of an execution in progress Ending has the steps that are over.
	Ending
	// StartedAt and EndedAt are zero where nothing tells them, and EndedAt while it is in progress.
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// Origin is the execution that it goes on from, and after which step, where it does.
	Origin *domain.Origin `json:"origin,omitempty"`
	// NextOrigin is set on the newest where a rewind has left the session so: from where its next execution goes on.
	NextOrigin *domain.Origin `json:"next_origin,omitempty"`
	// TakenBack is set where a rewind has taken back the execution, or its steps after one.
	TakenBack *TakenBack `json:"taken_back,omitempty"`
	// ImportedAt is when its record came out of a file; zero: it did not.
	ImportedAt time.Time `json:"imported_at,omitzero"`
	// Cleared is set where a clear has taken the execution back, and no rewind has brought it back.
	Cleared bool `json:"cleared,omitzero"`
	// Agent is who had the conversation in the end, where it was handed over.
	Agent string `json:"agent,omitzero"`
}

// Executions yields the executions of an agent, the oldest first: those of an earlier session of its name where the id is
// NAME@RUN, and of all workflows that an agent without a name has had. It needs no worker. Where some can no longer be read it
// yields, in their place, an error of class Gone that says which; any other error ends it.
func (c *Client) Executions(ctx context.Context, id string) iter.Seq2[Past, error] {
	return sequence(ctx, id, "reading the executions of ", func(yield func(Past, error) bool) error {
		all, err := c.account(ctx, id, account.RequestOf(0, account.Executions))
		if err != nil {
			return err
		}
		position, unmarked := c.positionIn(ctx, id, all)
		a, _ := agentOf(id) // it was read
		past := make([]Past, len(all.Executions))
		for i, e := range all.Executions {
			past[i] = Past{
				Execution: a.begun(e.Number, e.ExecutionID, e.RunID), Ending: endingOf(e.Outcome), StartedAt: e.StartedAt, Origin: placeOf(e.Origin), Agent: e.Agent, ImportedAt: e.Imported,
			}
			if e.Status.Terminal() {
				past[i].EndedAt = e.CompletedAt
			}
			past[i].markTaken(position.Edits, e.MessagesFrom, e.MessagesTo)
			if i == len(past)-1 {
				past[i].NextOrigin = placeOf(position.From)
			}
		}
		more := yieldAll(account.Executions, past, func(p Past) int { return p.Number }, all.Missing, yield)
		switch {
		case !more:
			return nil
		case all.Server.Unread != "":
			return gone("%s", all.Server.Unread)
		}
		return unmarked
	})
}

// A TakenBack says of an execution, or of its last steps, that they are no part of the conversation any more: the agent went
// on from before them.
type TakenBack struct {
	// By is the number of the execution that goes on without them; its origin says from where. It may not have begun yet.
	By int `json:"by_execution"`
	// AfterStep is the last step that is a part of the conversation; zero: none is, nor the prompt.
	AfterStep int `json:"after_step,omitzero"`
}

// markTaken marks the execution whose messages are from one up to another as edits have them.
func (p *Past) markTaken(edits domain.Edits, from, to int) {
	span, back := edits.Tail(from, to)
	switch {
	case !back:
	case span.Cleared:
		p.Cleared = true
	case span.From <= from:
		p.TakenBack = &TakenBack{By: span.By}
	case p.Steps == nil || span.AfterStep < *p.Steps:
		p.TakenBack = &TakenBack{By: span.By, AfterStep: span.AfterStep}
	}
}

// placeOf is from where an execution goes on, without where that went on from.
func placeOf(origin *domain.Origin) *domain.Origin {
	if origin == nil {
		return nil
	}
	return &domain.Origin{ExecutionID: origin.ExecutionID, Step: origin.Step, AgentID: origin.AgentID}
}
