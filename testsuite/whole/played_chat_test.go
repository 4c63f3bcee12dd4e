package whole_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"everstep/domain"
)

// playChat says an answer in chunks of chat completions. Reasoning comes with
// details that the server wants back, as a plain field, or not at all.
func playChat(a playedAnswer) playedStream {
	var s playedStream
	u := a.usage
	counts := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.InputTokens, u.OutputTokens, u.TotalTokens(), u.CacheReadTokens, u.ReasoningTokens)
	head := fmt.Sprintf(`data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1755006482,"model":"m-1","service_tier":"default","system_fingerprint":null,"obfuscation":"CeXK",`, a.step)
	chunk := func(delta, finish string) playedEvent {
		e := playedEvent{data: head + `"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]`}
		if a.early {
			e.data, e.tells = e.data+","+counts, u
		}
		e.data += "}\n\n"
		return e
	}
	think := func(fields string) {
		e := chunk(`{`+fields+`}`, "null")
		e.thought = a.thought
		s.add(e)
	}
	s.add(chunk(`{"role":"assistant","content":""}`, "null"))
	s.inText = len(s.events)
	switch a.step % 3 {
	case 0:
		told := `{"type":"reasoning.text","text":` + quoted(a.thought) + `,"signature":"` + a.seal + `","index":0}`
		sealed := `{"index":1,"type":"reasoning.encrypted","data":"` + a.seal + `+/=="}`
		think(`"reasoning":` + quoted(a.thought) + `,"reasoning_details":[` + told + `]`)
		s.add(chunk(`{"reasoning_details":[`+sealed+`]}`, "null"))
		s.order = append(s.order, saidOpaque("details", "["+told+","+sealed+"]"))
	case 1:
		think(`"reasoning_content":` + quoted(a.thought))
		s.order = append(s.order, saidOpaque("reasoning_content", a.thought))
	}
	if a.text != "" {
		for _, piece := range a.pieces(a.text) {
			e := chunk(`{"content":`+quoted(piece)+`}`, "null")
			e.text = piece
			s.add(e)
		}
		s.order = append(s.order, saidText(a.text))
	}
	finish := `"stop"`
	for k, c := range a.calls {
		pieces := a.pieces(c.Function.Arguments)
		if k == 0 {
			s.inCall = len(s.events)
		}
		begins := chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, k, c.ID, c.Function.Name, quoted(pieces[0])), "null")
		begins.tool, begins.arguments = c.Function.Name, pieces[0]
		s.add(begins)
		for _, piece := range pieces[1:] {
			goesOn := chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, k, quoted(piece)), "null")
			goesOn.arguments = piece
			s.add(goesOn)
		}
		s.order = append(s.order, saidCall(c.Function.Name, c.Function.Arguments))
		finish = `"tool_calls"`
	}
	s.end = len(s.events)
	s.add(chunk(`{}`, finish))
	s.add(playedEvent{data: head + `"choices":[],` + counts + "}\n\n", tells: u})
	s.add(playedEvent{data: "data: [DONE]\n\n"})
	return s
}

// chatRequest is a request's body as far as it is read.
type chatRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []struct {
		Role             string            `json:"role"`
		Content          *string           `json:"content"`
		ToolCalls        []json.RawMessage `json:"tool_calls"`
		ToolCallID       string            `json:"tool_call_id"`
		ReasoningDetails json.RawMessage   `json:"reasoning_details"`
		ReasoningContent string            `json:"reasoning_content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

func readChat(body []byte) (playedRequest, error) {
	var in chatRequest
	var out playedRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return out, err
	}
	if !in.Stream || !in.StreamOptions.IncludeUsage {
		return out, errors.New("neither a stream nor its usage is asked for")
	}
	out.model = in.Model
	for _, tool := range in.Tools {
		out.tools = append(out.tools, tool.Function.Name)
	}
	for i, m := range in.Messages {
		content := ""
		if m.Content != nil {
			content = *m.Content
		}
		turn := playedTurn{role: m.Role, text: content}
		switch domain.Role(m.Role) {
		case domain.RoleSystem:
			if i > 0 {
				return out, fmt.Errorf("message %d is of the system", i)
			}
			out.system = content
			continue
		case domain.RoleTool:
			turn.ids = []string{m.ToolCallID}
		case domain.RoleAssistant:
			turn.text = ""
			if len(m.ReasoningDetails) > 0 {
				turn.order = append(turn.order, saidOpaque("details", string(m.ReasoningDetails)))
			}
			if m.ReasoningContent != "" {
				turn.order = append(turn.order, saidOpaque("reasoning_content", m.ReasoningContent))
			}
			if content != "" {
				turn.order = append(turn.order, saidText(content))
			}
			for _, raw := range m.ToolCalls {
				var c recordedCall
				if err := json.Unmarshal(raw, &c); err != nil {
					return out, err
				}
				turn.order, turn.ids = append(turn.order, saidCall(c.Function.Name, c.Function.Arguments)), append(turn.ids, c.ID)
				if c.ID == "" {
					return out, fmt.Errorf("message %d has a call without id", i)
				}
			}
		case domain.RoleUser, domain.RoleDeveloper:
		}
		out.turns = append(out.turns, turn)
	}
	return out, nil
}
