package gemini

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

const (
	generationConfig = "generationConfig"
	toolConfig       = "toolConfig"
	maxOutputTokens  = "maxOutputTokens"
)

// ours are the fields that options may not set: they are what the loop decides.
var ours = []string{"contents", "model", "systemInstruction", "system_instruction", "tools"}

// formats are the fields of generationConfig that say what an answer must be.
var formats = []string{"responseFormat", "responseJsonSchema", "responseMimeType", "responseSchema"}

// checkOptions says what is wrong with the options of a model.
func (p *Provider) checkOptions(options domain.Metadata) error {
	if err := p.wire.CheckOptions(options, ours...); err != nil {
		return err
	}
	for wrong, right := range map[string]string{"generation_config": generationConfig, "tool_config": toolConfig} {
		if _, ok := options[wrong]; ok {
			return domain.Errorf(domain.Invalid, "options: %s is written %s here", wrong, right).From(Name)
		}
	}
	for _, key := range []string{generationConfig, toolConfig} {
		if _, err := object(options[key]); err != nil {
			return domain.Errorf(domain.Invalid, "options: %s is not an object", key).From(Name)
		}
	}
	own, _ := object(options[generationConfig])
	if _, ok := own["candidateCount"]; ok {
		return domain.Errorf(domain.Invalid, "options: generationConfig.candidateCount is set by Everstep; leave it out").From(Name)
	}
	if _, err := tokenBound(own); err != nil {
		return err
	}
	tools, _ := object(options[toolConfig])
	calling, err := object(tools["functionCallingConfig"])
	if err != nil {
		return domain.Errorf(domain.Invalid, "options: toolConfig.functionCallingConfig is not an object").From(Name)
	}
	if string(calling["streamFunctionCallArguments"]) == "true" {
		return domain.Errorf(domain.Invalid, "options: toolConfig.functionCallingConfig.streamFunctionCallArguments is not supported; leave it out").From(Name)
	}
	return nil
}

// CheckFormat says why the API does not take a format: where the options give
// one too, and from models before Gemini 3 beside tools. It takes schemas of any
// type.
func (p *Provider) CheckFormat(config domain.LLMConfig, _ domain.ResponseFormat, tools bool) error {
	if _, err := p.wire.BaseURL(config); err != nil {
		return err
	}
	own, err := object(config.Options[generationConfig])
	if err != nil {
		return domain.Errorf(domain.Invalid, "options: %s is not an object", generationConfig).From(Name)
	}
	for _, key := range formats {
		if value, ok := own[key]; ok && !wire.IsNull(value) {
			return domain.Errorf(domain.Invalid, "options: %s.%s is given beside the definition's response_format; leave one out", generationConfig, key).From(Name)
		}
	}
	if older := generation(config.Model); tools && older > 0 && older < 3 {
		return domain.Errorf(domain.Invalid, "response_format.mode: model %s takes no response format beside tools; use a newer one, leave mode out, or give mode %s or %s",
			domain.Shorten(config.Model, 64), domain.OutputTool, domain.OutputInstruction).From(Name)
	}
	return nil
}

// object reads a JSON object. What is absent or null is an empty one.
func object(data json.RawMessage) (map[string]json.RawMessage, error) {
	var out map[string]json.RawMessage
	if len(data) == 0 {
		return nil, nil
	}
	err := json.Unmarshal(data, &out)
	return out, err
}

// merge puts the fields of options over those of an encoded value, a null one
// by leaving the field out.
func merge(base any, over map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	encoded, err := marshal(base)
	if err != nil {
		return nil, err
	}
	fields, err := object(encoded)
	if err != nil {
		return nil, err
	}
	if fields == nil {
		fields = make(map[string]json.RawMessage, len(over))
	}
	for _, key := range slices.Sorted(maps.Keys(over)) {
		if wire.IsNull(over[key]) {
			delete(fields, key)
		} else {
			fields[key] = over[key]
		}
	}
	return fields, nil
}

// tokenBound reads the bound of the answer out of the options. Zero: none.
func tokenBound(own map[string]json.RawMessage) (int64, error) {
	value, ok := own[maxOutputTokens]
	if !ok || wire.IsNull(value) {
		return 0, nil
	}
	number, err := strconv.ParseInt(strings.TrimSpace(string(value)), 10, 32)
	if err != nil || number <= 0 {
		return 0, domain.Errorf(domain.Invalid, "options: %s.%s is not a positive whole number", generationConfig, maxOutputTokens).From(Name)
	}
	return number, nil
}

// bound is the smallest of the bounds that the answer has. Zero: none.
func bound(call inference.Call, own map[string]json.RawMessage) int64 {
	least, _ := tokenBound(own)
	for _, b := range []int64{call.MaxOutputTokens, call.Config.MaxOutputTokens} {
		if b > 0 && (least == 0 || b < least) {
			least = b
		}
	}
	return least
}
