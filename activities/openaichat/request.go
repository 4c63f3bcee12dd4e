package openaichat

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

const (
	// maxTokens bounds the answer by the name that most servers know.
	maxTokens = "max_tokens"
	// maxCompletionTokens bounds it by the name that OpenAI has now.
	maxCompletionTokens = "max_completion_tokens"
)

// encode returns the request's body. official says that the server is OpenAI's
// own, which knows the newer names.
func encode(call inference.Call, official bool) ([]byte, error) {
	messages, err := messages(call, official)
	if err != nil {
		return nil, err
	}
	p := openai.ChatCompletionNewParams{
		Model:         call.Config.Model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if t := call.Config.Temperature; t != nil {
		p.Temperature = openai.Float(*t)
	}
	if t := call.Config.TopP; t != nil {
		p.TopP = openai.Float(*t)
	}
	for _, tool := range call.Tools {
		function := definition(tool)
		if tool.Name == call.OutputTool {
			function.Strict = openai.Bool(output.Strict(tool.Schema) == nil)
		}
		p.Tools = append(p.Tools, openai.ChatCompletionToolUnionParam{OfFunction: &openai.ChatCompletionFunctionToolParam{Function: function}})
	}
	p.ToolChoice = toolChoice(call)
	if p.ResponseFormat, err = format(call); err != nil {
		return nil, err
	}
	extra := map[string]any{"stream": true}
	addOptions(extra, call, official)
	p.SetExtraFields(extra)
	body, err := join(p, messages)
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "%s: the request cannot be encoded: %s", Name, err).From(Name)
	}
	return body, nil
}

// join encodes the parameters with their messages.
func join(p openai.ChatCompletionNewParams, messages []openai.ChatCompletionMessageParamUnion) ([]byte, error) {
	encoded, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var rest map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &rest); err != nil {
		return nil, err
	}
	all := make([][]byte, len(messages))
	for i, m := range messages {
		if all[i], err = encodeMessage(m); err != nil {
			return nil, err
		}
	}
	return wire.Body("messages", all, rest)
}

// encodeMessage encodes the one variant that a message is, without the union
// around it.
func encodeMessage(m openai.ChatCompletionMessageParamUnion) ([]byte, error) {
	switch {
	case m.OfAssistant != nil:
		return m.OfAssistant.MarshalJSON()
	case m.OfTool != nil:
		return m.OfTool.MarshalJSON()
	case m.OfUser != nil:
		return m.OfUser.MarshalJSON()
	}
	return m.MarshalJSON()
}

func definition(tool domain.ToolSpec) shared.FunctionDefinitionParam {
	f := shared.FunctionDefinitionParam{Name: tool.Name}
	if tool.Description != "" {
		f.Description = openai.String(tool.Description)
	}
	f.SetExtraFields(map[string]any{"parameters": wire.Parameters(tool.Schema)})
	return f
}

// ours are the fields that options may not set: they are what the loop decides.
var ours = []string{"messages", "model", "n", "stream", "tools"}

// checkOptions says what is wrong with the options of a model.
func (p *Provider) checkOptions(options domain.Metadata) error {
	if err := p.wire.CheckOptions(options, ours...); err != nil {
		return err
	}
	_, _, err := tokenBound(options)
	return err
}

// addOptions adds the options as they are, a null one by leaving the field
// out, and the bound of the answer. They were checked.
func addOptions(fields map[string]any, call inference.Call, official bool) {
	options := call.Config.Options
	for key, value := range options {
		if wire.IsNull(value) {
			fields[key] = param.Omit
		} else {
			fields[key] = value
		}
	}
	key, bound, _ := tokenBound(options)
	if key == "" {
		key = maxTokens
		if official {
			key = maxCompletionTokens
		}
	}
	for _, b := range []int64{call.MaxOutputTokens, call.Config.MaxOutputTokens} {
		if b > 0 && (bound == 0 || b < bound) {
			bound = b
		}
	}
	if bound > 0 {
		fields[key] = bound
	}
}

// tokenBound reads the bound of the answer out of the options: the field that
// the server knows, and a bound of the user's own. A field given as null only
// says that the other one is to be used.
func tokenBound(options domain.Metadata) (key string, bound int64, err error) {
	for _, k := range []string{maxTokens, maxCompletionTokens} {
		value, ok := options[k]
		if !ok || wire.IsNull(value) {
			continue
		}
		number, err := strconv.ParseInt(strings.TrimSpace(string(value)), 10, 64)
		if err != nil || number <= 0 {
			return "", 0, domain.Errorf(domain.Invalid, "options: %s is not a positive whole number", k).From(Name)
		}
		if key != "" {
			return "", 0, domain.Errorf(domain.Invalid, "options: %s and %s are both set; give one", maxTokens, maxCompletionTokens).From(Name)
		}
		key, bound = k, number
	}
	if _, off := options[maxCompletionTokens]; off && key == "" {
		key = maxTokens
	} else if _, off := options[maxTokens]; off && key == "" {
		key = maxCompletionTokens
	}
	return key, bound, nil
}
