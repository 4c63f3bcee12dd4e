package openaichat

import (
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

// defaultFormat is the name of a format that has none: the API wants one.
const defaultFormat = "answer"

// CheckFormat says why the API does not take a format. OpenAI's own wants an
// object at the root; of other servers nothing is known. A schema outside of
// the subset of strict mode is sent without it.
func (p *Provider) CheckFormat(config domain.LLMConfig, format domain.ResponseFormat, _ bool) error {
	base, err := p.wire.BaseURL(config)
	if err != nil {
		return err
	}
	if own, ok := config.Options["response_format"]; ok && !wire.IsNull(own) {
		return domain.Errorf(domain.Invalid, "options: response_format is given beside the definition's; leave one out").From(Name)
	}
	if official(base) && !output.IsObject(format) {
		return domain.Errorf(domain.Invalid, "response_format.schema: %s takes only schemas of type object; put the value into a property of an object, or use mode %s",
			base.Host, domain.OutputInstruction).From(Name)
	}
	return nil
}

// format is the response format, where it is told in the API's own way.
func format(call inference.Call) (openai.ChatCompletionNewParamsResponseFormatUnion, error) {
	var out openai.ChatCompletionNewParamsResponseFormatUnion
	if call.OutputMode != domain.OutputNative {
		return out, nil
	}
	switch f := call.Format; f.Type {
	case domain.FormatJSON:
		out.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	case domain.FormatSchema:
		if len(f.Schema) == 0 {
			return out, domain.Errorf(domain.Invalid, "response_format: has no schema; give one or use json_object").From(Name)
		}
		name := f.Name
		if name == "" {
			name = defaultFormat
		}
		out.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: name, Schema: f.Schema, Strict: openai.Bool(output.Strict(f.Schema) == nil),
		}}
	case domain.FormatText, "":
	}
	return out, nil
}

// toolChoice makes the model call the tool that stands for the response format,
// or another where there are others.
func toolChoice(call inference.Call) openai.ChatCompletionToolChoiceOptionUnionParam {
	var choice openai.ChatCompletionToolChoiceOptionUnionParam
	switch {
	case call.OutputTool == "":
	case len(call.Tools) == 1:
		choice.OfFunctionToolChoice = &openai.ChatCompletionNamedToolChoiceParam{Function: openai.ChatCompletionNamedToolChoiceFunctionParam{Name: call.OutputTool}}
	default:
		choice.OfAuto = openai.String("required")
	}
	return choice
}
