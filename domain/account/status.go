package account

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// A Status is what an agent is doing now: the head of its account, its newest execution, and what only its server knows.
type Status struct {
	Head
	// Execution is the newest, or the first, which is to begin.
	Execution
	Server Server
	// History is the size of the newest run's.
	History contract.HistoryView
	// ServedBy are the builds that would carry the agent on, where all of them are others.
	ServedBy string
	// RateLimited says that an inference or a call waits for its turn, and Progress is what the calls under way tell of themselves.
	RateLimited bool
	Progress    []contract.Progress
	// AtEvent is the sequence number of the event up to which the history was read; zero: all of it.
	AtEvent int
}

// StatusOf is what a head says of its agent. What only the server knows is absent, and the source is the workflow.
func StatusOf(h Head) Status {
	s := Status{
		Head: h, Execution: Execution{Outcome: contract.Outcome{Status: domain.StatusPending}}, Server: Server{Source: contract.FromWorkflow},
		History: contract.HistoryView{Runs: h.Run.Number, Unstored: h.Unstored, Unrecorded: h.Unrecorded},
	}
	if h.Newest != nil {
		s.Execution = *h.Newest
	}
	return s
}

// Failure is why the execution failed; nil: it has not.
func (s Status) Failure() *domain.Error {
	if s.Ended == nil || s.Status != domain.StatusFailed {
		return nil
	}
	return s.Ended.Error
}

// TakesCommands reports whether there is a workflow that takes what people say: an execution is in progress, or the session is open.
func (s Status) TakesCommands() bool { return s.Open || !s.Status.Terminal() }

// Resolves reports whether another workflow would resolve a call of an agent that has ended by itself, and has no name.
func (s Status) Resolves(w domain.Wait) bool {
	return w.Kind.Rule().Outlasts && s.Name == "" && s.Server.Source != contract.FromRecords && s.Server.Ended == ""
}

// Own is what bounds the newest execution, or nothing where nobody tells it.
func (l Ledger) Own() Holder {
	if l.Execution == nil {
		return Holder{}
	}
	return *l.Execution
}

// OriginNumber is the number of the execution that one of the agent goes on from; zero: that is another agent's, or there is none.
func (h Head) OriginNumber(e Execution) int {
	switch {
	case e.Origin == nil, !e.Origin.AgentID.IsZero() && e.Origin.AgentID != h.AgentID:
		return 0
	case h.Name == "": // it goes on from where it has ended, in another workflow
		return e.Number - 1
	}
	return h.numberOf(e.Origin.ExecutionID, e.Number-1)
}

// RewoundToNumber is the number of the execution to which a rewind has taken the session; zero: none has, or it is another agent's.
func (h Head) RewoundToNumber() int {
	if h.Position.From == nil || h.Newest == nil {
		return 0
	}
	return h.numberOf(h.Position.From.ExecutionID, h.Newest.Number)
}

// numberOf is the number of an execution of the session, up to the newest that it can be; zero: it is none of them, or long ago.
func (h Head) numberOf(id domain.ExecutionID, newest int) int {
	for n := newest; n > max(newest-100_000, 0); n-- { // a record that was imported may have any number
		if h.AgentID.Execution(h.Run.First, n) == id {
			return n
		}
	}
	return 0
}
