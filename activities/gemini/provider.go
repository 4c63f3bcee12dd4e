package gemini

import (
	"cmp"
	"encoding/json"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in gemini/gemini-3-pro.
const Name = "gemini"

const (
	generationConfig = "generationConfig"
	toolConfig       = "toolConfig"
	functionCalling  = toolConfig + ".functionCallingConfig"
	maxOutputTokens  = "maxOutputTokens"
)

// API is Google's Gemini. The base URL goes up to, but does not include, /models.
func API() wire.API {
	return wire.API{
		Name: Name, Server: "https://generativelanguage.googleapis.com/v1beta", Title: "Gemini", Variables: "GEMINI", OtherKey: "GOOGLE_API_KEY",
		OwnDomain: ".googleapis.com", KeyParameter: "key",
		Reserved: []string{
			"contents", "model", "systemInstruction", "system_instruction", "tools",
			generationConfig + ".candidateCount",
		},
		Objects: []string{generationConfig, toolConfig, functionCalling},
		Bounds:  []string{generationConfig + "." + maxOutputTokens},
		Formats: []string{
			generationConfig + ".responseFormat", generationConfig + ".responseJsonSchema", generationConfig + ".responseMimeType", generationConfig + ".responseSchema",
		},
		Options: spelled, CheckFormat: checkFormat, Schema: output.Plain,
		Prepare: func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
			body, err := encode(call, a.Bound)
			// A name with a slash is a path itself, as tunedModels/mine.
			model := strings.ReplaceAll(url.PathEscape(strings.TrimSpace(call.Config.Model)), "%2F", "/")
			if !strings.Contains(model, "/") {
				model = "models/" + model
			}
			request := wire.Request{Path: model + ":streamGenerateContent", Query: url.Values{"alt": {"sse"}}, Header: a.KeyIn("X-Goog-Api-Key", ""), Body: body}
			return request, &assembly{Attempt: a, called: map[string]identified{}}, err
		},
	}
}

// generation is the first number in a Gemini model's name; 3 for an alias of the latest, whose
// rules hold today; zero: nothing is known of it.
func generation(model string) int {
	found := generations.FindStringSubmatch(model)
	if found == nil {
		return 0
	}
	number, _ := strconv.Atoi(cmp.Or(found[1], "3"))
	return number
}

var generations = regexp.MustCompile(`(?i)^\s*(?:.*/)?gemini-(?:([0-9]{1,3})[^/]*|[^/]*latest\s*)$`)

// spelled says which options are spelled otherwise here, or ask for arguments in pieces.
func spelled(given domain.Metadata) error {
	for wrong, right := range map[string]string{"generation_config": generationConfig, "tool_config": toolConfig} {
		if given[wrong] != nil {
			return domain.Invalidf("options: %s is written %s here", wrong, right)
		}
	}
	if string(wire.Object(wire.Object(given[toolConfig])["functionCallingConfig"])["streamFunctionCallArguments"]) == "true" {
		return domain.Invalidf("options: %s.streamFunctionCallArguments is not supported; leave it out", functionCalling)
	}
	return nil
}

// checkFormat says why a format is not taken: an older model has tools.
func checkFormat(config domain.LLMConfig, _ domain.ResponseFormat, tools bool) error {
	if older := generation(config.Model); tools && older > 0 && older < 3 {
		return domain.Invalidf("response_format.mode: model %s takes no response format beside tools; use a newer one, leave mode out, or give mode %s or %s",
			domain.Shorten(config.Model, 64), domain.OutputTool, domain.OutputInstruction)
	}
	return nil
}

// encode returns the request's body. The options were checked.
func encode(call inference.Call, bound int64) ([]byte, error) {
	native := call.OutputMode == domain.OutputNative
	if native && len(call.Tools) > 0 && generation(call.Config.Model) < 3 {
		// These models refuse a format beside tools. For any JSON object the prompt says so.
		if native = false; call.Format.Type == domain.FormatSchema {
			call.System = output.Instruct(call.System, call.Format)
		}
	}
	conversation, err := converse(call)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{"contents": conversation.contents}
	if len(conversation.system) > 0 {
		fields["systemInstruction"] = genai.Content{Parts: conversation.system}
	}
	if len(call.Tools) > 0 {
		var tool genai.Tool
		for _, t := range call.Tools {
			f := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
			if len(t.Schema) > 0 {
				f.ParametersJsonSchema, _ = output.Plain(t.Schema)
			}
			tool.FunctionDeclarations = append(tool.FunctionDeclarations, f)
		}
		fields["tools"] = []genai.Tool{tool}
	}
	for key, value := range call.Config.Options {
		if !wire.IsNull(value) {
			fields[key] = value
		}
	}
	for key, own := range map[string]map[string]json.RawMessage{generationConfig: generating(call, native, bound), toolConfig: calling(call)} {
		if fields[key] = own; len(own) == 0 {
			delete(fields, key)
		}
	}
	return wire.JSON(fields), nil
}

// generating is how the answer is to be made: as the definition says, with the options over it.
func generating(call inference.Call, native bool, bound int64) map[string]json.RawMessage {
	own := wire.Object(call.Config.Options[generationConfig])
	var config genai.GenerationConfig
	if t := call.Config.Temperature; t != nil {
		config.Temperature = new(float32(*t))
	}
	if t := call.Config.TopP; t != nil {
		config.TopP = new(float32(*t))
	}
	if native {
		switch f := call.Format; f.Type {
		case domain.FormatJSON:
			config.ResponseMIMEType = "application/json"
		case domain.FormatSchema:
			config.ResponseMIMEType, config.ResponseJsonSchema = "application/json", f.Schema
		case domain.FormatText, "":
		}
	}
	fields := wire.Over(config, own)
	if bound > 0 {
		fields[maxOutputTokens] = wire.JSON(min(bound, math.MaxInt32))
	}
	return fields
}

// calling says how the model is to use its tools: as the options have it, and so that it calls
// the one that stands for the response format, or another. Empty: as it likes.
func calling(call inference.Call) map[string]json.RawMessage {
	own := wire.Object(call.Config.Options[toolConfig])
	var config genai.ToolConfig
	if call.OutputTool != "" {
		config.FunctionCallingConfig = &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny}
		if len(call.Tools) == 1 {
			config.FunctionCallingConfig.AllowedFunctionNames = []string{call.OutputTool}
		}
	}
	if call.OutputTool != "" || len(call.Tools) == 0 {
		// Names that may be called would be those of no tool.
		delete(own, "functionCallingConfig")
	}
	return wire.Over(config, own)
}
