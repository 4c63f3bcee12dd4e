package whole_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// playMessages says an answer in events of Anthropic's Messages API, with
// thinking before the text and between calls, and some of it redacted.
func playMessages(a playedAnswer) playedStream {
	var s playedStream
	u := a.usage
	before := fmt.Sprintf(`"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":0`, u.InputTokens-u.CacheReadTokens, u.CacheReadTokens)
	after := fmt.Sprintf(`"usage":{%s,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}`, before, u.OutputTokens, u.ReasoningTokens)
	known := u
	known.OutputTokens, known.ReasoningTokens = 0, 0
	s.add(playedEvent{tells: known, data: named("message_start", fmt.Sprintf(`"message":{"id":"msg_%d","type":"message","role":"assistant","model":"m-1","content":[],"stop_reason":null,"usage":{%s,"output_tokens":1}}`, a.step, before))})
	if a.early {
		s.add(playedEvent{tells: u, data: named("message_delta", `"delta":{"stop_reason":null},`+after)})
	}
	s.add(playedEvent{data: named("ping", "")})
	s.inText = len(s.events)
	at := 0
	begin := func(tool, block string) {
		s.add(playedEvent{tool: tool, data: named("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, at, block))})
	}
	goOn := func(deltas ...playedEvent) {
		for _, d := range deltas {
			d.data = named("content_block_delta", fmt.Sprintf(`"index":%d,"delta":{%s}`, at, d.data))
			s.add(d)
		}
		s.add(playedEvent{data: named("content_block_stop", fmt.Sprintf(`"index":%d`, at))})
		at++
	}
	block := func(first string, deltas ...playedEvent) {
		begin("", first)
		goOn(deltas...)
	}
	think := func(n int) {
		signature := fmt.Sprintf("Eq%s/%d+==", a.seal, n)
		one, two := halves(signature)
		block(`{"type":"thinking","thinking":"","signature":""}`, playedEvent{thought: a.thought, data: `"type":"thinking_delta","thinking":` + quoted(a.thought)},
			playedEvent{data: `"type":"signature_delta","signature":"` + one + `"`}, playedEvent{data: `"type":"signature_delta","signature":"` + two + `"`})
		s.order = append(s.order, saidOpaque("thinking "+signature, a.thought))
	}
	if a.step%3 != 2 {
		think(0)
	}
	if a.step%5 == 0 {
		redacted := `{"type":"redacted_thinking","data":"` + a.seal + `/+="}`
		block(redacted)
		s.order = append(s.order, saidOpaque("redacted", redacted))
	}
	if a.text != "" {
		var deltas []playedEvent
		for _, piece := range a.pieces(a.text) {
			deltas = append(deltas, playedEvent{text: piece, data: `"type":"text_delta","text":` + quoted(piece)})
		}
		block(`{"type":"text","text":""}`, deltas...)
		s.order = append(s.order, saidText(a.text))
	}
	stop := "end_turn"
	for k, c := range a.calls {
		if k > 0 {
			think(k)
		} else {
			s.inCall = len(s.events) + 1
		}
		var deltas []playedEvent
		for _, piece := range a.pieces(c.Function.Arguments) {
			deltas = append(deltas, playedEvent{arguments: piece, data: `"type":"input_json_delta","partial_json":` + quoted(piece)})
		}
		begin(c.Function.Name, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, c.ID, c.Function.Name))
		goOn(deltas...)
		s.order = append(s.order, saidCall(c.Function.Name, compact([]byte(c.Function.Arguments))))
		stop = "tool_use"
	}
	s.end = len(s.events)
	s.add(playedEvent{tells: u, data: named("message_delta", `"delta":{"stop_reason":"`+stop+`","stop_sequence":null},`+after)})
	s.add(playedEvent{data: named("message_stop", "")})
	return s
}

// messagesRequest is a request's body as far as it is read.
type messagesRequest struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	MaxTokens int             `json:"max_tokens"`
	System    []messagesBlock `json:"system"`
	Messages  []struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string `json:"name"`
		InputSchema struct {
			Type string `json:"type"`
		} `json:"input_schema"`
	} `json:"tools"`
}

type messagesBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   []messagesBlock `json:"content"`
}

// maxBreakpoints is how many marks for its cache the API takes.
const maxBreakpoints = 4

var messagesID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func readMessages(body []byte) (playedRequest, error) {
	var in messagesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return playedRequest{}, err
	}
	out := playedRequest{model: in.Model}
	switch n := strings.Count(string(body), `"cache_control":{"type":"ephemeral"}`); {
	case !in.Stream, in.MaxTokens < 1:
		return out, errors.New("a stream and a bound of its tokens are wanted")
	case n < 1 || n > maxBreakpoints:
		return out, fmt.Errorf("%d marks for the cache", n)
	case len(in.System) != 1 || in.System[0].Text == "":
		return out, errors.New("the system prompt stands apart, as one text")
	}
	out.system = in.System[0].Text
	for _, tool := range in.Tools {
		if tool.InputSchema.Type != "object" {
			return out, fmt.Errorf("tool %s takes no object", tool.Name)
		}
		out.tools = append(out.tools, tool.Name)
	}
	for i, m := range in.Messages {
		if want := [2]string{"user", "assistant"}[i%2]; m.Role != want {
			return out, fmt.Errorf("message %d is of role %q; want %q", i, m.Role, want)
		}
		if len(m.Content) == 0 {
			return out, fmt.Errorf("message %d is empty", i)
		}
		turns, err := readBlocks(m.Role, m.Content)
		if err != nil {
			return out, fmt.Errorf("message %d: %w", i, err)
		}
		out.turns = append(out.turns, turns...)
	}
	return out, nil
}

// readBlocks reads a turn: the user's may begin with results, the model's are
// one, and no text is blank.
func readBlocks(role string, content []json.RawMessage) ([]playedTurn, error) {
	var turns []playedTurn
	model := playedTurn{role: "assistant"}
	for k, raw := range content {
		var b messagesBlock
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, err
		}
		switch at := role + " " + b.Type; at {
		case "user tool_result":
			if n := len(turns); n > 0 && turns[n-1].role != "tool" {
				return nil, fmt.Errorf("block %d: a result behind a text", k)
			}
			result := playedTurn{role: "tool", ids: []string{b.ToolUseID}}
			for _, c := range b.Content {
				if blankText(c.Text) {
					return nil, fmt.Errorf("block %d: a result with a blank text", k)
				}
				result.text += c.Text
			}
			turns = append(turns, result)
		case "user text", "assistant text":
			if blankText(b.Text) {
				return nil, fmt.Errorf("block %d: a blank text", k)
			}
			if role == "user" {
				turns = append(turns, playedTurn{role: "user", text: b.Text})
			}
			model.order = append(model.order, saidText(b.Text))
		case "assistant thinking":
			if b.Signature == "" {
				return nil, fmt.Errorf("block %d: thinking that is not signed", k)
			}
			model.order = append(model.order, saidOpaque("thinking "+b.Signature, b.Thinking))
		case "assistant redacted_thinking":
			model.order = append(model.order, saidOpaque("redacted", string(raw)))
		case "assistant tool_use":
			if !messagesID.MatchString(b.ID) || !messagesID.MatchString(b.Name) || !strings.HasPrefix(string(b.Input), "{") {
				return nil, fmt.Errorf("block %d: a call of another form: %s", k, raw)
			}
			model.order, model.ids = append(model.order, saidCall(b.Name, compact(b.Input))), append(model.ids, b.ID)
		default:
			return nil, fmt.Errorf("block %d: %s of the %s", k, b.Type, role)
		}
	}
	if role == "assistant" {
		return []playedTurn{model}, nil
	}
	return turns, nil
}

func blankText(text string) bool { return strings.TrimSpace(text) == "" }
