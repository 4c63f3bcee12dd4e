package accountcheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

func noteFile(dir, workflowID string) string {
	return filepath.Join(dir, url.PathEscape(workflowID)+".jsonl")
}

// write appends a note to the file of its workflow. The line break comes first, since whoever wrote before may have been killed.
func write(dir, workflowID string, note Note) error {
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(noteFile(dir, workflowID), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append([]byte{'\n'}, text...))
	return errors.Join(err, file.Close())
}

// Read returns the notes of a workflow that workers have kept in a folder. A line that a killed worker has not finished is
// passed over: its workflow task was not completed.
func Read(dir, workflowID string) (Notes, error) {
	data, err := os.ReadFile(noteFile(dir, workflowID))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the accounts of workers: %w", err)
	}
	all := Notes{}
	for line := range bytes.Lines(data) {
		var note Note
		if json.Unmarshal(line, &note) == nil {
			all.add(note)
		}
	}
	return all, nil
}
