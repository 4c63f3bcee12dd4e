package domain

// A SendRequest gives an agent a message.
type SendRequest struct {
	Prompt string `json:"prompt"`
	// IfIdle refuses the message where an execution is in progress.
	IfIdle bool `json:"if_idle,omitzero"`
	// ExecutionID, where given, must be the execution that the sender means.
	ExecutionID ExecutionID `json:"execution_id,omitzero"`
	// Model, where given, replaces the session's from this execution on.
	Model *LLMConfig `json:"model,omitempty"`
	// Budget caps the definition's for the execution that the message begins.
	Budget ExecutionBudget `json:"budget,omitzero"`
	// Definition holds the fields that the sender asked for, the others zero;
	// none may differ from the session's.
	Definition *Definition `json:"definition,omitempty"`
}

// A SendReply says where a message went.
type SendReply struct {
	ExecutionID ExecutionID `json:"execution_id"`
	Number      int         `json:"number"`
	RunID       string      `json:"run_id"`
	// Began says that the message began the execution.
	Began bool `json:"began"`
}

// A CloseRequest ends an idle session.
type CloseRequest struct{}

// A CloseReply confirms it.
type CloseReply struct {
	Executions int `json:"executions"`
}
