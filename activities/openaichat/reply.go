package openaichat

import (
	"bytes"
	"encoding/json"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// reply is a chunk of a stream, or a whole answer. Servers disagree on much, so little is
// taken for granted.
type reply struct {
	ID      wire.Text       `json:"id"`
	Model   wire.Text       `json:"model"`
	Choices *[]choice       `json:"choices"`
	Error   json.RawMessage `json:"error"`
	// What is said in the place of choices is an error too.
	Message wire.Text `json:"message"`
	Detail  wire.Text `json:"detail"`
	Base    struct {
		Message wire.Text `json:"status_msg"`
	} `json:"base_resp"`
}

func (r reply) Failed() bool {
	return wire.Present(r.Error) || r.Choices == nil && r.Message+r.Detail+r.Base.Message != ""
}

type choice struct {
	Index        *int            `json:"index"`
	Delta        *content        `json:"delta"`
	Message      *content        `json:"message"`
	FinishReason wire.Text       `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

type content struct {
	Role             wire.Text       `json:"role"`
	Content          body            `json:"content"`
	Refusal          wire.Text       `json:"refusal"`
	ReasoningContent wire.Text       `json:"reasoning_content"`
	Reasoning        wire.Text       `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	Blocks           json.RawMessage `json:"thinking_blocks"`
	ToolCalls        []toolCall      `json:"tool_calls"`
	FunctionCall     function        `json:"function_call"`

	beside wire.Extra
}

// unknown is the type of a part of the content that is not understood, empty where there is none.
func (c *content) unknown() string {
	if c == nil {
		return ""
	}
	return c.Content.unknown
}

// calls reports whether a message holds a tool call, or a piece of one.
func (c *content) calls() bool { return c != nil && c.size() > 0 }

// size is how many bytes the tool calls of a message have.
func (c *content) size() int {
	all := len(c.FunctionCall.Name) + len(c.FunctionCall.Arguments)
	for _, call := range c.ToolCalls {
		all += len(call.ID) + len(call.Function.Name) + len(call.Function.Arguments) + len(call.Custom.Name) + len(call.Custom.Input)
	}
	return all
}

type toolCall struct {
	Index    *int      `json:"index"`
	ID       wire.Text `json:"id"`
	Function function  `json:"function"`
	// Custom is set for a call with free text instead of JSON.
	Custom struct {
		Name  wire.Text `json:"name"`
		Input wire.Text `json:"input"`
	} `json:"custom"`

	beside wire.Extra
}

type function struct {
	Name      wire.Text `json:"name"`
	Arguments wire.Text `json:"arguments"`
}

// body is a message's content: a text, or parts of which some may be thinking, a refusal, or
// of a type that is not known.
type body struct{ text, thinking, refusal, unknown string }

// UnmarshalJSON never fails.
func (b *body) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' && json.Unmarshal(data, &parts) == nil {
		for _, part := range parts {
			b.add(part)
		}
		return nil
	}
	var t wire.Text
	err := t.UnmarshalJSON(data)
	b.text = string(t)
	return err
}

// add adds a part.
func (b *body) add(raw json.RawMessage) {
	var p struct {
		Type     wire.Text `json:"type"`
		Text     wire.Text `json:"text"`
		Refusal  wire.Text `json:"refusal"`
		Thinking body      `json:"thinking"`
	}
	if json.Unmarshal(raw, &p) != nil {
		_ = p.Text.UnmarshalJSON(raw) // it is no object
	}
	switch p.Type {
	case "thinking", "reasoning":
		b.thinking += p.Thinking.text + string(p.Text)
		return
	case "", "text", "output_text", "refusal", "reference", "citation": // where a text is from is not kept
	default:
		if p.Text+p.Refusal == "" {
			b.unknown = string(p.Type)
		}
	}
	b.text += string(p.Text)
	b.refusal += string(p.Refusal)
}

// finishOf reads the server's word for why the model stopped.
func finishOf(word string, calls, refused bool) domain.FinishReason {
	word, _, _ = strings.Cut(strings.ToLower(word), ":")
	switch word {
	case "length", "max_tokens", "model_length":
		return domain.FinishLength
	case "content_filter", "sensitive":
		return domain.FinishContentFilter
	case "refusal":
		return domain.FinishRefusal
	case "stop", "tool_calls", "function_call", "tool_use", "eos", "end_turn", "stop_sequence", unnamed:
		switch {
		case calls:
			return domain.FinishToolCalls
		case refused:
			return domain.FinishRefusal
		}
		return domain.FinishStop
	}
	if calls {
		return domain.FinishToolCalls
	}
	return domain.FinishOther
}
