package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"everstep/domain"
)

// An effect is one line of the ledger: a tool really did its work.
type effect struct {
	Tool       string                 `json:"tool"`
	Call       domain.ToolExecutionID `json:"tool_execution_id"`
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

// effects counts the lines of the ledger that an agent's run has left, by call.
func effects(ledger, workflowID string) (map[domain.ToolExecutionID]int, error) {
	file, err := os.Open(ledger)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer file.Close()
	counts := make(map[domain.ToolExecutionID]int)
	for lines := bufio.NewScanner(file); ; {
		if !lines.Scan() {
			return counts, lines.Err()
		}
		var e effect
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		if e.WorkflowID == workflowID {
			counts[e.Call]++
		}
	}
}
