package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
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
	// lists counts the lists of pieces of calls.
	lists int
	held  int
	told  bool
	news  inference.Delta
}

type draftPart struct {
	at   int
	kind domain.PartType
	text writing
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

// Report takes a usage. What it does not say stays as reported before: some servers count the input where an answer begins
// and the output where it ends.
func (d *Draft) Report(usage domain.Usage) {
	before := d.Usage
	d.Usage = usage
	if usage.InputTokens == 0 {
		d.Usage.InputTokens, d.Usage.CacheReadTokens, d.Usage.CacheWriteTokens = before.InputTokens, before.CacheReadTokens, before.CacheWriteTokens
	}
	if usage.OutputTokens == 0 {
		d.Usage.OutputTokens, d.Usage.ReasoningTokens = before.OutputTokens, before.ReasoningTokens
	}
}

// Text adds to the text at a place, and returns by how many bytes it grew.
func (d *Draft) Text(at int, piece string) int {
	return d.add(at, domain.PartText, piece, &d.news.Text)
}

// Reasoning adds to the reasoning at a place, and returns by how many bytes it grew.
func (d *Draft) Reasoning(at int, piece string) int {
	return d.add(at, domain.PartReasoning, piece, &d.news.Reasoning)
}

func (d *Draft) add(at int, kind domain.PartType, piece string, news *string) int {
	if piece == "" {
		return 0
	}
	d.held += len(piece)
	p := d.begin(at, kind)
	whole := p.text.write(piece)
	*news += whole
	return len(whole)
}

// Keep sets what the provider wants back with the reasoning at a place, byte
// for byte: a signature, a JSON value, or both. There need not be a text. A value that is nested so deep that a record which holds
// it could not be read again is left out.
func (d *Draft) Keep(at int, signature string, opaque json.RawMessage) {
	const within = 64 // levels, of which the record adds some
	if !json.Valid(slices.Concat(bytes.Repeat([]byte("["), within), opaque, bytes.Repeat([]byte("]"), within))) {
		opaque = nil
	}
	if signature == "" && opaque == nil {
		return
	}
	p := d.begin(at, domain.PartReasoning)
	p.signature, p.opaque = signature, slices.Clone(opaque)
	d.held += len(signature) + len(opaque)
}

// Hold counts bytes that the adapter itself keeps until the answer is whole.
func (d *Draft) Hold(bytes int) { d.held += bytes }

// Held is about how many bytes are kept, 1 KiB for each part and call beside its text.
func (d *Draft) Held() int { return d.held }

// Flush tells what has arrived since the last time. The attempt calls it after each event.
func (d *Draft) Flush() {
	if d.news != (inference.Delta{}) && d.Emit != nil {
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
		return p.text.all()
	}
	return ""
}

// DropText leaves the text at a place out of the answer.
func (d *Draft) DropText(at int) {
	d.parts = slices.DeleteFunc(d.parts, func(p *draftPart) bool { return p.at == at && p.kind == domain.PartText })
}

// Restart leaves all that was said out of the answer.
func (d *Draft) Restart() { d.parts, d.calls, d.news = nil, nil, inference.Delta{} }

// Called reports whether there are tool calls.
func (d *Draft) Called() bool { return len(d.Calls()) > 0 }

// Finished is the whole answer. The word is the provider's own for why the model
// stopped, and kept where it says more than the reason.
func (d *Draft) Finished(finish domain.FinishReason, word string) inference.Answer {
	parts := make([]domain.Part, 0, len(d.parts))
	for _, p := range d.inOrder() {
		parts = append(parts, domain.Part{Type: p.kind, Text: p.text.all(), Signature: p.signature, Opaque: p.opaque})
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
		said[p.kind] += p.text.all()
	}
	out := inference.Answer{Response: d.response(), Partial: true}
	if len(said) > 0 || d.Called() {
		out.Message = inference.PartialMessage(said[domain.PartReasoning], said[domain.PartText])
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
	// Beside are the fields that only the server knows.
	Beside Extra
}

// Call adds pieces of tool calls that came in one list. A piece belongs to the call of its
// index and id: a new call begins where the id changes, and where an API gives neither, by
// the place. A piece that brings nothing begins no call. Arguments are never changed: what is
// not JSON stays as it came.
func (d *Draft) Call(list ...Piece) {
	d.lists++
	for _, piece := range list {
		if piece.ID+piece.Name+piece.Arguments == "" && (len(piece.Beside) == 0 || len(d.calls) == 0) {
			continue // servers fill in what is not there
		}
		call := d.callOf(piece)
		if call != nil && call.whole {
			switch {
			case call.repeatedBy(piece, d.lists):
				piece.Arguments = ""
			case piece.Name != "" && call.name.Len() > 0:
				call = nil // a call is over once its arguments are whole: what is named then is another
			}
		}
		begins := call == nil
		if begins {
			if d.held > maxHeld {
				return // the answer is refused behind this event
			}
			call = &draftCall{index: piece.Index}
			d.calls = append(d.calls, call)
			d.held += perPart
		}
		call.beside.Add(piece.Beside)
		if call.id == "" {
			call.id = piece.ID
			d.held += len(piece.ID)
		}
		named := call.name.Len()
		call.name.WriteString(strings.TrimPrefix(piece.Name, call.name.String())) // unless it repeats the name so far
		d.held += call.name.Len() - named + len(piece.Arguments)
		call.writeArguments(piece.Arguments)
		if piece.Name == "" {
			continue
		}
		call.list = d.lists
		if !begins {
			continue
		}
		if d.news.Tool != "" {
			d.Flush() // one delta tells of one call
		}
		d.news.Tool = piece.Name
	}
}

// callOf returns the call that a piece is a part of, nil where it begins one. Of several that fit the newest counts.
func (d *Draft) callOf(piece Piece) *draftCall {
	var last, sameID, sameIndex, both *draftCall
	for _, call := range d.calls {
		last = call
		id, index := piece.ID != "" && call.id == piece.ID, piece.Index >= 0 && call.index == piece.Index
		if id {
			sameID = call
		}
		if index {
			sameIndex = call
		}
		if index && (id || piece.ID == "" || call.id == "") {
			both = call
		}
	}
	switch {
	case piece.Index < 0 && piece.ID == "":
		return last
	case piece.Index < 0 && sameID != nil:
		return sameID
	case both != nil:
		return both
	case piece.Name != "":
		return nil
	}
	// A call is named where it begins, so this goes on with one that is not whole, whatever its id and index say.
	going := cmp.Or(sameID, sameIndex, last)
	if going != nil && (piece.Arguments != "" && !going.whole || piece.Index < 0 && going.id == "") {
		return going
	}
	return nil
}

// A draftCall is a tool call while it arrives.
type draftCall struct {
	index     int
	id        string
	name      strings.Builder
	arguments writing
	beside    Extra
	// list is the number of the list by which it was named last.
	list int
	// depth, quoted and escaped follow the arguments as JSON, closed says that their first
	// value has ended, and whole that they are an object.
	depth                   int
	quoted, escaped, closed bool
	whole                   bool
}

// writeArguments adds to the arguments. It looks at each byte once: pieces can be many.
func (c *draftCall) writeArguments(piece string) {
	if c.whole && strings.HasPrefix(strings.TrimSpace(piece), "{") && strings.TrimSpace(c.arguments.String()) == "{}" {
		c.arguments.Reset() // servers fill in what is to come
		c.closed, c.whole = false, false
	}
	piece = c.arguments.write(piece)
	if c.closed {
		c.whole = c.whole && strings.TrimSpace(piece) == ""
		return
	}
	for i := range len(piece) {
		switch b := piece[i]; {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted = true
		case b == '{', b == '[':
			c.depth++
		case b == '}', b == ']':
			c.depth--
			c.closed = c.closed || c.depth <= 0
		}
	}
	if c.closed {
		arguments := strings.TrimSpace(c.arguments.String())
		c.whole = strings.HasPrefix(arguments, "{") && json.Valid([]byte(arguments))
	}
}

// repeatedBy reports whether a piece of a whole call says it once more: it brings nothing, or
// the same, or names the call by its index and id. Named twice in one list are two calls.
func (c *draftCall) repeatedBy(piece Piece, list int) bool {
	switch {
	case piece.Name == "":
		return piece.Arguments == c.arguments.String()
	case piece.Name != c.name.String():
		return false
	case piece.Arguments == "", piece.Index >= 0 && piece.Index == c.index && piece.ID != "" && piece.ID == c.id:
		return true
	}
	return c.list != list && SameJSON(piece.Arguments, c.arguments.String())
}

// SameJSON reports whether two texts are the same value. What is many times as long is not:
// the comparison costs no more than the piece that asks for it.
func SameJSON(piece, whole string) bool {
	const spelling = 8 // an escape has six bytes
	if piece == whole || len(whole) > spelling*len(piece) || !json.Valid([]byte(piece)) || !json.Valid([]byte(whole)) {
		return piece == whole
	}
	decode := func(text string) (value any) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		_ = decoder.Decode(&value) // it is valid
		return value
	}
	return reflect.DeepEqual(decode(piece), decode(whole))
}

// Calls are the tool calls: by index where each has its own, else as they came.
func (d *Draft) Calls() []domain.ToolCall {
	list := d.ordered()
	out := make([]domain.ToolCall, 0, len(list))
	for _, call := range list {
		out = append(out, domain.ToolCall{ID: call.id, Name: call.name.String(), Arguments: call.arguments.all()})
	}
	return out
}

// ordered are the calls that are one: they have arguments, or a name, and do not merely repeat an earlier one's name and id
// under another index.
func (d *Draft) ordered() []*draftCall {
	var came []*draftCall
	for at, call := range d.calls {
		repeats := func(earlier *draftCall) bool {
			return earlier.name.String() == call.name.String() && (call.id == earlier.id || call.id == "") && earlier.id+earlier.arguments.String() != ""
		}
		if call.arguments.Len() > 0 || call.name.Len() > 0 && !slices.ContainsFunc(d.calls[:at], repeats) {
			came = append(came, call)
		}
	}
	list := slices.SortedStableFunc(slices.Values(came), func(a, b *draftCall) int { return cmp.Compare(a.index, b.index) })
	for i, call := range list {
		if call.index < 0 || i > 0 && call.index == list[i-1].index {
			return came
		}
	}
	return list
}

// Cut reports whether the token limit cut the last call, whatever the server says: the
// output is as long as may be, and the arguments are not JSON.
func (d *Draft) Cut(bound int64) bool {
	calls := d.Calls()
	return len(calls) > 0 && bound > 0 && d.Usage.OutputTokens >= bound && !json.Valid([]byte(calls[len(calls)-1].Arguments))
}
