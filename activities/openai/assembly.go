package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"everstep/activities/inference/wire"
)

// The words for what has become of a response.
const (
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
)

// event is one of a stream's, as far as it is read. Kinds that are not known
// are passed over.
type event struct {
	Type     wire.Text       `json:"type"`
	Response json.RawMessage `json:"response"`
	Item     json.RawMessage `json:"item"`
	Output   wire.Count      `json:"output_index"`
	Summary  wire.Count      `json:"summary_index"`
	Delta    wire.Text       `json:"delta"`
	Error    json.RawMessage `json:"error"`
}

// response is what the API says of the whole.
type response struct {
	ID         wire.Text         `json:"id"`
	Model      wire.Text         `json:"model"`
	Status     wire.Text         `json:"status"`
	Error      json.RawMessage   `json:"error"`
	Output     []json.RawMessage `json:"output"`
	Usage      *usage            `json:"usage"`
	Incomplete *struct {
		Reason wire.Text `json:"reason"`
	} `json:"incomplete_details"`
}

// assembly puts an answer together from its pieces.
type assembly struct {
	attempt *wire.Attempt
	// draft holds what has come before the end. The answer itself is what the
	// end says, and what its items were when they were done.
	draft *wire.Draft

	done    []doneItem
	summary map[wire.Count]wire.Count
	items   []item
	// status is set by the end alone.
	status, reason string
}

// perItem is what an item takes beside its words.
const perItem = 512

type doneItem struct {
	at   wire.Count
	item item
}

// Complete reports whether the end was seen.
func (s *assembly) Complete() bool { return s.status != "" }

// Held is about how many bytes of the answer are kept.
func (s *assembly) Held() int { return s.draft.Held() }

// Whole reads an answer that came in one piece.
func (s *assembly) Whole(data []byte) error { return s.end(data, "") }

// Event reads the next piece of an answer.
func (s *assembly) Event(e wire.Event) (done bool, err error) {
	if strings.TrimSpace(string(e.Data)) == "[DONE]" {
		return true, nil
	}
	var piece event
	if err := json.Unmarshal(e.Data, &piece); err != nil {
		if e.Name == "error" {
			return false, s.failed(e.Data)
		}
		return false, s.attempt.Malformed("the stream holds something that is not an event", e.Data)
	}
	kind := cmp.Or(string(piece.Type), e.Name)
	switch kind {
	case "response.completed", "response.incomplete", "response.failed":
		_, status, _ := strings.Cut(kind, ".")
		return true, s.end(piece.Response, status)
	case "error":
		return false, s.failed(e.Data)
	case "response.created", "response.in_progress", "response.queued":
		var r response
		if json.Unmarshal(piece.Response, &r) == nil {
			s.begin(r)
		}
	case "response.output_item.added":
		if i := read(piece.Item); i.Type == itemCall {
			s.draft.Call(wire.Piece{Index: int(piece.Output), ID: string(i.CallID), Name: string(i.Name)})
		}
	case "response.output_item.done":
		i := read(piece.Item)
		i.raw = piece.Item
		s.done = append(s.done, doneItem{piece.Output, i})
		// Once as it came, and once more read.
		s.draft.Hold(2*len(piece.Item) + perItem)
	case "response.output_text.delta", "response.refusal.delta":
		s.draft.Text(int(piece.Output), string(piece.Delta))
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		s.think(piece)
	default:
		if piece.Type == "" && wire.Present(piece.Error) {
			return false, s.failed(e.Data)
		}
	}
	s.draft.Flush()
	return false, nil
}

// think shows reasoning, the parts of a summary apart.
func (s *assembly) think(piece event) {
	if s.summary == nil {
		s.summary = make(map[wire.Count]wire.Count)
	}
	if last, ok := s.summary[piece.Output]; ok && last != piece.Summary {
		s.draft.Reasoning(int(piece.Output), paragraph)
	}
	if _, ok := s.summary[piece.Output]; !ok {
		s.draft.Hold(perItem)
	}
	s.summary[piece.Output] = piece.Summary
	s.draft.Reasoning(int(piece.Output), string(piece.Delta))
}

// begin takes what is known of an answer from the start.
func (s *assembly) begin(r response) {
	s.draft.ID, s.draft.Model = cmp.Or(s.draft.ID, string(r.ID)), cmp.Or(string(r.Model), s.draft.Model)
	if r.Usage != nil {
		if reported := r.Usage.domain(); !reported.IsZero() {
			s.draft.Usage = reported
		}
	}
}

// end takes the whole response. The kind of the event says what has become of
// it where the response does not.
func (s *assembly) end(data []byte, status string) error {
	var r response
	if json.Unmarshal(data, &r) != nil {
		return s.attempt.Malformed("the response has another form", data)
	}
	s.begin(r)
	status = cmp.Or(string(r.Status), status)
	switch {
	case wire.Present(r.Error):
		return s.failed(r.Error)
	case status == statusFailed, status == statusCancelled:
		return s.failed(data)
	case status != statusCompleted && status != statusIncomplete:
		return s.attempt.Malformed("the response does not say that it is completed", data)
	}
	if r.Incomplete != nil {
		s.reason = string(r.Incomplete.Reason)
	}
	s.items = s.final(r.Output)
	if len(s.items) == 0 && s.draft.Partial().Message.Text() != "" {
		return s.attempt.Malformed("the response has ended without the text that came before", data)
	}
	s.status = status
	s.show()
	return nil
}

// show tells what is in the items, where nothing was told on the way.
func (s *assembly) show() {
	if s.draft.Told() {
		return
	}
	for k, i := range s.items {
		switch i.Type {
		case itemMessage:
			s.draft.Text(k, i.Content.join(""))
		case itemReasoning:
			s.draft.Reasoning(k, i.thoughts())
		case itemCall:
			s.draft.Call(wire.Piece{Index: k, Name: string(i.Name)})
		}
		s.draft.Flush()
	}
}

// final is the items of the answer: those of the end, and where it has none,
// those that were done. Reasoning is encrypted anew for each; the API wants
// that back which came first.
func (s *assembly) final(output []json.RawMessage) []item {
	items := make([]item, 0, max(len(output), len(s.done)))
	if len(output) == 0 {
		slices.SortStableFunc(s.done, func(a, b doneItem) int { return cmp.Compare(a.at, b.at) })
		for _, d := range s.done {
			items = append(items, d.item)
		}
		return items
	}
	for _, raw := range output {
		i := read(raw)
		i.raw = raw
		if i.Type == itemReasoning {
			for _, d := range s.done {
				if d.item.Type == itemReasoning && d.item.ID == i.ID && d.item.returnable() {
					i = d.item
				}
			}
		}
		items = append(items, i)
	}
	return items
}
