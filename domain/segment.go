package domain

import "fmt"

// A Segment is a range of the transcript that lives in storage: the messages
// From up to but not including To, recorded by one run.
type Segment struct {
	RunID string `json:"run_id"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	// Digest is the chain's at To.
	Digest Digest `json:"digest"`
	// Bytes is the size of the stored object.
	Bytes int64 `json:"bytes,omitzero"`
}

// Key is the segment's name in storage.
func (s Segment) Key(workflowID string) string {
	return fmt.Sprintf("segments/%s/%s/%d-%d-%s", workflowID, s.RunID, s.From, s.To, s.Digest)
}

// A RecordRequest asks for a range of the transcript to be written to storage.
type RecordRequest struct {
	From int    `json:"from"`
	Log  LogRef `json:"log"`
	// RunID is the run whose messages are to be copied; empty: the one that asks.
	RunID string `json:"run_id,omitzero"`
}
