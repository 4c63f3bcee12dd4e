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
	// ID and Model are the provider's words, RequestID is its own id of the
	// request, as far as it has told one.
	ID, Model, RequestID string
	// Usage is what was reported last.
	Usage domain.Usage
	// Emit is told what has arrived. Nil: nobody is.
	Emit func(inference.Delta)

	parts []*draftPart
	calls Calls
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

// Called reports whether there are tool calls.
func (d *Draft) Called() bool { return len(d.calls.list) > 0 }

// Calls are the tool calls, in their order.
func (d *Draft) Calls() []domain.ToolCall { return d.calls.Done() }

// Finished is the whole answer. The word is the provider's own for why the model
// stopped, and kept where it says more than the reason.
func (d *Draft) Finished(finish domain.FinishReason, word string) inference.Answer {
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

// NoIndex is the index of a piece that has none.
const NoIndex = -1

// A Piece is a part of a tool call as it arrives. What it does not have is
// empty, and NoIndex.
type Piece struct {
	Index     int
	ID, Name  string
	Arguments string
}

// Calls puts tool calls together from their pieces. A piece belongs to the
// call with its index; where servers use one index for several calls, or none,
// the id tells, and where there is none either, the place. Arguments are never
// changed: what is not JSON stays as it came. The zero value is empty.
type Calls struct {
	list []*pendingCall
	// held is about how many bytes they take.
	held int
}

type pendingCall struct {
	index     int
	id        string
	name      strings.Builder
	arguments strings.Builder
}

// Add takes a piece, and returns the tool's name where a call begins.
func (c *Calls) Add(piece Piece) string {
	call := c.find(piece)
	begins := call == nil
	if begins {
		call = &pendingCall{index: piece.Index}
		c.list = append(c.list, call)
		c.held += perPart
	}
	if call.id == "" {
		call.id = piece.ID
		c.held += len(piece.ID)
	}
	// Some servers send the name with each piece.
	if piece.Name != call.name.String() {
		call.name.WriteString(piece.Name)
		c.held += len(piece.Name)
	}
	call.arguments.WriteString(piece.Arguments)
	c.held += len(piece.Arguments)
	if begins {
		return call.name.String()
	}
	return ""
}

// find returns the call that a piece goes on with, nil where it begins one.
func (c *Calls) find(piece Piece) *pendingCall {
	var found *pendingCall
	for _, call := range slices.Backward(c.list) {
		if c.same(call, piece) {
			found = call
			break
		}
	}
	// Whether the arguments are whole is asked last: it goes over all of them.
	if found == nil || piece.Name != "" && (piece.ID == "" || piece.Index < 0) && found.finished() {
		return nil
	}
	return found
}

// same reports whether a piece may belong to a call.
func (c *Calls) same(call *pendingCall, piece Piece) bool {
	if piece.Index >= 0 {
		return call.index == piece.Index && (piece.ID == "" || call.id == "" || call.id == piece.ID)
	}
	if piece.ID != "" {
		return call.id == piece.ID
	}
	return call == c.list[len(c.list)-1]
}

// finished reports whether the arguments are whole, so that what names a tool
// again begins another call.
func (p *pendingCall) finished() bool {
	arguments := strings.TrimSpace(p.arguments.String())
	// Asked with each piece of some servers: most are told by their borders.
	return p.name.Len() > 0 && strings.HasPrefix(arguments, "{") && strings.HasSuffix(arguments, "}") && json.Valid([]byte(arguments))
}

// Done returns the calls in their order: by index where each has its own, else
// as they came.
func (c *Calls) Done() []domain.ToolCall {
	list := slices.Clone(c.list)
	seen := make(map[int]bool, len(list))
	for _, call := range list {
		if call.index < 0 || seen[call.index] {
			seen = nil
			break
		}
		seen[call.index] = true
	}
	if seen != nil {
		slices.SortStableFunc(list, func(a, b *pendingCall) int { return a.index - b.index })
	}
	out := make([]domain.ToolCall, 0, len(list))
	for _, call := range list {
		out = append(out, domain.ToolCall{ID: call.id, Name: call.name.String(), Arguments: call.arguments.String()})
	}
	return out
}

// Cut reports whether the token limit cut the last call, though the server may
// say otherwise: the output is as long as it may be, and the arguments are not
// JSON.
func (d *Draft) Cut(bound int64) bool {
	if !d.Called() || bound <= 0 || d.Usage.OutputTokens < bound {
		return false
	}
	calls := d.Calls()
	return !json.Valid([]byte(calls[len(calls)-1].Arguments))
}
