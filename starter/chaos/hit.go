package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"everstep/domain"
)

// A hit says that a worker has reached a boundary, or asks what a tool is to
// return.
type hit struct {
	PID         int                `json:"pid"`
	Boundary    domain.Boundary    `json:"boundary,omitzero"`
	WorkflowID  string             `json:"workflow_id"`
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	Step        int                `json:"step,omitzero"`
	// AgentID stands for WorkflowID where that is not known.
	AgentID domain.AgentID `json:"agent_id,omitzero"`
	// Summary is set for an inference that sums up.
	Summary bool `json:"summary,omitzero"`
	// Hook is set for hooks that are activities; see hookKey.
	Hook string `json:"hook,omitzero"`
	// Call and Position are set for tool calls.
	Call     domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Position int                    `json:"position,omitzero"`
}

// An answer lets the worker go on.
type answer struct {
	// Result is what the tool is to return, where Known.
	Result string `json:"result,omitzero"`
	Known  bool   `json:"known,omitzero"`
}

// A line is the worker's end of the socket; each question has a connection of
// its own.
type line struct{ socket string }

// ask returns the answer, or an error where there is none to come.
func (l line) ask(h hit) (answer, error) {
	conn, err := net.Dial("unix", l.socket)
	if err != nil {
		return answer{}, fmt.Errorf("reach the controller: %w", err)
	}
	defer conn.Close()
	var a answer
	if err := json.NewEncoder(conn).Encode(h); err != nil {
		return a, fmt.Errorf("tell the controller: %w", err)
	}
	if err := json.NewDecoder(bufio.NewReader(conn)).Decode(&a); err != nil {
		return a, fmt.Errorf("hear the controller: %w", err)
	}
	return a, nil
}

// listen answers questions until the listener is closed. decide reports false
// where the worker gets no answer, since it is being killed.
func listen(listener net.Listener, decide func(hit) (answer, bool)) error {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen to workers: %w", err)
		}
		go func() {
			defer conn.Close()
			var h hit
			if json.NewDecoder(bufio.NewReader(conn)).Decode(&h) != nil {
				return // it was killed while it spoke
			}
			if a, goOn := decide(h); goOn {
				_ = json.NewEncoder(conn).Encode(a) // it may be gone
			}
		}()
	}
}
