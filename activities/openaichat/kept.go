package openaichat

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// An opaque is the opaque value of a reasoning part, told from others' by its name. It is
// recorded.
type opaque struct {
	Kept kept `json:"chat_fields"`
}

// A kept holds the fields of an answer that are known to its server alone, and go back to that as they came. It is
// recorded.
type kept struct {
	// Server is the host and port that the answer came from.
	Server  string       `json:"server"`
	Message wire.Extra   `json:"message,omitempty"`
	Calls   []wire.Extra `json:"calls,omitempty"`
}

// ofReasoning are the fields in which servers put what the model thought, the last of several being read.
var ofReasoning = []string{"thinking", "reasoning_text", reasoning, reasoningContent}

// Of a message and of a call, the fields that are read, and those by which servers tell of themselves and want nothing back.
var (
	ofMessage = wire.Names("role content refusal thinking reasoning_text reasoning_content reasoning reasoning_details thinking_blocks tool_calls function_call " +
		"usage timings provider_metadata token_id token_ids prompt_token_ids logprobs channel")
	ofCall = wire.Names("index id type custom name arguments input parameters")
)

// inFunction is the field of a call that has its name and arguments.
const inFunction = "function"

// besideOf are the fields of a call that only its server knows, those of its function in one of them.
func besideOf(call []byte) wire.Extra {
	beside := wire.Unread(call, ofCall)
	inside := wire.Unread(beside[inFunction], ofCall)
	delete(beside, inFunction)
	if len(inside) > 0 {
		beside.Add(wire.Extra{inFunction: wire.JSON(inside)})
	}
	return beside
}

// thinkingBlocks are Anthropic's, as proxies pass them on and want them back.
const thinkingBlocks = "thinking_blocks"

// A thinkingBlock comes in pieces, of which the last has its signature. It is recorded.
type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking,omitempty"`
	Data      string `json:"data,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// whole puts the pieces of thinking blocks together.
func whole(pieces []thinkingBlock) (blocks []thinkingBlock) {
	var text strings.Builder
	for i, piece := range pieces {
		text.WriteString(piece.Thinking)
		if piece.Type == "thinking" && piece.Signature == "" && i+1 < len(pieces) && pieces[i+1].Type == piece.Type {
			continue
		}
		piece.Thinking = text.String()
		text.Reset()
		blocks = append(blocks, piece)
	}
	return blocks
}

// taken are some fields but for those that the server refuses.
func (d Dialect) taken(fields wire.Extra) map[string]any {
	taken := map[string]any{}
	for field, value := range fields {
		if !d.without(field) {
			taken[field] = value
		}
	}
	return taken
}

// back are the fields that go back with a message of the model's, and with each of its calls: its reasoning by the name
// by which it came, and what is kept for the server.
func (d Dialect) back(m domain.Message, server string) (beside map[string]any, calls []wire.Extra) {
	all := wire.Extra{}
	if d.without(noReasoning) {
		all[reasoningContent] = json.RawMessage(`" "`) // an empty one counts as none
	}
	if d.NothingBack {
		m.Parts = nil
	}
	for _, p := range m.Parts {
		var own opaque
		switch {
		case p.Type != domain.PartReasoning:
		case len(p.Opaque) > 0 && p.Opaque[0] == '[':
			// A list is this API's own; what other providers want back is not.
			all[reasoningDetails] = p.Opaque
		case len(p.Opaque) > 0:
			if json.Unmarshal(p.Opaque, &own) != nil || own.Kept.Server != server {
				continue
			}
			maps.Copy(all, own.Kept.Message)
			if len(own.Kept.Calls) == len(m.ToolCalls) {
				calls = own.Kept.Calls
			}
		case slices.Contains(ofReasoning, p.Signature):
			all[p.Signature] = wire.JSON(p.Text)
		}
	}
	return d.taken(all), calls
}
