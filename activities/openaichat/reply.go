package openaichat

import (
	"bytes"
	"cmp"
	"encoding/json"

	"everstep/activities/inference/wire"
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
	Delta        content         `json:"delta"`
	Message      content         `json:"message"`
	FinishReason wire.Text       `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

// content is a message, or a piece of one, as it is understood.
type content struct {
	role, text, refusal string
	// thinking is what the model thought, and field where that stood, empty where it is in the content.
	thinking, field string
	details, blocks json.RawMessage
	calls           []wire.Piece
	// older is the call in the field of older models.
	older wire.Piece
	// unknown is the type of a part of the content that is not understood, empty where there is none.
	unknown string
	// beside is what only the server knows.
	beside wire.Extra
}

// UnmarshalJSON reads a message in all the forms that servers have.
func (c *content) UnmarshalJSON(data []byte) error {
	var read struct {
		Role             wire.Text       `json:"role"`
		Content          body            `json:"content"`
		Refusal          wire.Text       `json:"refusal"`
		ReasoningContent wire.Text       `json:"reasoning_content"`
		Reasoning        wire.Text       `json:"reasoning"`
		ReasoningDetails json.RawMessage `json:"reasoning_details"`
		Blocks           json.RawMessage `json:"thinking_blocks"`
		ToolCalls        []toolCall      `json:"tool_calls"`
		FunctionCall     function        `json:"function_call"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*c = content{
		role: string(read.Role), text: read.Content.text, refusal: string(read.Refusal) + read.Content.refusal, thinking: read.Content.thinking, blocks: read.Blocks,
		older:   wire.Piece{Name: string(read.FunctionCall.Name), Arguments: string(read.FunctionCall.Arguments)},
		unknown: read.Content.unknown, beside: wire.Unread(data, ofMessage),
	}
	if read.Reasoning != "" {
		c.thinking, c.field = string(read.Reasoning), reasoning
	}
	if read.ReasoningContent != "" {
		c.thinking, c.field = string(read.ReasoningContent), reasoningContent
	}
	if wire.Present(read.ReasoningDetails) {
		c.details = read.ReasoningDetails
	}
	for _, call := range read.ToolCalls {
		c.calls = append(c.calls, wire.Piece(call))
	}
	return nil
}

// size is how many bytes the tool calls of a message, or the pieces of them, have.
func (c content) size() int {
	all := len(c.older.Name) + len(c.older.Arguments)
	for _, call := range c.calls {
		all += len(call.ID) + len(call.Name) + len(call.Arguments)
	}
	return all
}

type toolCall wire.Piece

// UnmarshalJSON reads a call, also one with free text instead of JSON.
func (c *toolCall) UnmarshalJSON(data []byte) error {
	read := struct {
		Index    int       `json:"index"`
		ID       wire.Text `json:"id"`
		Function function  `json:"function"`
		Custom   struct {
			Name  wire.Text `json:"name"`
			Input wire.Text `json:"input"`
		} `json:"custom"`
	}{Index: wire.NoIndex}
	err := json.Unmarshal(data, &read)
	name, arguments := cmp.Or(read.Function.Name, read.Custom.Name), cmp.Or(read.Function.Arguments, read.Custom.Input)
	*c = toolCall{Index: read.Index, ID: string(read.ID), Name: string(name), Arguments: string(arguments), Beside: wire.Unread(data, ofCall)}
	return err
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
