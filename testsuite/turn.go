package testsuite

import (
	"encoding/json"
	"time"

	"everstep/domain"
)

// A Turn is what the model does when it is asked once. Its texts may quote what
// tools returned, as a script's may: {{ result "weather" }}.
type Turn struct {
	// Text is what it says, and Reasoning what it thinks before.
	Text, Reasoning string
	// Calls are the tools that it asks for.
	Calls []Call
	// Usage is what it reports. Zero: nothing.
	Usage domain.Usage
	// Finish is why it ended. Empty: tool_calls where there are calls, else stop.
	Finish domain.FinishReason
	// Delay is how long it takes, its text coming evenly.
	Delay time.Duration
	// Failures are what the first attempts at it meet, one each.
	Failures []Failure
}

// A Call is a tool that the model asks for.
type Call struct {
	Name string
	// Arguments is anything that encodes to a JSON object. A string is sent as
	// it is, valid or not. Nil is an object without fields.
	Arguments any
}

// A Failure is what an attempt meets instead of an answer: an HTTP status, or a
// stream that is cut.
type Failure struct {
	// Status is from 400 to 599. Zero: the stream is cut after CutAfter
	// characters of the text, so that the attempt may have been billed.
	Status   int
	CutAfter int
	// Message is what the provider says about it.
	Message string
}

// MarshalJSON writes the turn as a script has it.
func (t Turn) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Text      string              `json:"text,omitzero"`
		Reasoning string              `json:"reasoning,omitzero"`
		Calls     []Call              `json:"tool_calls,omitempty"`
		Usage     *usage              `json:"usage,omitempty"`
		Finish    domain.FinishReason `json:"finish_reason,omitzero"`
		Delay     string              `json:"delay"`
		Failures  []Failure           `json:"failures,omitempty"`
	}{t.Text, t.Reasoning, t.Calls, usageOf(t.Usage), t.Finish, t.Delay.String(), t.Failures})
}

// usage is what a script says of a usage.
type usage struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	CacheReadTokens  int64 `json:"cache_read_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens"`
}

func usageOf(u domain.Usage) *usage {
	if u.IsZero() {
		return nil
	}
	return &usage{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens}
}

// MarshalJSON writes the call as a script has it.
func (c Call) MarshalJSON() ([]byte, error) {
	arguments := c.Arguments
	if arguments == nil {
		arguments = struct{}{}
	}
	return json.Marshal(map[string]any{"name": c.Name, "arguments": arguments})
}

// MarshalJSON writes the failure as a script has it.
func (f Failure) MarshalJSON() ([]byte, error) {
	written := map[string]any{}
	if f.Status != 0 {
		written["status"] = f.Status
	} else {
		written["cut_after"] = f.CutAfter
	}
	if f.Message != "" {
		written["message"] = f.Message
	}
	return json.Marshal(written)
}
