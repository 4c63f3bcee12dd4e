package anthropic

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

func encode(call inference.Call, given options, bound int64, from string) ([]byte, error) {
	c, err := converse(call, from)
	if err != nil {
		return nil, err
	}
	p := anthropic.MessageNewParams{Model: call.Config.Model, MaxTokens: bound, System: c.system}
	p.Tools, p.ToolChoice = tools(call, given)
	if !given.caches {
		mark(&p, c, call.Summary)
	}
	if len(call.Tools) == 0 {
		delete(given.rest, "tool_choice")
	}
	rest := wire.Fields(p, call.Config, given.rest)
	if given.thinking != nil {
		rest["thinking"] = wire.JSON(given.thinking)
	}
	if call.OutputMode == domain.OutputNative && call.Format.Type == domain.FormatSchema {
		schema := wire.Object(call.Format.Schema) // it was checked
		delete(schema, "$schema")
		wire.Put(rest, "output_config", "format", map[string]any{"type": "json_schema", "schema": schema})
	}
	return wire.Body("messages", c.turns, rest)
}

// MarshalJSON writes the turn as a message.
func (t *turn) MarshalJSON() ([]byte, error) {
	return wire.Body("content", t.blocks, map[string]json.RawMessage{"role": json.RawMessage(`"` + string(t.role) + `"`)})
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
	specs := call.Tools
	if len(specs) == 0 {
		specs = called(call.Messages)
	}
	var out []anthropic.ToolUnionParam
	for _, spec := range specs {
		tool := definition(spec)
		if spec.Name == call.OutputTool && structured(call.Config.Model) && subset(spec.Schema) == nil {
			tool.Strict = anthropic.Bool(true)
		}
		out = append(out, anthropic.ToolUnionParam{OfTool: &tool})
	}
	var choice anthropic.ToolChoiceUnionParam
	switch {
	case len(out) == 0:
	case len(call.Tools) == 0:
		choice.OfNone = new(anthropic.NewToolChoiceNoneParam())
	case call.OutputTool == "" || given.thinks || binds(call.Config.Model) && !given.disabled():
		// A model that thinks cannot be made to call a tool.
	case len(out) == 1:
		choice.OfTool = &anthropic.ToolChoiceToolParam{Name: call.OutputTool}
	default:
		choice.OfAny = &anthropic.ToolChoiceAnyParam{}
	}
	return out, choice
}

// called are the names of the tools that a conversation holds calls of.
func called(messages []domain.Message) (specs []domain.ToolSpec) {
	names := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			names[toolName(c.Name)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		specs = append(specs, domain.ToolSpec{Name: name})
	}
	return specs
}

func definition(spec domain.ToolSpec) anthropic.ToolParam {
	tool := anthropic.ToolParam{Name: spec.Name}
	if spec.Description != "" {
		tool.Description = anthropic.String(spec.Description)
	}
	schema, _ := output.Flat(spec.Schema)
	if fields := wire.Object(schema); fields == nil {
		schema = json.RawMessage(`{"type":"object"}`)
	} else if fields["type"] == nil {
		fields["type"] = json.RawMessage(`"object"`)
		schema = wire.JSON(fields)
	}
	tool.InputSchema = param.Override[anthropic.ToolInputSchemaParam](schema)
	return tool
}
