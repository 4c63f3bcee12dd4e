package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/domain"
)

// A Draft is an answer while it arrives. Its text and reasoning are in parts,
// each at a place: the API's own number of it (a content block, an output
// item), or whatever the adapter counts. In the message they stand in the order
// of their places.
type Draft struct {
	// ID and Model are the provider's words, RequestID is its name of the
	// request: see Attempt.RequestID.
	ID, Model, RequestID string
	// Usage is what was reported last.
	Usage domain.Usage

	parts []*draftPart
	calls Calls
	held  int
	told  bool
	emit  func(inference.Delta)
	news  inference.Delta
}

type draftPart struct {
	at   int
	kind domain.PartType
	text strings.Builder
	// signature and opaque are what the provider wants back.
	signature string
	opaque    json.RawMessage
}

// NewDraft returns an empty draft that tells emit what has arrived. Nil: nobody.
func NewDraft(emit func(inference.Delta)) *Draft { return &Draft{emit: emit} }

// part returns the part at a place; where there is none, or one of another
// kind, it is begun.
func (d *Draft) part(at int, kind domain.PartType) *draftPart {
	for _, p := range d.parts {
		if p.at == at && p.kind == kind {
			return p
		}
	}
	p := &draftPart{at: at, kind: kind}
	d.parts = append(d.parts, p)
	d.held += perPart
	return p
}

// Text adds to the text at a place.
func (d *Draft) Text(at int, piece string) {
	if piece != "" {
		d.part(at, domain.PartText).text.WriteString(piece)
		d.held += len(piece)
		d.news.Text += piece
	}
}

// Reasoning adds to the reasoning at a place.
func (d *Draft) Reasoning(at int, piece string) {
	if piece != "" {
		d.part(at, domain.PartReasoning).text.WriteString(piece)
		d.held += len(piece)
		d.news.Reasoning += piece
	}
}

// Keep sets what the provider wants back with the reasoning at a place, byte
// for byte: a signature, a JSON value, or both. There need not be a text.
func (d *Draft) Keep(at int, signature string, opaque json.RawMessage) {
	p := d.part(at, domain.PartReasoning)
	p.signature, p.opaque = signature, slices.Clone(opaque)
	d.held += len(signature) + len(opaque)
}

// Call adds a piece of a tool call.
func (d *Draft) Call(piece Piece) {
	name := d.calls.Add(piece)
	if name == "" {
		return
	}
	if d.news.Tool != "" {
		d.Flush() // one delta tells of one call
	}
	d.news.Tool = name
}

// Hold counts bytes that the adapter itself keeps until the answer is whole, and
// what is around them.
func (d *Draft) Hold(bytes int) { d.held += bytes }

// Held is about how many bytes are kept of the answer. Each part and each call
// counts as 1 KiB beside its text.
func (d *Draft) Held() int { return d.held + d.calls.held }

// Flush tells what has arrived since the last time. Call it once for an event.
func (d *Draft) Flush() {
	if !d.news.IsEmpty() && d.emit != nil {
		d.emit(d.news)
		d.told = true
	}
	d.news = inference.Delta{}
}

// Told reports whether anything was told of the answer.
func (d *Draft) Told() bool { return d.told }

// TextAt is the text at a place, so far.
func (d *Draft) TextAt(at int) string {
	for _, p := range d.parts {
		if p.at == at && p.kind == domain.PartText {
			return p.text.String()
		}
	}
	return ""
}

// DropText leaves the text at a place out of the answer.
func (d *Draft) DropText(at int) {
	d.parts = slices.DeleteFunc(d.parts, func(p *draftPart) bool { return p.at == at && p.kind == domain.PartText })
}

// Calls are the tool calls, in their order.
func (d *Draft) Calls() []domain.ToolCall { return d.calls.Done() }

// Answer is the whole answer. The word is the provider's own for why the model
// stopped, and kept where it says more than the reason.
func (d *Draft) Answer(finish domain.FinishReason, word string) inference.Answer {
	slices.SortStableFunc(d.parts, func(a, b *draftPart) int { return cmp.Compare(a.at, b.at) })
	parts := make([]domain.Part, 0, len(d.parts))
	for _, p := range d.parts {
		parts = append(parts, domain.Part{Type: p.kind, Text: p.text.String(), Signature: p.signature, Opaque: p.opaque})
	}
	if word == string(finish) {
		word = ""
	}
	return inference.Answer{
		Message:  inference.AssistantMessage(parts, "", d.calls.Done()),
		Response: domain.Response{ID: d.ID, RequestID: d.RequestID, Model: d.Model, Finish: finish, FinishWord: word, Usage: d.Usage},
	}
}

// Partial is what had come of an answer that was cut off: no tool calls, and
// nothing that the provider would want back. Where no usage was reported for it
// the calls are counted all the same.
func (d *Draft) Partial() inference.Answer {
	slices.SortStableFunc(d.parts, func(a, b *draftPart) int { return cmp.Compare(a.at, b.at) })
	var text, reasoning strings.Builder
	for _, p := range d.parts {
		if p.kind == domain.PartText {
			text.WriteString(p.text.String())
		} else {
			reasoning.WriteString(p.text.String())
		}
	}
	usage, message := d.Usage, inference.PartialMessage(reasoning.String(), text.String())
	if calls := d.calls.Done(); len(calls) > 0 && usage.OutputTokens == 0 {
		written := message
		written.ToolCalls = calls
		usage.OutputTokens, usage.Estimated = inference.OutputTokens(written), true
	}
	return inference.Answer{
		Message:  message,
		Response: domain.Response{ID: d.ID, RequestID: d.RequestID, Model: d.Model, Usage: usage},
		Partial:  true,
	}
}
