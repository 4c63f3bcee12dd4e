package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// statusIncomplete is what has become of a response, or an item, that was cut.
const statusIncomplete = "incomplete"

// event is one of a stream's, as far as it is read. Others are passed over.
type event struct {
	Type     wire.Text       `json:"type"`
	Response json.RawMessage `json:"response"`
	Item     json.RawMessage `json:"item"`
	Output   wire.Count      `json:"output_index"`
	Summary  wire.Count      `json:"summary_index"`
	Delta    wire.Text       `json:"delta"`
	// Arguments are all of a call's.
	Arguments wire.Text       `json:"arguments"`
	Error     json.RawMessage `json:"error"`
}

func (e event) Failed() bool { return e.Type == "error" || e.Type == "" && wire.Present(e.Error) }

type response struct {
	ID         wire.Text         `json:"id"`
	Model      wire.Text         `json:"model"`
	Status     wire.Text         `json:"status"`
	Error      json.RawMessage   `json:"error"`
	Output     []json.RawMessage `json:"output"`
	Usage      wire.Usage        `json:"usage"`
	Incomplete struct {
		Reason wire.Text `json:"reason"`
	} `json:"incomplete_details"`
}

// assembly puts an answer together from its pieces.
type assembly struct {
	// The attempt's draft holds what has come before the end. The answer itself is
	// what the end says, and what its items were when they were done.
	*wire.Attempt

	done, items []item
	// summary is of which part of its summary the reasoning at a place was last.
	summary map[int]wire.Count
	// open are the ids of the items that have begun and not ended, by their places.
	open map[int]wire.Text
	// argued says of which calls the arguments came in pieces.
	argued map[int]bool
	// created says that the response has begun. status is set by the end alone.
	created        bool
	status, reason string
}

// Finish is what has become of the response, as its end says.
func (s *assembly) Finish() string { return s.status }

// Whole reads an answer that came in one piece.
func (s *assembly) Whole(data []byte) error { return s.end(data, "") }

// Event reads the next piece of an answer.
func (s *assembly) Event(e wire.Event) error {
	var piece event
	if err := s.Decode(e, &piece, "the stream holds something that is not an event"); err != nil {
		return err
	}
	kind, at, delta := cmp.Or(string(piece.Type), e.Name), int(piece.Output), string(piece.Delta)
	switch kind {
	case "response.completed", "response.incomplete", "response.failed", "response.done":
		_, status, _ := strings.Cut(kind, ".")
		if !wire.Present(piece.Response) {
			piece.Response = e.Data
		}
		return s.end(piece.Response, status)
	case "response.created", "response.in_progress", "response.queued":
		var r response
		if json.Unmarshal(piece.Response, &r) != nil {
			break
		}
		if s.created && (kind == "response.created" || r.ID != "" && string(r.ID) != s.ID) {
			return s.Mixed("another one begins in it", e.Data)
		}
		s.created = true
		s.begin(r)
	case "response.output_item.added":
		i := read(piece.Item)
		if before, open := s.open[at]; open && before != i.ID {
			return s.Mixed("an item of it begins twice", e.Data)
		}
		s.open[at] = i.ID
		switch i.Type {
		case itemReasoning:
			s.Thinks()
		case itemCall:
			s.Call(wire.Piece{Index: at, ID: string(i.CallID), Name: string(i.Name)})
		}
	case "response.output_item.done":
		delete(s.open, at)
		i := read(piece.Item)
		i.at = at
		if k := slices.IndexFunc(s.done, func(before item) bool { return before.at == at && before.is(i) }); k >= 0 {
			s.done[k] = i // some servers say so again
			break
		}
		s.done = append(s.done, i)
		s.Hold(2*len(i.raw) + 512) // once as it came, once more read, and what an item takes beside its words
	case "response.output_text.delta", "response.refusal.delta":
		s.Text(at, delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		s.argued[at] = s.argued[at] || delta != ""
		s.Call(wire.Piece{Index: at, Arguments: delta})
	case "response.function_call_arguments.done":
		if !s.argued[at] {
			s.argued[at] = piece.Arguments != ""
			s.Call(wire.Piece{Index: at, Arguments: string(piece.Arguments)})
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		if s.summary[at] != piece.Summary {
			s.summary[at] = piece.Summary
			s.Reasoning(at, paragraph)
		}
		s.Reasoning(at, delta)
	default:
		if delta != "" {
			s.Heard()
		}
	}
	return nil
}

// is reports whether two items are one, by their ids, or where they have none by all that is in them.
func (i item) is(other item) bool {
	if i.Type != other.Type || i.ID+i.CallID == "" && other.ID+other.CallID == "" {
		return bytes.Equal(i.raw, other.raw)
	}
	return i.ID != "" && i.ID == other.ID || i.CallID != "" && i.CallID == other.CallID
}

func (s *assembly) begin(r response) {
	s.ID, s.Model = cmp.Or(s.ID, string(r.ID)), cmp.Or(string(r.Model), s.Model)
	s.Report(r.Usage.Domain())
}

// completed are the words of servers for a response that is whole.
var completed = wire.Names("completed succeeded success done")

// end takes the whole response. The event's kind says what became of it where it does not itself.
func (s *assembly) end(data []byte, status string) error {
	var r response
	if json.Unmarshal(data, &r) != nil {
		return s.Malformed("the response has another form", data)
	}
	if status == "done" && r.Status == "" && r.Output == nil && !wire.Present(r.Error) && len(r.Usage) == 0 {
		return nil // it does not say what has become of it: another event does
	}
	s.Done()
	s.begin(r)
	switch said := string(r.Status); {
	case status == "failed", said == "in_progress" && (status == "completed" || status == statusIncomplete):
	case said != "" && !completed[said]:
		status = said
	case status == "done", status == "" && r.Output != nil:
		status = "completed"
	case status == "":
		status = said
	}
	switch {
	case wire.Present(r.Error):
		return s.Inner(r.Error)
	case status == "failed", status == "cancelled":
		return s.Inner(data)
	case status != "completed" && status != statusIncomplete:
		return s.Malformed("the response does not say that it is completed", data)
	}
	s.reason = string(r.Incomplete.Reason)
	s.items = s.final(r.Output)
	if lost := s.lost(status); lost != "" {
		return s.Malformed("the response "+lost, data)
	}
	s.status = status
	return nil
}

// lost says what the end leaves out of what came before it, or what is in it that is not
// understood. The calls of a response that was cut are not missed: none of them runs.
func (s *assembly) lost(status string) string {
	var calls, done int
	var text strings.Builder
	for _, i := range s.items {
		switch i.Type {
		case itemCall:
			calls++
		case itemMessage:
			text.WriteString(i.Content.join(""))
			for _, c := range i.Content {
				if c.Text+c.Refusal == "" && !slices.Contains([]wire.Text{"", "output_text", "refusal", "text"}, c.Type) {
					return wire.Unknown(c.Type)
				}
			}
		}
	}
	before := []string{s.Partial().Message.Text()}
	for _, d := range s.done {
		switch d.Type {
		case itemCall:
			done++
		case itemMessage:
			before = append(before, d.Content.join(""))
		}
	}
	for _, said := range before {
		if !strings.Contains(text.String(), strings.TrimSpace(said)) {
			return "has ended without the text that came before"
		}
	}
	if status == "completed" && calls < max(done, len(s.Calls())) {
		return "has ended without a tool call that came before"
	}
	return ""
}

// final is the items of the answer: those of the end, else those that were done. Reasoning is
// encrypted anew for each; the API wants that back which came first.
func (s *assembly) final(output []json.RawMessage) (items []item) {
	if len(output) == 0 {
		slices.SortStableFunc(s.done, func(a, b item) int { return cmp.Compare(a.at, b.at) })
		items = s.done
	}
	for _, raw := range output {
		i := read(raw)
		if k := slices.IndexFunc(s.done, i.is); k >= 0 {
			if i.Type == itemReasoning && s.done[k].returnable() {
				i = s.done[k]
			}
			i.Arguments = cmp.Or(i.Arguments, s.done[k].Arguments)
		}
		items = append(items, i)
	}
	for k, i := range items {
		for _, call := range s.Calls() {
			if i.Type == itemCall && i.Arguments == "" && call.ID != "" && call.ID == string(i.CallID) {
				items[k].Arguments = wire.Text(call.Arguments)
			}
		}
	}
	return items
}

// paragraph stands between the parts of a summary.
const paragraph = "\n\n"

// Answer returns the whole answer. Its items decide what it is, before the API's word does.
func (s *assembly) Answer() inference.Answer {
	s.Restart()
	if s.Told() {
		s.Emit = nil // it came in pieces
	}
	refused, cut := s.write()
	word := "stop"
	switch {
	case s.FinishReason(s.reason, refused) == domain.FinishContentFilter:
		word = s.reason
	case cut, s.status == statusIncomplete:
		word = "length"
	}
	return s.Finished(s.FinishReason(word, refused), s.reason)
}

// write puts the items into the draft, and says what they say of themselves.
func (s *assembly) write() (refused, cut bool) {
	last := -1 // the place of the last item that becomes a part: calls behind it need no mark
	for k, i := range s.items {
		if i.Type == itemMessage && i.stands() || i.Type == itemReasoning {
			last = k
		}
	}
	for k, i := range s.items {
		// A part and the mark before it.
		at, before := 2*k+1, 2*k
		cut = cut || i.Status == statusIncomplete
		switch i.Type {
		case itemMessage:
			for _, c := range i.Content {
				refused = refused || c.Refusal != ""
			}
			if i.Phase != "" && i.stands() {
				s.Keep(before, "", wire.JSON(mark{Type: itemMessage, Phase: string(i.Phase)}))
			}
			s.Text(at, i.Content.join(""))
		case itemReasoning:
			s.Reasoning(at, cmp.Or(i.Summary.join(paragraph), i.Content.join(paragraph)))
			// It goes back only with the item that it was for.
			after := slices.IndexFunc(s.items[k:], func(i item) bool { return i.Type != itemReasoning })
			if after > 0 && s.items[k+after].stands() && i.returnable() && utf8.Valid(i.raw) {
				s.Keep(at, "", i.raw)
			}
		case itemCall:
			if k < last {
				s.Keep(before, "", wire.JSON(mark{Type: itemCall}))
			}
			s.Call(wire.Piece{Index: k, ID: string(cmp.Or(i.CallID, i.ID)), Name: string(i.Name), Arguments: string(i.Arguments)})
		}
	}
	return refused, cut
}

// stands reports whether an item is sent back.
func (i item) stands() bool {
	return i.Type == itemCall || i.Type == itemMessage && i.Content.join("") != ""
}
