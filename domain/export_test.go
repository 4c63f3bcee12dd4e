package domain

// FirstPart is the first part of the first message that the step in progress has put out, as it is held.
func FirstPart(s AgentState) *Part { return &s.Execution.CurrentStep.Output[0].Parts[0] }
