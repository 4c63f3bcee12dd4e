package contract

import "everstep/domain"

// A Fork makes the input of a workflow that of a new agent, which begins where another one was after a step. The carry
// beside it holds the context that it had then, with a state whose origin is that step.
type Fork struct {
	// Origin is the other agent's step.
	Origin domain.Origin `json:"origin"`
	// Copy, where set, are messages too long to be carried, which agent.Record copies first.
	Copy *RecordRequest `json:"copy,omitempty"`
	// Request is of whoever asked for the fork, by which it is known where that is repeated; empty: it is not.
	Request string `json:"request,omitzero"`
}
