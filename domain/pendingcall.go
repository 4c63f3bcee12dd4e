package domain

// A PendingCall is a tool call that waits for a person, as it is named to people: for their word, or their answer.
type PendingCall struct {
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	ExecutionID     ExecutionID     `json:"execution_id"`
	Step            int             `json:"step"`
	Tool            string          `json:"tool"`
}

// Pending is the call itself, of whatever waits with it.
func (p PendingCall) Pending() PendingCall { return p }
