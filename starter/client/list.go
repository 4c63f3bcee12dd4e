package client

import (
	"context"
	"iter"
	"time"

	"everstep/domain"
)

// A Listed is one agent of a list.
type Listed struct {
	AgentID domain.AgentID `json:"agent_id"`
	// ID is what users call the agent: its name, or its UUID where it has none.
	ID         string `json:"id"`
	Name       string `json:"name,omitzero"`
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// Status is that of the newest execution.
	Status domain.ExecutionStatus `json:"status"`
	// Number and Steps are of the newest execution; Steps is known once it has
	// ended.
	Number     int               `json:"execution_number"`
	Steps      int               `json:"step_count"`
	StopReason domain.StopReason `json:"stop_reason,omitzero"`
	Code       domain.Code       `json:"code,omitzero"`
	// Open says that the workflow is open: an execution is in progress, or the
	// session is idle and takes messages.
	Open bool `json:"open"`
	// ServerStatus is Temporal's own word for the workflow.
	ServerStatus string    `json:"server_status"`
	StartedAt    time.Time `json:"started_at"`
	ClosedAt     time.Time `json:"closed_at,omitzero"`
}

// ListOptions choose what is listed. The zero value lists every agent.
type ListOptions struct {
	// Open leaves out agents that have ended.
	Open bool
	// Limit bounds the number of agents. Zero: no bound.
	Limit int
}

// List yields the agents that the server knows, the open ones first, then the
// newest. It needs no worker. What was started a moment ago may be missing.
func (c *Client) List(ctx context.Context, o ListOptions) iter.Seq2[Listed, error] { panic("soon") }
