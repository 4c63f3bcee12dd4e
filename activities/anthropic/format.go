package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// CheckFormat says why the API does not take a format: it takes schemas alone,
// of a subset of JSON Schema, and with its newer models.
func (p *Provider) CheckFormat(config domain.LLMConfig, format domain.ResponseFormat, _ bool) error {
	given, err := p.readOptions(config.Options)
	if err != nil {
		return err
	}
	if own, ok := given.output["format"]; ok && !wire.IsNull(own) {
		return domain.Errorf(domain.Invalid, "options: output_config has a format beside the definition's; leave one out").From(Name)
	}
	switch format.Type {
	case domain.FormatText, "":
		return nil
	case domain.FormatJSON:
		return domain.Errorf(domain.Invalid, "response_format.type: this API has no %s of its own; give a schema, or mode %s or %s",
			domain.FormatJSON, domain.OutputTool, domain.OutputInstruction).From(Name)
	case domain.FormatSchema:
	}
	if !structured(config.Model) {
		return domain.Errorf(domain.Invalid, "response_format.mode: model %s is not known to take response formats; use a newer one, or give mode %s or %s",
			domain.Shorten(config.Model, 64), domain.OutputTool, domain.OutputInstruction).From(Name)
	}
	if err := subset(format.Schema); err != nil {
		return domain.Errorf(domain.Invalid, "response_format.schema: the API does not take it: %s; change that, or give mode %s or %s",
			err, domain.OutputTool, domain.OutputInstruction).From(Name)
	}
	return nil
}

// unstructured begin the names of the models that came before response formats.
var unstructured = []string{
	"claude-2", "claude-3", "claude-instant", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2025",
	"claude-sonnet-4-0", "claude-sonnet-4-2025",
}

// structured reports whether a model takes schemas. Models of other makers,
// served in the form of this API, are not known to.
func structured(model string) bool {
	return strings.HasPrefix(model, "claude-") &&
		!slices.ContainsFunc(unstructured, func(older string) bool { return strings.HasPrefix(model, older) })
}

// outputConfig holds the response format, where it is told in the API's own
// way, and what the options say beside it.
func outputConfig(call inference.Call, given options) (anthropic.OutputConfigParam, error) {
	var out anthropic.OutputConfigParam
	extra := map[string]any{}
	for key, value := range given.output {
		extra[key] = value
	}
	if call.OutputMode == domain.OutputNative && call.Format.Type == domain.FormatSchema {
		var fields map[string]json.RawMessage
		if json.Unmarshal(call.Format.Schema, &fields) != nil || fields == nil {
			return out, domain.Errorf(domain.Invalid, "response_format: has no schema that is an object; give one").From(Name)
		}
		schema := map[string]any{}
		for key, value := range fields {
			if key != "$schema" {
				schema[key] = value
			}
		}
		out.Format.Schema = schema
		delete(extra, "format")
	}
	if len(extra) > 0 {
		out.SetExtraFields(extra)
	}
	return out, nil
}
