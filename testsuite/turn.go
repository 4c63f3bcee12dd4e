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
	Text      string `json:"text,omitzero"`
	Reasoning string `json:"reasoning,omitzero"`
	// Calls are the tools that it asks for.
	Calls []Call `json:"tool_calls,omitempty"`
	// Usage is what it reports. Zero: nothing.
	Usage domain.Usage `json:"usage,omitzero"`
	// Finish is why it ended. Empty: tool_calls where there are calls, else stop.
	Finish domain.FinishReason `json:"finish_reason,omitzero"`
	// Delay is how long it takes, its text coming evenly.
	Delay time.Duration `json:"delay"`
	// Failures are what the first attempts at it meet, one each.
	Failures []Failure `json:"failures,omitempty"`
}

// MarshalJSON writes the turn as a script has it.
func (t Turn) MarshalJSON() ([]byte, error) {
	type turn Turn
	t.Usage.Estimated = false // a script has no word for it
	return json.Marshal(struct {
		turn
		Delay string `json:"delay"`
	}{turn(t), t.Delay.String()})
}

// A Call is a tool that the model asks for.
type Call struct {
	Name string `json:"name"`
	// Arguments is anything that encodes to a JSON object. A string is sent as
	// it is, valid or not. Nil is an object without fields.
	Arguments any `json:"arguments,omitempty"`
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

// MarshalJSON writes the failure as a script has it.
func (f Failure) MarshalJSON() ([]byte, error) {
	written := map[string]any{"message": f.Message, "status": f.Status}
	if f.Status == 0 {
		delete(written, "status")
		written["cut_after"] = f.CutAfter
	}
	return json.Marshal(written)
}
