package client

import (
	"context"

	"everstep/domain"
)

// A Start begins an execution.
type Start struct {
	// ID is the agent's name or UUID. Empty: a new agent without a name.
	ID     string
	Prompt string
	// Definition is what a new agent is.
	Definition domain.Definition
	// Given holds those fields of Definition that were asked for explicitly,
	// the others zero. An open session is compared with it: its model replaces
	// the session's, any other field that differs is refused. Nil: all of
	// Definition was asked for.
	Given *domain.Definition
	// Budget caps the definition's.
	Budget domain.ExecutionBudget
}

// Start begins the next execution of an agent: of a new one, of one whose
// session is open and idle, or of one that ended, anew. It is refused while an
// execution is in progress. It needs a worker only where a session is open;
// Config.Progress is told when none is up.
func (c *Client) Start(ctx context.Context, s Start) (Execution, error) { panic("soon") }
