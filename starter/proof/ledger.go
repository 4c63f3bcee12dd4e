package proof

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"everstep/domain"
	"everstep/domain/contract"
)

// An effect is one line of the ledger: a tool, or a hook that is an activity,
// really did its work.
type effect struct {
	Tool       string                 `json:"tool,omitzero"`
	Call       domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Hook       string                 `json:"hook,omitzero"`
	WorkflowID string                 `json:"workflow"`
	Step       int                    `json:"step"`
	Position   int                    `json:"position"`
	Attempt    int                    `json:"attempt"`
}

// enter appends an effect. One write of an open file in append mode is whole or
// not there, whenever the process dies.
func enter(ledger string, e effect) error {
	file, err := os.OpenFile(ledger, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	text, err := json.Marshal(e)
	if err == nil {
		_, err = file.Write(append(text, '\n'))
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// entries counts the lines of the ledger that an agent's run has left: of tool
// calls, and of hooks by their keys.
type entries struct {
	calls map[domain.ToolExecutionID]int
	hooks map[string]int
}

func effects(ledger, workflowID string) (entries, error) {
	counts := entries{calls: make(map[domain.ToolExecutionID]int), hooks: make(map[string]int)}
	file, err := os.Open(ledger)
	if os.IsNotExist(err) {
		return counts, nil
	}
	if err != nil {
		return counts, fmt.Errorf("ledger: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); ; {
		if !lines.Scan() {
			return counts, lines.Err()
		}
		var e effect
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return counts, fmt.Errorf("ledger: %w", err)
		}
		switch {
		case e.WorkflowID != workflowID:
		case e.Hook != "":
			counts.hooks[e.Hook]++
		default:
			counts.calls[e.Call]++
		}
	}
}

// A hit says that a worker has reached a boundary, or asks what a tool is to
// return.
type hit struct {
	PID         int                `json:"pid"`
	Boundary    contract.Boundary  `json:"boundary,omitzero"`
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
