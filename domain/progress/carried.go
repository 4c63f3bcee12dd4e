package progress

import (
	"encoding/json"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Takeover is what a run's input says of the newest execution.
type Takeover struct {
	Number int
	// Begins says that the run begins execution Number, Open that it goes on with one.
	Begins, Open bool
	// Execution is the newest that was taken over, and Steps counts those of it
	// that are over. The rest is known of one that is open.
	Execution domain.ExecutionID
	Steps     int
	StartedAt time.Time
	Budget    domain.ExecutionBudget
	Origin    domain.ExecutionID
	// Branch is the step from which it was forked or rewound, where it was.
	Branch *domain.Origin
	// RewoundTo is the step from which the next execution goes on, where a rewind has left the session so.
	RewoundTo *domain.Origin
	// Trusted are the session's trusted values, Own those that the newest execution has beside them.
	Trusted, Own domain.Trusted
	// Unsettled are the agent's calls of which nobody knows whether they took effect.
	Unsettled []domain.UnknownCall
	// Standing are the session's standing approvals.
	Standing []domain.StandingApproval
	// Session is the session's account before the execution in progress; nil where it has no budget.
	Session *domain.SessionAccount
	// FirstStep and FirstEvent are the numbers of what the run holds of that execution first, zero where
	// nobody knows, and FirstMessage is the index of the first message.
	FirstStep, FirstEvent, FirstMessage int
}

// Carried reads what a run took over: without a carry, the first execution begins.
func Carried(in contract.SessionInput) Takeover {
	if in.Carry == nil {
		t := Takeover{Number: 1, Begins: true, FirstStep: 1, FirstEvent: 1, Session: accountOf(in.Definition)}
		if in.Given != nil {
			t.Trusted = in.Given.Trusted
		}
		return t
	}
	t := taken(*in.Carry)
	if in.Fork != nil {
		t.RewoundTo, t.Session = nil, accountOf(in.Definition)
		t.Origin, t.Branch = in.Fork.Origin.ExecutionID, in.Fork.Origin.Branch()
		if in.Given != nil {
			t.Trusted = in.Given.Trusted
		}
	}
	if (in.GoOn != nil || in.Fork != nil) && !t.Open {
		if in.GoOn != nil {
			t.Branch = nil // that of the one before
		}
		t.Number, t.Begins, t.FirstStep, t.FirstEvent = t.Number+1, true, 1, 1
	}
	if in.GoOn != nil && in.GoOn.Copy != nil { // what is copied is in no run's memory
		t.FirstMessage = in.GoOn.Copy.Log.Length
	}
	if in.Fork != nil && in.Fork.Copy != nil {
		t.FirstMessage = in.Fork.Copy.Log.Length
	}
	if in.Settle != nil && in.Settle.Copy != nil {
		t.FirstMessage = in.Settle.Copy.Log.Length
	}
	return t
}

func taken(carry contract.Carry) Takeover {
	t := Takeover{FirstMessage: carry.Conversation.Base}
	if carry.Outcome != nil {
		t.Number, t.Execution = carry.Outcome.Number, carry.Outcome.ExecutionID
	}
	state, err := domain.Decode[carriedState](carry.State)
	if err != nil {
		return t
	}
	t.Number, t.Trusted, t.Standing, t.Session = max(t.Number, state.Count), state.Trusted, state.Standing, state.Session
	for _, call := range state.Unknown {
		if call.Settlement == nil {
			t.Unsettled = append(t.Unsettled, call)
		}
	}
	if state.Origin != nil {
		t.RewoundTo = state.Origin.Branch()
	}
	e := state.Execution
	if e == nil {
		return t
	}
	t.Execution, t.Steps, t.Open = e.ID, int(e.Folded.Steps)+len(e.Steps), !e.Status.Terminal()
	// Of the steps that came along the earlier run has all but the last whole.
	t.FirstStep, t.FirstEvent = int(e.Folded.Steps)+max(len(e.Steps), 1), int(carry.Sequence)+1
	t.StartedAt, t.Budget, t.Own = e.StartedAt, e.Budget, e.Trusted
	if e.Origin != nil {
		t.Origin, t.Branch = e.Origin.ExecutionID, e.Origin.Branch()
	}
	return t
}

// A carriedState is the little of a saved state that tells where its newest execution stands.
type carriedState struct {
	Count     int                       `json:"execution_count"`
	Origin    *domain.Origin            `json:"origin"`
	Trusted   domain.Trusted            `json:"trusted"`
	Unknown   []domain.UnknownCall      `json:"outcome_unknown"`
	Standing  []domain.StandingApproval `json:"standing_approvals"`
	Session   *domain.SessionAccount    `json:"session_account"`
	Execution *struct {
		ID        domain.ExecutionID     `json:"execution_id"`
		Status    domain.ExecutionStatus `json:"status"`
		StartedAt time.Time              `json:"started_at"`
		Budget    domain.ExecutionBudget `json:"budget"`
		Origin    *domain.Origin         `json:"origin"`
		Folded    domain.Folded          `json:"folded"`
		Steps     []json.RawMessage      `json:"step_executions"`
		Trusted   domain.Trusted         `json:"trusted"`
	} `json:"execution"`
}
