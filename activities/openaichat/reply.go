package openaichat

import (
	"bytes"
	"encoding/json"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// reply is a chunk of a stream, or a whole answer: they differ only in where a
// choice keeps its content. Servers disagree on much, so nothing but the
// outermost form is taken for granted.
type reply struct {
	ID      wire.Text       `json:"id"`
	Model   wire.Text       `json:"model"`
	Choices *[]choice       `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index        *int      `json:"index"`
	Delta        *content  `json:"delta"`
	Message      *content  `json:"message"`
	FinishReason wire.Text `json:"finish_reason"`
}

// content is a message or a piece of one.
type content struct {
	Content          body            `json:"content"`
	Refusal          wire.Text       `json:"refusal"`
	ReasoningContent wire.Text       `json:"reasoning_content"`
	Reasoning        wire.Text       `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ToolCalls        []toolCall      `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"`
}

type toolCall struct {
	Index    *int      `json:"index"`
	ID       wire.Text `json:"id"`
	Function function  `json:"function"`
	// Custom is set for a call with free text instead of JSON.
	Custom *struct {
		Name  wire.Text `json:"name"`
		Input wire.Text `json:"input"`
	} `json:"custom"`
}

type function struct {
	Name      wire.Text `json:"name"`
	Arguments wire.Text `json:"arguments"`
}

// body is a message's content: a text, or parts of which some may be thinking.
type body struct{ text, thinking string }

// UnmarshalJSON never fails.
func (b *body) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Type     string    `json:"type"`
		Text     wire.Text `json:"text"`
		Thinking body      `json:"thinking"`
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		var t wire.Text
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

// usage is what servers report, in OpenAI's form and a few others'.
type usage struct {
	Prompt        wire.Count `json:"prompt_tokens"`
	Completion    wire.Count `json:"completion_tokens"`
	Total         wire.Count `json:"total_tokens"`
	CacheHit      wire.Count `json:"prompt_cache_hit_tokens"`
	PromptDetails struct {
		Cached     wire.Count `json:"cached_tokens"`
		CacheWrite wire.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u usage) domain() domain.Usage {
	return wire.Consistent(domain.Usage{
		InputTokens:      int64(u.Prompt),
		OutputTokens:     int64(u.Completion),
		CacheReadTokens:  int64(max(u.PromptDetails.Cached, u.CacheHit)),
		CacheWriteTokens: int64(u.PromptDetails.CacheWrite),
		ReasoningTokens:  int64(u.CompletionDetails.Reasoning),
	}, int64(u.Total))
}
