package kills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"everstep/domain"
)

// ledgers is the folder of the ledgers. Each workflow has one, which stands for the other side of its tools and hooks.
const ledgers = "ledgers"

func (p *proof) ledgers() string { return filepath.Join(p.config.Dir, ledgers) }

// An effect is one line of a ledger: a tool, or a hook that is an activity, really did its work.
type effect struct {
	Tool string                 `json:"tool,omitzero"`
	Call domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Hook string                 `json:"hook,omitzero"`
	// Key is that of the effect, and Void says that the call takes none any more.
	Key  string `json:"key,omitzero"`
	Void bool   `json:"void,omitzero"`
}

func ledgerFile(folder, workflowID string) string {
	return filepath.Join(folder, url.PathEscape(workflowID)+".jsonl")
}

// enter appends an effect. One write of an open file in append mode is whole or not there, whenever the process dies.
func enter(folder, workflowID string, e effect) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	file, err := os.OpenFile(ledgerFile(folder, workflowID), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = file.Write(append(text, '\n'))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// readLedger returns the lines of one; there is none before the first effect.
func readLedger(folder, workflowID string) ([]effect, error) {
	data, err := os.ReadFile(ledgerFile(folder, workflowID))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var all []effect
	for line := range bytes.Lines(data) {
		var e effect
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		all = append(all, e)
	}
	return all, nil
}

// An effectCount counts the effects of tool calls, and of hooks by their keys.
type effectCount struct {
	calls map[domain.ToolExecutionID]int
	hooks map[string]int
}

func countEffects(ledger []effect) effectCount {
	counts := effectCount{calls: make(map[domain.ToolExecutionID]int), hooks: make(map[string]int)}
	for _, e := range ledger {
		switch {
		case e.Void:
		case e.Hook != "":
			counts.hooks[e.Hook]++
		default:
			counts.calls[e.Call]++
		}
	}
	return counts
}
