package client

import (
	"context"

	"everstep/domain"
)

// SendOptions are what an idle session is sent.
type SendOptions struct {
	Prompt string
	// Model, where given, replaces the session's from this execution on.
	Model *domain.LLMConfig
	// Budget caps the definition's for the execution that the message begins.
	Budget domain.ExecutionBudget
}

// Send gives a named agent a message, which begins its next execution. It is
// refused while one is in progress, after the session was closed, and by agents
// without a name, which take one prompt. It needs a worker: where none is up
// Config.Progress is told after 5 s, and Send keeps trying until ctx ends.
func (c *Client) Send(ctx context.Context, id string, o SendOptions) (Execution, error) {
	panic("soon")
}

// Close ends an idle session. It is refused while an execution is in progress.
// It needs a worker, as Send does. It returns how many executions the session
// had.
func (c *Client) Close(ctx context.Context, id string) (int, error) { panic("soon") }
