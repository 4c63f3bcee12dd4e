package anthropic

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

func encode(call inference.Call, given options, bound, thinking int64, from string) ([]byte, error) {
	c, err := converse(call, from)
	if err != nil {
		return nil, err
	}
	p := anthropic.MessageNewParams{Model: call.Config.Model, MaxTokens: bound, System: c.system}
	p.Tools, p.ToolChoice = tools(call, given)
	if err := given.tellFormat(call); err != nil {
		return nil, err
	}
	if !given.caches {
		mark(&p, c, call.Summary)
	}
	if len(call.Tools) == 0 {
		delete(given.rest, "tool_choice")
	}
	rest, err := wire.Fields(p, call.Config, given.rest)
	if err != nil {
		return nil, err
	}
	if given.thinking != nil && (given.budget == 0 || thinking > 0) {
		option := maps.Clone(given.thinking)
		if thinking > 0 {
			option["budget_tokens"] = strconv.AppendInt(nil, thinking, 10)
		}
		if rest["thinking"], err = json.Marshal(option); err != nil {
			return nil, err
		}
	}
	all := make([][]byte, len(c.turns))
	for i, t := range c.turns {
		if all[i], err = t.encode(); err != nil {
			return nil, err
		}
	}
	return wire.Body("messages", all, rest), nil
}

func (t *turn) encode() ([]byte, error) {
	blocks := make([][]byte, len(t.blocks))
	for k, block := range t.blocks {
		var err error
		if blocks[k], err = block.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	return wire.Body("content", blocks, map[string]json.RawMessage{"role": json.RawMessage(`"` + string(t.role) + `"`)}), nil
}

// mark sets the marks for the prompt cache, four at most: what does not change, and the ends
// of the user's last two turns, of which the earlier one was written by the last inference. A
// summary's own messages are not worth writing.
func mark(p *anthropic.MessageNewParams, c *conversation, summary bool) {
	cache := anthropic.NewCacheControlEphemeralParam()
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = cache
	}
	if n := len(p.System); n > 0 {
		p.System[n-1].CacheControl = cache
	}
	if summary {
		return
	}
	left := 2
	for _, t := range slices.Backward(c.turns) {
		if t.role != anthropic.MessageParamRoleUser || left == 0 {
			continue
		}
		if at := t.blocks[len(t.blocks)-1].GetCacheControl(); at != nil {
			*at = cache
			left--
		}
	}
}

// tools are the definitions and which of them the model must call. Tools that only the
// conversation holds calls of must be defined too.
func tools(call inference.Call, given options) ([]anthropic.ToolUnionParam, anthropic.ToolChoiceUnionParam) {
	var out []anthropic.ToolUnionParam
	for _, spec := range call.Tools {
		tool := definition(spec)
		if spec.Name == call.OutputTool && structured(call.Config.Model) && subset(spec.Schema) == nil {
			tool.Strict = anthropic.Bool(true)
		}
		out = append(out, anthropic.ToolUnionParam{OfTool: &tool})
	}
	var choice anthropic.ToolChoiceUnionParam
	switch {
	case len(out) == 0:
		if out = called(call.Messages); len(out) > 0 {
			none := anthropic.NewToolChoiceNoneParam()
			choice.OfNone = &none
		}
	case call.OutputTool == "" || given.thinks || binds(call.Config.Model) && !given.disabled():
		// A model that thinks cannot be made to call a tool.
	case len(out) == 1:
		choice.OfTool = &anthropic.ToolChoiceToolParam{Name: call.OutputTool}
	default:
		choice.OfAny = &anthropic.ToolChoiceAnyParam{}
	}
	return out, choice
}

// called are bare definitions of the tools that a conversation holds calls of.
func called(messages []domain.Message) []anthropic.ToolUnionParam {
	names := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			names[toolName(c.Name)] = true
		}
	}
	var out []anthropic.ToolUnionParam
	for _, name := range slices.Sorted(maps.Keys(names)) {
		tool := definition(domain.ToolSpec{Name: name})
		out = append(out, anthropic.ToolUnionParam{OfTool: &tool})
	}
	return out
}

func definition(spec domain.ToolSpec) anthropic.ToolParam {
	tool := anthropic.ToolParam{Name: spec.Name}
	if spec.Description != "" {
		tool.Description = anthropic.String(spec.Description)
	}
	schema, _ := output.Flat(spec.Schema)
	var fields map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) != nil || fields == nil {
		schema = json.RawMessage(`{"type":"object"}`)
	} else if fields["type"] == nil {
		fields["type"] = json.RawMessage(`"object"`)
		schema, _ = json.Marshal(fields) // it was read from JSON
	}
	tool.InputSchema = param.Override[anthropic.ToolInputSchemaParam](schema)
	return tool
}
