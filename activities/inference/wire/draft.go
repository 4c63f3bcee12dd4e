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
// of their places. The zero value is empty.
type Draft struct {
	// ID and Model are the provider's words, RequestID is its id of the request, where told.
	ID, Model, RequestID string
	// Usage is what was reported last.
	Usage domain.Usage
	// Emit is told what has arrived. Nil: nobody is.
	Emit func(inference.Delta)

	parts []*draftPart
	calls []*draftCall
	held  int
	told  bool
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

// part returns the part of a kind at a place, nil where there is none.
func (d *Draft) part(at int, kind domain.PartType) *draftPart {
	for _, p := range d.parts {
		if p.at == at && p.kind == kind {
			return p
		}
	}
	return nil
}

// begin returns the part of a kind at a place, a new one where there was none.
func (d *Draft) begin(at int, kind domain.PartType) *draftPart {
	p := d.part(at, kind)
	if p == nil {
		p = &draftPart{at: at, kind: kind}
		d.parts = append(d.parts, p)
		d.held += perPart
	}
	return p
}

// Identify takes the id and the model's name, as first told.
func (d *Draft) Identify(id, model Text) {
	d.ID, d.Model = cmp.Or(d.ID, string(id)), cmp.Or(d.Model, string(model))
}

// Report takes a usage, unless it says nothing.
func (d *Draft) Report(usage domain.Usage) {
	if !usage.IsZero() {
		d.Usage = usage
	}
}

// Text adds to the text at a place.
func (d *Draft) Text(at int, piece string) { d.add(at, domain.PartText, piece, &d.news.Text) }

// Reasoning adds to the reasoning at a place.
func (d *Draft) Reasoning(at int, piece string) {
	d.add(at, domain.PartReasoning, piece, &d.news.Reasoning)
}

func (d *Draft) add(at int, kind domain.PartType, piece string, news *string) {
	if piece != "" {
		d.begin(at, kind).text.WriteString(piece)
		d.held += len(piece)
		*news += piece
	}
}

// Keep sets what the provider wants back with the reasoning at a place, byte
// for byte: a signature, a JSON value, or both. There need not be a text.
func (d *Draft) Keep(at int, signature string, opaque json.RawMessage) {
	p := d.begin(at, domain.PartReasoning)
	p.signature, p.opaque = signature, slices.Clone(opaque)
	d.held += len(signature) + len(opaque)
}

// Hold counts bytes that the adapter itself keeps until the answer is whole.
func (d *Draft) Hold(bytes int) { d.held += bytes }

// Held is about how many bytes are kept, 1 KiB for each part and call beside its text.
func (d *Draft) Held() int { return d.held }

// Flush tells what has arrived since the last time. Call it once for an event.
func (d *Draft) Flush() {
	if !d.news.IsEmpty() && d.Emit != nil {
		d.Emit(d.news)
		d.told = true
	}
	d.news = inference.Delta{}
}

// Told reports whether anything was told of the answer.
func (d *Draft) Told() bool { return d.told }

// TextAt is the text at a place, so far.
func (d *Draft) TextAt(at int) string {
	if p := d.part(at, domain.PartText); p != nil {
		return p.text.String()
	}
	return ""
}

// DropText leaves the text at a place out of the answer.
func (d *Draft) DropText(at int) {
	d.parts = slices.DeleteFunc(d.parts, func(p *draftPart) bool { return p.at == at && p.kind == domain.PartText })
}

// Called reports whether there are tool calls.
func (d *Draft) Called() bool { return len(d.calls) > 0 }

// Finished is the whole answer. The word is the provider's own for why the model
// stopped, and kept where it says more than the reason.
func (d *Draft) Finished(finish domain.FinishReason, word string) inference.Answer {
	parts := make([]domain.Part, 0, len(d.parts))
	for _, p := range d.inOrder() {
		parts = append(parts, domain.Part{Type: p.kind, Text: p.text.String(), Signature: p.signature, Opaque: p.opaque})
	}
	out := inference.Answer{Message: inference.AssistantMessage(parts, "", d.Calls()), Response: d.response()}
	out.Response.Finish = finish
	if word != string(finish) {
		out.Response.FinishWord = word
	}
	return out
}

// Partial is what had come of an answer that was cut off: no tool calls, which count all the
// same where no usage was reported.
func (d *Draft) Partial() inference.Answer {
	said := map[domain.PartType]string{}
	for _, p := range d.inOrder() {
		said[p.kind] += p.text.String()
	}
	out := inference.Answer{
		Message: inference.PartialMessage(said[domain.PartReasoning], said[domain.PartText]), Response: d.response(), Partial: true,
	}
	if d.Called() && d.Usage.OutputTokens == 0 {
		written := out.Message
		written.ToolCalls = d.Calls()
		out.Response.Usage.OutputTokens, out.Response.Usage.Estimated = inference.OutputTokens(written), true
	}
	return out
}

func (d *Draft) inOrder() []*draftPart {
	slices.SortStableFunc(d.parts, func(a, b *draftPart) int { return cmp.Compare(a.at, b.at) })
	return d.parts
}

func (d *Draft) response() domain.Response {
	return domain.Response{ID: d.ID, RequestID: d.RequestID, Model: d.Model, Usage: d.Usage}
}

// NoIndex is the index of a piece that has none.
const NoIndex = -1

// A Piece is a part of a tool call as it arrives. What it lacks is empty, and NoIndex.
type Piece struct {
	Index     int
	ID, Name  string
	Arguments string
}

type draftCall struct {
	index     int
	id        string
	name      strings.Builder
	arguments strings.Builder
}

// Call adds a piece of a tool call. It belongs to the call with its index; where
// servers use one index for several calls, or none, the id tells, and where there
// is none either, the place. Arguments are never changed: what is not JSON stays
// as it came.
func (d *Draft) Call(piece Piece) {
	if piece.ID+piece.Name+piece.Arguments == "" {
		return // servers fill in what is not there
	}
	call := d.callOf(piece)
	begins := call == nil
	if begins {
		call = &draftCall{index: piece.Index}
		d.calls = append(d.calls, call)
		d.held += perPart
	}
	if call.id == "" {
		call.id = piece.ID
		d.held += len(piece.ID)
	}
	// Some servers send the name with each piece.
	if piece.Name != call.name.String() {
		call.name.WriteString(piece.Name)
		d.held += len(piece.Name)
	}
	call.arguments.WriteString(piece.Arguments)
	d.held += len(piece.Arguments)
	if begins && piece.Name != "" {
		if d.news.Tool != "" {
			d.Flush() // one delta tells of one call
		}
		d.news.Tool = piece.Name
	}
}

// callOf returns the call that a piece goes on with, nil where it begins one.
func (d *Draft) callOf(piece Piece) *draftCall {
	for last, call := range slices.Backward(d.calls) {
		same := last == len(d.calls)-1
		switch {
		case piece.Index >= 0:
			same = call.index == piece.Index && (piece.ID == "" || call.id == "" || call.id == piece.ID)
		case piece.ID != "":
			same = call.id == piece.ID
		}
		if !same {
			continue
		}
		// Whether the arguments are whole is asked last: it goes over all of them.
		if piece.Name != "" && (piece.ID == "" || piece.Index < 0) && call.finished() {
			return nil
		}
		return call
	}
	return nil
}

// finished reports whether the arguments are whole: what names a tool again begins another call.
func (c *draftCall) finished() bool {
	arguments := strings.TrimSpace(c.arguments.String())
	// Asked with each piece of some servers: most are told by their borders.
	return c.name.Len() > 0 && strings.HasPrefix(arguments, "{") && strings.HasSuffix(arguments, "}") && json.Valid([]byte(arguments))
}

// Calls are the tool calls: by index where each has its own, else as they came.
func (d *Draft) Calls() []domain.ToolCall {
	list := slices.SortedStableFunc(slices.Values(d.calls), func(a, b *draftCall) int { return cmp.Compare(a.index, b.index) })
	for i, call := range list {
		if call.index < 0 || i > 0 && call.index == list[i-1].index {
			list = d.calls
			break
		}
	}
	out := make([]domain.ToolCall, 0, len(list))
	for _, call := range list {
		out = append(out, domain.ToolCall{ID: call.id, Name: call.name.String(), Arguments: call.arguments.String()})
	}
	return out
}

// Cut reports whether the token limit cut the last call, whatever the server says: the
// output is as long as may be, and the arguments are not JSON.
func (d *Draft) Cut(bound int64) bool {
	if !d.Called() || bound <= 0 || d.Usage.OutputTokens < bound {
		return false
	}
	calls := d.Calls()
	return !json.Valid([]byte(calls[len(calls)-1].Arguments))
}
