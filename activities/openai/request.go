package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

func encode(call inference.Call, bound int64) ([]byte, error) {
	input, err := input(call)
	if err != nil {
		return nil, err
	}
	p := responses.ResponseNewParams{Model: call.Config.Model, Store: param.NewOpt(false)}
	if call.System != "" && !promptInInput(call) {
		p.Instructions = param.NewOpt(call.System)
	}
	if bound > 0 {
		p.MaxOutputTokens = param.NewOpt(bound)
	}
	if !unreasoning.MatchString(call.Config.Model) {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	for _, tool := range call.Tools {
		// Only the tool that stands for the response format is strict, and only where its schema can be: the arguments of
		// others are checked, and their schemas are not ours to choose.
		f := responses.FunctionToolParam{Name: tool.Name, Strict: param.NewOpt(tool.Name == call.OutputTool && output.Strict(tool.Schema) == nil)}
		if tool.Description != "" {
			f.Description = param.NewOpt(tool.Description)
		}
		f.SetExtraFields(map[string]any{"parameters": wire.Parameters(tool.Schema)})
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &f})
	}
	// Of include and text, what is ours stays beside what is given.
	include, options, _ := readOptions(call.Config.Options) // they were checked
	for _, name := range include {
		if !slices.Contains(p.Include, name) {
			p.Include = append(p.Include, name)
		}
	}
	p.SetExtraFields(map[string]any{"tool_choice": wire.ToolChoice(call, false)}) // null is left out
	rest := wire.Fields(p, call.Config, options)
	_, given := options["text"]
	if format := wire.Format(call); format != nil && (!given || rest["text"] != nil) { // a null one is left out
		wire.Put(rest, "text", "format", format)
	}
	return wire.Body("input", input, rest)
}

// promptInInput reports whether the system prompt is the first item: asked for any JSON
// object, the API wants JSON mentioned there and does not look at the instructions.
func promptInInput(call inference.Call) bool {
	return call.OutputMode == domain.OutputNative && call.Format.Type == domain.FormatJSON
}

// input writes the conversation as items, whose ids are unique and short, each result with its call's. There is no place for
// the name of a user.
func input(call inference.Call) ([]json.Marshaler, error) {
	w := &writer{reasons: !unreasoning.MatchString(call.Config.Model)}
	if call.System != "" && promptInInput(call) {
		w.text(responses.EasyInputMessageRoleDeveloper, call.System, "")
	}
	pairs := wire.Pairing{Accepts: func(id string) bool { return len(id) <= 64 }}
	err := wire.Each("message", call.Messages, func(i int, m domain.Message) error {
		list, err := partsOf(m)
		switch m.Role {
		case domain.RoleSystem, domain.RoleDeveloper:
			w.text(responses.EasyInputMessageRoleDeveloper, m.Text(), "")
		case domain.RoleUser:
			if wire.IsPlain(m) {
				w.text(responses.EasyInputMessageRoleUser, m.Text(), "")
				return nil
			}
			w.add(responses.EasyInputMessageParam{Role: responses.EasyInputMessageRoleUser, Content: responses.EasyInputMessageContentUnionParam{OfInputItemContentList: list}})
			return err
		case domain.RoleAssistant:
			w.turn(m, pairs.Begin(i, m.ToolCalls))
		case domain.RoleTool:
			result := responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(pairs.Answer(m.ToolResult.CallID))}
			result.Output.OfString = param.NewOpt(m.ToolResult.Content)
			if len(list) > 0 {
				result.SetExtraFields(map[string]any{"output": slices.Insert(list, 0, responses.ResponseInputContentParamOfInputText(m.ToolResult.Content))})
			}
			w.add(result)
			return err
		}
		return nil
	})
	return w.items, err
}

// partsOf are what a message of the user's, or a result, has in parts.
func partsOf(m domain.Message) (out responses.ResponseInputMessageContentListParam, err error) {
	err = wire.Each("part", m.Parts, func(_ int, p domain.Part) error {
		var part responses.ResponseInputContentUnionParam
		switch p.Type {
		case domain.PartImage:
			part.OfInputImage = &responses.ResponseInputImageParam{Detail: responses.ResponseInputImageDetailAuto, ImageURL: param.NewOpt(wire.ImageURL(p))}
		case domain.PartFile:
			part.OfInputFile = &responses.ResponseInputFileParam{}
			if len(p.Data) > 0 {
				name := "file" // by which the API knows what it is
				if p.MediaType == "application/pdf" {
					name = "file.pdf"
				}
				part.OfInputFile.FileData, part.OfInputFile.Filename = param.NewOpt(wire.DataURL(p)), param.NewOpt(cmp.Or(p.Filename, name))
			} else {
				part.OfInputFile.FileURL = param.NewOpt(p.URL)
			}
		case domain.PartAudio:
			return errors.New("the Responses API takes no audio; send its text, or use a model of chat completions that takes audio")
		default:
			part = responses.ResponseInputContentParamOfInputText(p.Text)
		}
		out = append(out, part)
		return nil
	})
	return out, err
}

// The types of the items that are read and written.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
)

// A mark is what an empty reasoning part holds: that the next call of the message stands here,
// or the phase of the text that follows. Without either it means nothing, so a message may be
// changed. It is recorded.
type mark struct {
	Type  string `json:"type"`
	Phase string `json:"phase,omitzero"`
}

// A writer collects items.
type writer struct {
	// reasons says that the model takes reasoning.
	reasons bool
	items   []json.Marshaler
}

func (w *writer) add(items ...json.Marshaler) { w.items = append(w.items, items...) }

func (w *writer) text(role responses.EasyInputMessageRole, text, phase string) {
	w.add(responses.EasyInputMessageParam{
		Role: role, Phase: responses.EasyInputMessagePhase(phase),
		Content: responses.EasyInputMessageContentUnionParam{OfString: param.NewOpt(text)},
	})
}

// turn writes what the model said, in its order. Reasoning is held back until the item follows
// for which it is; others' is left out.
func (w *writer) turn(m domain.Message, ids []string) {
	var held []json.Marshaler
	var phase string
	var called int
	release := func() {
		w.add(held...)
		held = nil
	}
	call := func() {
		if called < len(m.ToolCalls) {
			release()
			c := m.ToolCalls[called]
			w.add(responses.ResponseFunctionToolCallParam{CallID: ids[called], Name: wire.ToolName(c.Name, 64, ""), Arguments: string(wire.Arguments(c.Arguments, "invalid_arguments"))})
			called++
		}
	}
	for _, p := range m.Parts {
		switch p.Type {
		case domain.PartText:
			if p.Text != "" {
				release()
				w.text(responses.EasyInputMessageRoleAssistant, p.Text, phase)
				phase = ""
			}
		case domain.PartReasoning:
			switch kept := read(p.Opaque); kept.Type {
			case itemReasoning:
				if w.reasons && kept.returnable() {
					held = append(held, p.Opaque)
				}
			case itemMessage:
				phase = string(kept.Phase)
			case itemCall:
				call()
			}
		case domain.PartImage, domain.PartFile, domain.PartAudio:
		}
	}
	for called < len(m.ToolCalls) {
		call()
	}
}

// read reads what came, or was kept. What is no item of ours has no type.
func read(opaque json.RawMessage) item {
	kept := item{raw: opaque}
	if json.Unmarshal(opaque, &kept) != nil {
		return item{raw: opaque}
	}
	switch {
	case kept.Type == "custom_tool_call": // its arguments are free text
		kept.Type, kept.Arguments = itemCall, kept.Input
	case kept.Type == "" && kept.Content != nil:
		kept.Type = itemMessage
	}
	return kept
}

// An item is one of an answer's, as far as it is read.
type item struct {
	Type      wire.Text `json:"type"`
	Status    wire.Text `json:"status"`
	Phase     wire.Text `json:"phase"`
	ID        wire.Text `json:"id"`
	CallID    wire.Text `json:"call_id"`
	Name      wire.Text `json:"name"`
	Arguments wire.Text `json:"arguments"`
	Input     wire.Text `json:"input"`
	Encrypted wire.Text `json:"encrypted_content"`
	Content   contents  `json:"content"`
	Summary   contents  `json:"summary"`

	// raw is the item as it came, and at its place in a stream.
	raw json.RawMessage
	at  int
}

// returnable reports whether a reasoning item is good without being stored. Open models
// encrypt none.
func (i item) returnable() bool {
	return i.ID != "" && i.Status != "in_progress" && i.Status != statusIncomplete && (i.Encrypted != "" || len(i.Content) > 0)
}

// contents are the parts of a message, or of what reasoning says of itself.
type contents []content

type content struct {
	Type    wire.Text `json:"type"`
	Text    wire.Text `json:"text"`
	Refusal wire.Text `json:"refusal"`
}

// UnmarshalJSON takes what is no list for a list of one, and what is no object for a text. It never fails.
func (c *contents) UnmarshalJSON(data []byte) error {
	for _, raw := range wire.ListOf(data) {
		var one content
		if json.Unmarshal(raw, &one) != nil {
			_ = one.Text.UnmarshalJSON(raw)
		}
		*c = append(*c, one)
	}
	return nil
}

func (c contents) join(between string) string {
	var texts []string
	for _, one := range c {
		if one.Text+one.Refusal != "" {
			texts = append(texts, string(one.Text+one.Refusal))
		}
	}
	return strings.Join(texts, between)
}
