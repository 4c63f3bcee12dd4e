package openaichat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"everstep/activities/inference/wire"
)

// reply is a chunk of a stream, or a whole answer. Servers disagree on much, so little is
// taken for granted.
type reply struct {
	ID      wire.Text       `json:"id"`
	Model   wire.Text       `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	// What is said in the place of choices is an error too.
	Message wire.Text       `json:"message"`
	Msg     wire.Text       `json:"msg"`
	MsgCode wire.Text       `json:"code"`
	Detail  wire.Text       `json:"detail"`
	Errors  json.RawMessage `json:"errors"`
	Code    wire.Count      `json:"error_code"`
	Base    struct {
		Code wire.Count `json:"status_code"`
	} `json:"base_resp"`
	// Data and Result are where gateways put what they hand on.
	Data   json.RawMessage `json:"data"`
	Result json.RawMessage `json:"result"`
}

func (r reply) Failed() bool {
	if succeeded(r.MsgCode) || succeeded(r.Msg) {
		r.Msg = ""
	}
	if succeeded(r.Message) {
		r.Message = ""
	}
	none := r.Choices == nil || len(r.Choices) == 0 && !wire.Present(r.Usage) // the usage of a whole answer comes beside no choices
	return wire.Present(r.Error) || none && (r.Message+r.Msg+r.Detail != "" || r.Code+r.Base.Code > 0 || wire.Present(r.Errors))
}

// succeeded reports whether a code, or the words in its place, say that nothing is wrong.
func succeeded(said wire.Text) bool {
	return wire.Names("0 200 success ok")[strings.ToLower(string(said))]
}

type choice struct {
	Index        wire.Text       `json:"index"`
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
	unknown wire.Text
	// beside is what only the server knows.
	beside wire.Extra
}

// UnmarshalJSON reads a message in all the forms that servers have.
func (c *content) UnmarshalJSON(data []byte) error {
	var read struct {
		Role             wire.Text       `json:"role"`
		Content          body            `json:"content"`
		Refusal          wire.Text       `json:"refusal"`
		Thinking         thinking        `json:"thinking"`
		ReasoningText    thinking        `json:"reasoning_text"`
		Reasoning        thinking        `json:"reasoning"`
		ReasoningContent thinking        `json:"reasoning_content"`
		ReasoningDetails json.RawMessage `json:"reasoning_details"`
		Blocks           json.RawMessage `json:"thinking_blocks"`
		ToolCalls        toolCalls       `json:"tool_calls"`
		FunctionCall     function        `json:"function_call"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*c = content{
		role: string(read.Role), text: read.Content.text, refusal: string(read.Refusal) + read.Content.refusal, thinking: read.Content.thinking, blocks: read.Blocks,
		older:   wire.Piece{Name: string(read.FunctionCall.Name), Arguments: string(argumentsOf(read.FunctionCall))},
		unknown: read.Content.unknown, beside: wire.Unread(data, ofMessage), calls: read.ToolCalls,
	}
	for k, thought := range []thinking{read.Thinking, read.ReasoningText, read.Reasoning, read.ReasoningContent} {
		if thought.text+thought.thinking != "" {
			c.thinking, c.field = thought.text+thought.thinking, ofReasoning[k]
		}
	}
	if wire.Present(read.ReasoningDetails) {
		c.details = read.ReasoningDetails
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

type toolCalls []wire.Piece

// UnmarshalJSON reads a list of calls, or one that stands alone, also where a text holds them.
func (c *toolCalls) UnmarshalJSON(data []byte) error {
	if !wire.Present(data) {
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		switch data = []byte(text); strings.ToLower(strings.TrimSpace(text)) {
		case "", "none", "null":
			return nil
		}
	}
	for _, raw := range wire.ListOf(data) {
		piece, err := readCall(raw)
		if err != nil {
			return err
		}
		*c = append(*c, piece)
	}
	return nil
}

// readCall reads a call, also one with free text instead of JSON, or without an object of its own for the function.
func readCall(data []byte) (wire.Piece, error) {
	var read struct {
		function
		Index    wire.Text `json:"index"`
		ID       wire.Text `json:"id"`
		Function function  `json:"function"`
		Custom   function  `json:"custom"`
	}
	err := json.Unmarshal(data, &read)
	index, none := strconv.Atoi(string(read.Index))
	if none != nil {
		index = wire.NoIndex
	}
	name, arguments := cmp.Or(read.Function.Name, read.Custom.Name, read.Name), argumentsOf(read.Function, read.Custom, read.function)
	return wire.Piece{Index: index, ID: string(read.ID), Name: string(name), Arguments: string(arguments), Beside: besideOf(data)}, err
}

type function struct {
	Name      wire.Text `json:"name"`
	Arguments arguments `json:"arguments"`
	// Input and Parameters are what other APIs call them.
	Input      wire.Text `json:"input"`
	Parameters wire.Text `json:"parameters"`
}

type arguments struct {
	text  wire.Text
	given bool
}

// UnmarshalJSON is also called for null.
func (a *arguments) UnmarshalJSON(data []byte) error {
	a.given = true
	return a.text.UnmarshalJSON(data)
}

// argumentsOf finds the arguments of a call in its objects. Parameters beside arguments, be they null, are the tool's.
func argumentsOf(objects ...function) wire.Text {
	var all function
	for _, f := range objects {
		all.Arguments.text, all.Arguments.given = cmp.Or(all.Arguments.text, f.Arguments.text), all.Arguments.given || f.Arguments.given
		all.Input, all.Parameters = cmp.Or(all.Input, f.Input), cmp.Or(all.Parameters, f.Parameters)
	}
	if all.Arguments.given {
		all.Parameters = ""
	}
	return cmp.Or(all.Arguments.text, all.Input, all.Parameters)
}

// ofPart are the fields of a part.
var ofPart = wire.Names("type text content refusal thinking annotations logprobs citations")

// body is a message's content: a text, or parts of which some may be thinking, a refusal, or
// of a type that is not known.
type body struct {
	text, thinking, refusal string
	unknown                 wire.Text
}

// UnmarshalJSON never fails.
func (b *body) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		for _, part := range wire.ListOf(data) {
			b.add(part)
		}
		return nil
	}
	if part := (body{}); bytes.HasPrefix(data, []byte("{")) && len(wire.Unread(data, ofPart)) == 0 && part.add(data) {
		*b = part
		return nil
	}
	var t wire.Text
	err := t.UnmarshalJSON(data)
	b.text = string(t)
	return err
}

// thinking is a body, or an object that holds one, whatever else is in it.
type thinking body

// UnmarshalJSON never fails.
func (t *thinking) UnmarshalJSON(data []byte) error {
	b := (*body)(t)
	if bytes.HasPrefix(data, []byte("{")) {
		b.add(data)
		return nil
	}
	return b.UnmarshalJSON(data)
}

// add adds a part, and reports whether its type is known.
func (b *body) add(raw json.RawMessage) (known bool) {
	var p struct {
		Type     wire.Text `json:"type"`
		Text     wire.Text `json:"text"`
		Content  wire.Text `json:"content"`
		Refusal  wire.Text `json:"refusal"`
		Thinking body      `json:"thinking"`
	}
	if json.Unmarshal(raw, &p) != nil {
		_ = p.Text.UnmarshalJSON(raw) // it is no object
	}
	p.Text = cmp.Or(p.Text, p.Content)
	switch p.Type {
	case "thinking", "reasoning":
		b.thinking += p.Thinking.text + string(p.Text)
		return true
	case "text", "output_text", "refusal", "reference", "citation": // where a text is from is not kept
		known = true
	case "":
	default:
		if p.Text+p.Refusal == "" {
			b.unknown = p.Type
		}
	}
	b.text += string(p.Text)
	b.refusal += string(p.Refusal)
	return known
}
