package whole_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// playResponses says an answer in events of the Responses API: reasoning before
// the text and before each call. The end lists the items again, now and then,
// with reasoning that is encrypted anew: what came first is wanted back.
func playResponses(a playedAnswer) playedStream {
	var s playedStream
	u := a.usage
	counts := fmt.Sprintf(`"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
		u.InputTokens, u.CacheReadTokens, u.OutputTokens, u.ReasoningTokens, u.TotalTokens())
	var items []string
	respond := func(kind, status, output string, told bool) playedEvent {
		e := playedEvent{}
		more := `,"usage":null`
		if told {
			more, e.tells = ","+counts, u
		}
		e.data = named("response."+kind, fmt.Sprintf(`"response":{"id":"resp_%d","model":"m-1","status":"%s","output":[%s]%s}`, a.step, status, output, more))
		return e
	}
	item := func(raw string) {
		s.add(playedEvent{data: named("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, len(items), raw))})
		items = append(items, raw)
	}
	think := func(n int, thought string) {
		s.add(playedEvent{thought: thought, data: named("response.reasoning_summary_text.delta", fmt.Sprintf(`"output_index":%d,"summary_index":0,"delta":%s`, len(items), quoted(thought)))})
		raw := fmt.Sprintf(`{"id":"rs_%d_%d","type":"reasoning","summary":[{"type":"summary_text","text":%s}],"encrypted_content":"gAAAA%s_%d=="}`, a.step, n, quoted(thought), a.seal, n)
		item(raw)
		s.order = append(s.order, saidOpaque("reasoning", raw))
	}
	s.add(respond("created", "in_progress", "", a.early))
	s.inText = len(s.events)
	if a.text != "" {
		if a.step%2 == 0 {
			think(0, a.thought)
		}
		for _, piece := range a.pieces(a.text) {
			s.add(playedEvent{text: piece, data: named("response.output_text.delta", fmt.Sprintf(`"item_id":"msg_689f74ef2b1c8196a5e7e7c1a9b7d50105e045a92c8fd6eb","logprobs":[],"obfuscation":"Xo3Yf8","output_index":%d,"content_index":0,"delta":%s`, len(items), quoted(piece)))})
		}
		item(fmt.Sprintf(`{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":%s}]}`, a.step, quoted(a.text)))
		s.order = append(s.order, saidText(a.text))
	}
	for k, c := range a.calls {
		think(k+1, a.thought)
		began := fmt.Sprintf(`"type":"function_call","id":"fc_%d_%d","call_id":%q,"name":%q`, a.step, k, c.ID, c.Function.Name)
		s.add(playedEvent{tool: c.Function.Name, data: named("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{%s,"arguments":"","status":"in_progress"}`, len(items), began))})
		if k == 0 {
			s.inCall = len(s.events)
		}
		for _, piece := range a.pieces(c.Function.Arguments) {
			s.add(playedEvent{arguments: piece, data: named("response.function_call_arguments.delta", fmt.Sprintf(`"item_id":"fc_689f74ef2b1c8196a5e7e7c1a9b7d50105e045a92c8fd6eb","obfuscation":"Xo3Yf8","output_index":%d,"delta":%s`, len(items), quoted(piece)))})
		}
		item("{" + began + `,"status":"completed","arguments":` + quoted(c.Function.Arguments) + "}")
		s.order = append(s.order, saidCall(c.Function.Name, c.Function.Arguments))
	}
	output := ""
	if a.step%4 < 2 {
		output = strings.ReplaceAll(strings.Join(items, ","), "gAAAA", "gAAAAanew")
	}
	s.end = len(s.events)
	s.add(respond("completed", "completed", output, true))
	return s
}

// responsesRequest is a request's body as far as it is read.
type responsesRequest struct {
	Model        string            `json:"model"`
	Stream       bool              `json:"stream"`
	Store        *bool             `json:"store"`
	Include      []string          `json:"include"`
	Instructions string            `json:"instructions"`
	Input        []json.RawMessage `json:"input"`
	Tools        []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

func readResponses(body []byte) (playedRequest, error) {
	var in responsesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return playedRequest{}, err
	}
	if !in.Stream || in.Store == nil || *in.Store || len(in.Include) != 1 || in.Include[0] != "reasoning.encrypted_content" {
		return playedRequest{}, errors.New("it has to be a stream that is not stored, with encrypted reasoning")
	}
	out := playedRequest{model: in.Model, system: in.Instructions}
	for _, tool := range in.Tools {
		out.tools = append(out.tools, tool.Name)
	}
	held := false // reasoning that waits for its item
	for i, raw := range in.Input {
		var item struct {
			Type      string `json:"type"`
			Role      string `json:"role"`
			Content   string `json:"content"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
			Output    string `json:"output"`
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			return out, err
		}
		if held && (item.Role == "user" || item.Type == "function_call_output") {
			return out, fmt.Errorf("item %d: the reasoning before it lacks what it was for", i)
		}
		held = item.Type == "reasoning"
		switch {
		case item.Type == "function_call_output":
			out.turns = append(out.turns, playedTurn{role: "tool", text: item.Output, ids: []string{item.CallID}})
			continue
		case item.Role == "user":
			out.turns = append(out.turns, playedTurn{role: "user", text: item.Content})
			continue
		}
		if n := len(out.turns); n == 0 || out.turns[n-1].role != "assistant" {
			out.turns = append(out.turns, playedTurn{role: "assistant"})
		}
		turn := &out.turns[len(out.turns)-1]
		switch {
		case held:
			turn.order = append(turn.order, saidOpaque("reasoning", string(raw)))
		case item.Type == "function_call" && item.CallID != "":
			turn.order, turn.ids = append(turn.order, saidCall(item.Name, item.Arguments)), append(turn.ids, item.CallID)
		case item.Role == "assistant":
			turn.order = append(turn.order, saidText(item.Content))
		default:
			return out, fmt.Errorf("item %d: %s", i, raw)
		}
	}
	if held {
		return out, errors.New("the last item is reasoning")
	}
	return out, nil
}
