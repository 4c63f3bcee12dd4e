package openaichat

import (
	"bytes"
	"encoding/json"
)

// reply is a chunk of a stream, or a whole answer: they differ only in where a
// choice keeps its content. Servers disagree on much, so nothing but the
// outermost form is taken for granted.
type reply struct {
	ID      text            `json:"id"`
	Model   text            `json:"model"`
	Choices *[]choice       `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index        *int     `json:"index"`
	Delta        *content `json:"delta"`
	Message      *content `json:"message"`
	FinishReason text     `json:"finish_reason"`
}

// content is a message or a piece of one.
type content struct {
	Content          body            `json:"content"`
	Refusal          text            `json:"refusal"`
	ReasoningContent text            `json:"reasoning_content"`
	Reasoning        text            `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ToolCalls        []toolCall      `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"`
}

type toolCall struct {
	Index    *int     `json:"index"`
	ID       text     `json:"id"`
	Function function `json:"function"`
	// Custom is set for a call with free text instead of JSON.
	Custom *struct {
		Name  text `json:"name"`
		Input text `json:"input"`
	} `json:"custom"`
}

type function struct {
	Name      text `json:"name"`
	Arguments text `json:"arguments"`
}

// text is a string that some servers write as null, a number or an object.
type text string

// UnmarshalJSON never fails.
func (t *text) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || bytes.Equal(data, []byte("null")):
		*t = ""
	case data[0] == '"':
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*t = text(s)
	default:
		*t = text(data)
	}
	return nil
}

// body is a message's content: a text, or parts of which some may be thinking.
type body struct{ text, thinking string }

// UnmarshalJSON never fails.
func (b *body) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Type     string `json:"type"`
		Text     text   `json:"text"`
		Thinking body   `json:"thinking"`
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		var t text
		err := t.UnmarshalJSON(data)
		b.text = string(t)
		return err
	}
	if json.Unmarshal(data, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		switch p.Type {
		case "", "text", "output_text":
			b.text += string(p.Text)
		case "thinking", "reasoning":
			b.thinking += p.Thinking.text
		}
	}
	return nil
}

// present reports whether a JSON value says anything.
func present(data json.RawMessage) bool {
	switch string(bytes.TrimSpace(data)) {
	case "", "null", "{}", `""`, "[]", "false":
		return false
	}
	return true
}
