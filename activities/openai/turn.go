package openai

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// The types of the items that are read and written.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
)

// A mark is what an empty reasoning part holds to say what the place of a part
// does not: that the next call of the message stands here, or the phase of the
// text that follows. A mark for which there is nothing means nothing, so a
// message may be changed without knowing of them. It is recorded and must never
// change.
type mark struct {
	Type  string `json:"type"`
	Phase string `json:"phase,omitzero"`
}

func (m mark) json() json.RawMessage {
	text, _ := json.Marshal(m) // two strings cannot fail
	return text
}

// A writer collects items.
type writer struct {
	// reasons says that the model takes reasoning.
	reasons bool
	items   [][]byte
	err     error
}

func (w *writer) add(item json.Marshaler) {
	text, err := item.MarshalJSON()
	if err != nil && w.err == nil {
		w.err = err
	}
	w.items = append(w.items, text)
}

func (w *writer) text(role responses.EasyInputMessageRole, text, phase string) {
	w.add(responses.EasyInputMessageParam{
		Role: role, Phase: responses.EasyInputMessagePhase(phase),
		Content: responses.EasyInputMessageContentUnionParam{OfString: param.NewOpt(text)},
	})
}

// turn writes what the model said, in the order in which it said it. Reasoning
// is held back until the item follows for which it is: the API refuses it
// without. What another provider wanted back is left out.
func (w *writer) turn(m domain.Message, ids []string) {
	var held [][]byte
	var phase string
	var called int
	release := func() {
		w.items, held = append(w.items, held...), nil
	}
	call := func() {
		if called < len(m.ToolCalls) {
			release()
			w.call(m.ToolCalls[called], ids[called])
			called++
		}
	}
	for _, p := range m.Parts {
		switch p.Type {
		case domain.PartText:
			if p.Text != "" {
				release()
				w.text(responses.EasyInputMessageRoleAssistant, p.Text, phase)
				phase = ""
			}
		case domain.PartReasoning:
			switch kept := read(p.Opaque); kept.Type {
			case itemReasoning:
				if w.reasons && kept.returnable() {
					held = append(held, p.Opaque)
				}
			case itemMessage:
				phase = string(kept.Phase)
			case itemCall:
				call()
			}
		case domain.PartImage, domain.PartFile, domain.PartAudio:
		}
	}
	for called < len(m.ToolCalls) {
		call()
	}
}

// read reads what was kept. What is no item of ours has no type.
func read(opaque json.RawMessage) item {
	var kept item
	if len(opaque) == 0 || json.Unmarshal(opaque, &kept) != nil {
		return item{}
	}
	return kept
}

func (w *writer) call(c domain.ToolCall, id string) {
	w.add(responses.ResponseFunctionToolCallParam{CallID: id, Name: wire.ToolName(c.Name, maxName, ""), Arguments: c.Arguments})
}

// maxName is the longest name of a function that the API takes.
const maxName = 64

// An item is one of an answer's, as far as it is read.
type item struct {
	Type      wire.Text `json:"type"`
	Status    wire.Text `json:"status"`
	Phase     wire.Text `json:"phase"`
	ID        wire.Text `json:"id"`
	CallID    wire.Text `json:"call_id"`
	Name      wire.Text `json:"name"`
	Arguments wire.Text `json:"arguments"`
	Encrypted wire.Text `json:"encrypted_content"`
	Content   contents  `json:"content"`
	Summary   contents  `json:"summary"`

	raw json.RawMessage
}

// returnable reports whether a reasoning item is good without the server's
// having stored it. Open models do not encrypt theirs.
func (i item) returnable() bool {
	return i.ID != "" && i.Status != "in_progress" && i.Status != statusIncomplete && (i.Encrypted != "" || len(i.Content) > 0)
}

// contents are the parts of a message, or of what reasoning says of itself.
type contents []content

type content struct {
	Text    wire.Text `json:"text"`
	Refusal wire.Text `json:"refusal"`
}

// UnmarshalJSON takes a text for a list of one. What is neither is empty; it
// never fails.
func (c *contents) UnmarshalJSON(data []byte) error {
	var list []content
	var text string
	switch {
	case json.Unmarshal(data, &list) == nil:
		*c = list
	case json.Unmarshal(data, &text) == nil:
		*c = contents{{Text: wire.Text(text)}}
	}
	return nil
}

// join is the texts, one after the other.
func (c contents) join(between string) string {
	var texts []string
	for _, one := range c {
		if one.Text+one.Refusal != "" {
			texts = append(texts, string(one.Text+one.Refusal))
		}
	}
	return strings.Join(texts, between)
}
