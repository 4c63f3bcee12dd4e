package proof

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"everstep/domain"
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
