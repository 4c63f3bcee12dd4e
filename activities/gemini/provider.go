package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in gemini/gemini-3-pro.
const Name = "gemini"

// New checks the configuration and returns the provider. It makes no request.
// The base URL goes up to, but does not include, /models.
func New(config wire.Config) (*wire.Client, error) { return wire.New(API(), config) }

const (
	generationConfig = "generationConfig"
	toolConfig       = "toolConfig"
	maxOutputTokens  = "maxOutputTokens"
)

// API is Google's Gemini.
func API() wire.API {
	return wire.API{
		Name: Name, Server: "https://generativelanguage.googleapis.com/v1beta", Variables: "GEMINI",
		Official: func(host string) bool {
			return host == "googleapis.com" || strings.HasSuffix(host, ".googleapis.com")
		},
		KeyParameter: "key",
		Reserved:     []string{"contents", "model", "systemInstruction", "system_instruction", "tools"},
		Options:      options, CheckFormat: checkFormat,
		Prepare: func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
			body, err := encode(call, a.Bound)
			request := wire.Request{Path: path(call.Config.Model), Query: url.Values{"alt": {"sse"}}, Header: a.KeyIn("X-Goog-Api-Key", ""), Body: body}
			return request, &assembly{Attempt: a}, err
		},
	}
}

// path is the method's below the base URL. A name with a slash is a path itself, as
// tunedModels/mine.
func path(model string) string {
	model = strings.ReplaceAll(url.PathEscape(strings.TrimSpace(model)), "%2F", "/")
	if !strings.Contains(model, "/") {
		model = "models/" + model
	}
	return model + ":streamGenerateContent"
}

// generation is the first number in a Gemini model's name; 3 for an alias of the latest, whose
// rules hold today; zero: nothing is known of it.
func generation(model string) int {
	model = strings.ToLower(strings.TrimSpace(model))
	model = model[strings.LastIndex(model, "/")+1:]
	rest, ok := strings.CutPrefix(model, "gemini-")
	if !ok {
		return 0
	}
	number := 0
	_, _ = fmt.Sscanf(rest, "%3d", &number)
	if number == 0 && strings.HasSuffix(rest, "latest") {
		return 3
	}
	return number
}

// formats are the fields of generationConfig that say what an answer must be.
var formats = []string{"responseFormat", "responseJsonSchema", "responseMimeType", "responseSchema"}

// options says what is wrong with a model's options, or returns the bound of the answer they give.
func options(given domain.Metadata) (bound int64, err error) {
	for wrong, right := range map[string]string{"generation_config": generationConfig, "tool_config": toolConfig} {
		if _, ok := given[wrong]; ok {
			return 0, domain.Errorf(domain.Invalid, "options: %s is written %s here", wrong, right)
		}
	}
	for _, key := range []string{generationConfig, toolConfig} {
		if _, err := object(given[key]); err != nil {
			return 0, domain.Errorf(domain.Invalid, "options: %s is not an object", key)
		}
	}
	own, _ := object(given[generationConfig])
	if _, ok := own["candidateCount"]; ok {
		return 0, domain.Errorf(domain.Invalid, "options: generationConfig.candidateCount is set by Everstep; leave it out")
	}
	tools, _ := object(given[toolConfig])
	calling, err := object(tools["functionCallingConfig"])
	if err != nil {
		return 0, domain.Errorf(domain.Invalid, "options: toolConfig.functionCallingConfig is not an object")
	}
	if string(calling["streamFunctionCallArguments"]) == "true" {
		return 0, domain.Errorf(domain.Invalid, "options: toolConfig.functionCallingConfig.streamFunctionCallArguments is not supported; leave it out")
	}
	return wire.Bound(own, maxOutputTokens, generationConfig+".")
}

// checkFormat says why a format is not taken: the options give one too, or an older model has
// tools.
func checkFormat(config domain.LLMConfig, _ domain.ResponseFormat, tools bool) error {
	own, _ := object(config.Options[generationConfig])
	for _, key := range formats {
		if value, ok := own[key]; ok && !wire.IsNull(value) {
			return domain.Errorf(domain.Invalid, "options: %s.%s is given beside the definition's response_format; leave one out", generationConfig, key)
		}
	}
	if older := generation(config.Model); tools && older > 0 && older < 3 {
		return domain.Errorf(domain.Invalid, "response_format.mode: model %s takes no response format beside tools; use a newer one, leave mode out, or give mode %s or %s",
			domain.Shorten(config.Model, 64), domain.OutputTool, domain.OutputInstruction)
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

// merge puts options over the fields of a value, a null one by leaving the field out.
func merge(base any, over map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	encoded, err := marshal(base)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(encoded, &fields)
	maps.Copy(fields, over)
	maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool { return wire.IsNull(value) })
	return fields, err
}
