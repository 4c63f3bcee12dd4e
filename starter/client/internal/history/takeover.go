package history

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// A Takeover is what a run's input says of the newest execution.
type Takeover struct {
	Number int
	// Begins says that the run begins execution Number, Open that it goes on with one.
	Begins, Open bool
	// Execution is the newest that was taken over.
	Execution domain.ExecutionID
	// Trusted are the session's trusted values, and Unsettled the agent's calls of which nobody knows whether they took effect.
	Trusted   domain.Trusted
	Unsettled []domain.Wait
}

// TakeoverOf reads what a run took over: without a carry, the first execution begins.
func TakeoverOf(in contract.SessionInput) (t Takeover) {
	if in.Carry == nil {
		t.Number, t.Begins = 1, true
	} else {
		t = takenOver(*in.Carry)
	}
	if in.Given != nil && (in.Carry == nil || in.Fork != nil) {
		t.Trusted = in.Given.Trusted
	}
	if (in.GoOn != nil || in.Fork != nil) && !t.Begins && !t.Open {
		t.Number, t.Begins = t.Number+1, true
	}
	return t
}

func takenOver(carry contract.Carry) (t Takeover) {
	if carry.Outcome != nil {
		t.Number, t.Execution = carry.Outcome.Number, carry.Outcome.ExecutionID
	}
	// The state has far more; these fields tell where its newest execution stands.
	state, err := domain.Decode[struct {
		Count     int            `json:"execution_count"`
		Trusted   domain.Trusted `json:"trusted"`
		Unknown   []domain.Wait  `json:"outcome_unknown"`
		Execution *struct {
			ID     domain.ExecutionID     `json:"execution_id"`
			Status domain.ExecutionStatus `json:"status"`
		} `json:"execution"`
	}](carry.State)
	if err != nil {
		return t
	}
	t.Number, t.Trusted = max(t.Number, state.Count), state.Trusted
	for _, call := range state.Unknown {
		if call.Open() {
			t.Unsettled = append(t.Unsettled, call)
		}
	}
	if e := state.Execution; e != nil {
		t.Execution, t.Open = e.ID, !e.Status.Terminal()
	}
	return t
}
