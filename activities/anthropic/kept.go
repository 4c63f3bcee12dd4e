package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"everstep/domain"
)

// A kept is the opaque value of a reasoning part: what the API wants back in
// its place, and the mark that it comes from here. It is recorded, so names
// may be added and never change. One of the fields is set.
type kept struct {
	// Block is a content block as it came.
	Block json.RawMessage `json:"anthropic_block,omitempty"`
	// Thinking says that the part's text and signature are a thinking block.
	Thinking bool `json:"anthropic_thinking,omitzero"`
	// Call is the position of the tool call that stands here, from 1 on, where
	// that is not behind all parts.
	Call int `json:"anthropic_call,omitzero"`
	// Paused says that the turn ended here because the server paused.
	Paused bool `json:"anthropic_paused,omitzero"`
}

// opaque is the value as it is kept.
func (k kept) opaque() json.RawMessage {
	if len(k.Block) > 0 {
		// Written by hand: encoding/json would change the bytes of the block.
		return slices.Concat([]byte(`{"anthropic_block":`), k.Block, []byte("}"))
	}
	data, err := json.Marshal(k)
	if err != nil {
		return nil // cannot be: it has but a number and two booleans
	}
	return data
}

// readKept reads the opaque value of a part; all zero where it is another's.
func readKept(p domain.Part) kept {
	var k kept
	if p.Type != domain.PartReasoning || json.Unmarshal(p.Opaque, &k) != nil {
		return kept{}
	}
	return k
}

// assistantBlocks write a model's message: its parts and calls in the order in
// which they came. Paused says that the server is to go on with it.
func assistantBlocks(m domain.Message, ids []string) (blocks []anthropic.ContentBlockParamUnion, paused bool) {
	written := make([]bool, len(m.ToolCalls))
	call := func(k int) {
		if k >= 0 && k < len(written) && !written[k] {
			written[k] = true
			c := m.ToolCalls[k]
			blocks = append(blocks, anthropic.NewToolUseBlock(ids[k], input(c.Arguments), toolName(c.Name)))
		}
	}
	for _, p := range m.Parts {
		k := readKept(p)
		switch {
		case p.Type == domain.PartText && !blank(p.Text):
			blocks = append(blocks, anthropic.NewTextBlock(p.Text))
		case k.Thinking && p.Signature != "":
			blocks = append(blocks, anthropic.NewThinkingBlock(p.Signature, p.Text))
		case len(k.Block) > 0:
			blocks = append(blocks, param.Override[anthropic.ContentBlockParamUnion](k.Block))
		case k.Call > 0:
			call(k.Call - 1)
		}
		paused = k.Paused
	}
	for k := range m.ToolCalls {
		call(k)
	}
	return blocks, paused && len(m.ToolCalls) == 0
}

// input is a call's arguments as an object, which the API insists on. What is
// none is shown to the model as it wrote it.
func input(arguments string) any {
	text := strings.TrimSpace(arguments)
	if text == "" {
		return json.RawMessage("{}")
	}
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return map[string]string{"INVALID_JSON": arguments}
}
