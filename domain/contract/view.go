package contract

import (
	"everstep/domain"
	"everstep/domain/enum"
	"fmt"
	"time"
)

// A StatusSource says where a status comes from.
type StatusSource string

const (
	// FromWorkflow: the workflow itself answered.
	FromWorkflow StatusSource = "workflow"
	// FromHistory: no worker answered; the history was replayed.
	FromHistory StatusSource = "history"
	// FromRawHistory: no worker answered, and this build cannot replay the history; what its last inference answered tells.
	FromRawHistory StatusSource = "raw_history"
	// FromServer: the server ended the workflow, and tells.
	FromServer StatusSource = "server"
	// FromRecords: the server has it no more; the record of the execution tells.
	FromRecords StatusSource = "records"
)

// UnmarshalText accepts the known sources only.
func (s *StatusSource) UnmarshalText(text []byte) error {
	return enum.Decode(s, text, "source", FromWorkflow, FromHistory, FromRawHistory, FromServer, FromRecords)
}

// A HistoryView is the size of the current run's history.
type HistoryView struct {
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
	// Runs counts the runs of the chain, this one included.
	Runs int `json:"runs,omitzero"`
	// Unstored says why the storage did not take the transcript, without which the run cannot continue
	// as new: it goes on, and tries again after some steps. Only the server's own bounds end it.
	Unstored string `json:"unstored,omitzero"`
	// Unrecorded says how many ended executions are not among the records yet, and why; it is tried again
	// when the next one has ended.
	Unrecorded string `json:"unrecorded,omitzero"`
}

// A LargePage in a request asks for all of a run at once, where that is not too much. A page from 64 KiB
// on is compressed then, as host.Dial makes clients read it; others ask without.
type LargePage struct {
	Large bool `json:"large,omitzero"`
}

// Compressed reports whether the answer may be compressed.
func (p LargePage) Compressed() bool { return p.Large }

// MaxBytes bounds the page.
func (p LargePage) MaxBytes() int {
	if p.Large {
		return domain.MaxLargePage
	}
	return domain.MaxPage
}

// A MessagesRequest asks for the transcript from an index on.
type MessagesRequest struct {
	From int `json:"from,omitzero"`
	// Chain, where given, is what the asker holds of the messages before From: where it differs, the
	// page starts at the workflow's base instead.
	Chain *domain.Digest `json:"chain,omitempty"`
	// Resolved asks for the definition in force unless the asker has it.
	Resolved *domain.Digest `json:"resolved,omitempty"`
	// Limit bounds the number of messages; zero is as many as fit.
	Limit int `json:"limit,omitzero"`
}

// A MessagesPage is a part of the transcript.
type MessagesPage struct {
	Entries []domain.Entry `json:"entries"`
	// From is the index of the first entry of the page and Before the chain's digest there.
	From   int           `json:"from"`
	Before domain.Digest `json:"before"`
	// Base is the first index that this run holds.
	Base int `json:"base"`
	// Length is the number of messages of the whole transcript.
	Length   int       `json:"length"`
	Segments []Segment `json:"segments,omitempty"`
	Resolved *Resolved `json:"resolved,omitempty"`
}

// A Segment is a range of the transcript that lives in storage: the messages
// From up to but not including To, recorded by one run.
type Segment struct {
	RunID string `json:"run_id"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	// Digest is the chain's at To.
	Digest domain.Digest `json:"digest"`
	// Bytes is the size of the stored object.
	Bytes int64 `json:"bytes,omitzero"`
}

// Key is the segment's name in storage.
func (s Segment) Key(workflowID string) string {
	return fmt.Sprintf("%s%s/%d-%d-%s", SegmentsOf(workflowID), s.RunID, s.From, s.To, s.Digest)
}

// SegmentsOf begins the names of all segments of a workflow.
func SegmentsOf(workflowID string) string { return fmt.Sprintf("segments/%s/", workflowID) }

// A RecordRequest asks for a range of the transcript to be written to storage.
type RecordRequest struct {
	From int           `json:"from"`
	Log  domain.LogRef `json:"log"`
	// RunID is the run whose messages are to be copied; empty: the one that asks.
	RunID string `json:"run_id,omitzero"`
	// WorkflowID is that of the run, where it is another agent's.
	WorkflowID string `json:"workflow_id,omitzero"`
	// Ended, where given, is an execution that is to be put among the records instead.
	Ended *EndedExecution `json:"ended,omitempty"`
	// Moved, where given, is the newest move of the session, whose position is to be put among the records instead.
	Moved *Move `json:"moved,omitempty"`
}

// A Move is a rewind or a clear, which changes where in its past an idle session stands.
type Move struct {
	// Number counts the moves of the session from 1.
	Number int `json:"number"`
	// After is the number of the execution that had ended last.
	After int       `json:"after_execution"`
	At    time.Time `json:"at"`
}

// An EndedExecution names one that has ended, by the run that tells it.
type EndedExecution struct {
	Number int    `json:"execution_number"`
	RunID  string `json:"run_id"`
	// Log is the transcript as the execution left it.
	Log domain.LogRef `json:"log"`
}
