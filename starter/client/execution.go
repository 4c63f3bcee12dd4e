package client

import (
	"encoding/json"

	"everstep/domain"
)

// An Execution names one execution of one agent.
type Execution struct {
	AgentID domain.AgentID `json:"agent_id"`
	// ID is what users call the agent: its name, or its UUID where it has none.
	ID          string             `json:"id"`
	Name        string             `json:"name,omitzero"`
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	// Number counts the agent's executions from 1.
	Number     int    `json:"execution_number"`
	WorkflowID string `json:"workflow_id"`
	// RunID is Temporal's id of the run in which it was at the time.
	RunID string `json:"run_id"`
}

// A Result says how an execution ended and what it answered.
type Result struct {
	Execution
	Outcome domain.Outcome `json:"outcome"`
	// Answer is the text of the execution's answer. It may be empty, and may
	// be partial where the execution did not complete.
	Answer string `json:"answer"`
	// Output is the answer as a JSON value, where the agent's response format
	// asks for one and the execution completed. It has been checked then.
	Output json.RawMessage `json:"output,omitempty"`
	// Error says why the execution failed, where it did and where that is known.
	Error *domain.Error `json:"error,omitempty"`
	// Signal is the one that ended the execution, where it did not complete and
	// a worker tells it.
	Signal *domain.StopSignal `json:"signal,omitempty"`
	// Source says who told the answer.
	Source domain.StatusSource `json:"source"`
}
