package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

// encode returns the request's body.
func encode(call inference.Call) ([]byte, error) {
	input, err := input(call)
	if err != nil {
		return nil, err
	}
	p := responses.ResponseNewParams{Model: call.Config.Model, Store: param.NewOpt(false)}
	if call.System != "" && !promptInInput(call) {
		p.Instructions = param.NewOpt(call.System)
	}
	if t := call.Config.Temperature; t != nil {
		p.Temperature = param.NewOpt(*t)
	}
	if t := call.Config.TopP; t != nil {
		p.TopP = param.NewOpt(*t)
	}
	if bound := bound(call); bound > 0 {
		p.MaxOutputTokens = param.NewOpt(bound)
	}
	if reasons(call.Config.Model) {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	for _, tool := range call.Tools {
		p.Tools = append(p.Tools, definition(tool, tool.Name == call.OutputTool))
	}
	p.ToolChoice = toolChoice(call)
	if p.Text, err = textFormat(call); err != nil {
		return nil, err
	}
	body, err := join(p, call.Config.Options, input)
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "the request cannot be encoded: %s", err).From(Name)
	}
	return body, nil
}

// join encodes the parameters with their options and items.
func join(p responses.ResponseNewParams, options domain.Metadata, input [][]byte) ([]byte, error) {
	encoded, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var rest map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &rest); err != nil {
		return nil, err
	}
	rest["stream"] = json.RawMessage("true")
	if err := addOptions(rest, options); err != nil {
		return nil, err
	}
	return wire.Body("input", input, rest)
}

// definition is a tool as the API has it. Only the tool that stands for the
// response format is strict, and only where its schema can be: the arguments
// of others are checked, and their schemas are not ours to choose.
func definition(tool domain.ToolSpec, answers bool) responses.ToolUnionParam {
	f := responses.FunctionToolParam{Name: tool.Name, Strict: param.NewOpt(answers && output.Strict(tool.Schema) == nil)}
	if tool.Description != "" {
		f.Description = param.NewOpt(tool.Description)
	}
	f.SetExtraFields(map[string]any{"parameters": wire.Parameters(tool.Schema)})
	return responses.ToolUnionParam{OfFunction: &f}
}
