package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"everstep/activities/inference"
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
	var text struct {
		Format json.RawMessage `json:"format"`
	}
	if json.Unmarshal(given(config.Options, "text"), &text) == nil && len(text.Format) > 0 {
		return domain.Errorf(domain.Invalid, "options: text.format is given beside the definition's response_format; leave one out").From(Name)
	}
	if official(base) && !output.IsObject(format) {
		return domain.Errorf(domain.Invalid, "response_format.schema: %s takes only schemas of type object; put the value into a property of an object, or use mode %s",
			base.Host, domain.OutputInstruction).From(Name)
	}
	return nil
}

// textFormat is the response format, where it is told in the API's own way.
func textFormat(call inference.Call) (responses.ResponseTextConfigParam, error) {
	var out responses.ResponseTextConfigParam
	if call.OutputMode != domain.OutputNative {
		return out, nil
	}
	switch f := call.Format; f.Type {
	case domain.FormatJSON:
		out.Format.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	case domain.FormatSchema:
		if len(f.Schema) == 0 {
			return out, domain.Errorf(domain.Invalid, "response_format: has no schema; give one or use json_object").From(Name)
		}
		own := responses.ResponseFormatTextJSONSchemaConfigParam{Name: f.Name, Strict: param.NewOpt(output.Strict(f.Schema) == nil)}
		if own.Name == "" {
			own.Name = defaultFormat
		}
		// The order of properties is the order in which the model writes them:
		// the SDK's own field would lose it.
		own.SetExtraFields(map[string]any{"schema": f.Schema})
		out.Format.OfJSONSchema = &own
	case domain.FormatText, "":
	}
	return out, nil
}

// promptInInput reports whether the system prompt is sent as the first item.
// Where any JSON object is asked for, the API refuses input that does not
// mention JSON, and does not look at the instructions.
func promptInInput(call inference.Call) bool {
	return call.OutputMode == domain.OutputNative && call.Format.Type == domain.FormatJSON
}

// toolChoice makes the model call the tool that stands for the response format,
// or another where there are others.
func toolChoice(call inference.Call) responses.ResponseNewParamsToolChoiceUnion {
	var choice responses.ResponseNewParamsToolChoiceUnion
	switch {
	case call.OutputTool == "":
	case len(call.Tools) == 1:
		choice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: call.OutputTool}
	default:
		choice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptionsRequired)
	}
	return choice
}
