package gemini

import (
	"bytes"
	"encoding/json"
	"math"

	"google.golang.org/genai"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

// encode returns the request's body. The options were checked.
func encode(call inference.Call, bound int64) ([]byte, error) {
	native := call.OutputMode == domain.OutputNative
	if native && len(call.Tools) > 0 && generation(call.Config.Model) < 3 {
		// These models refuse a format beside tools. For any JSON object the prompt says so.
		if native = false; call.Format.Type == domain.FormatSchema {
			call.System = output.Instruct(call.System, call.Format)
		}
	}
	talk, err := converse(call)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{"contents": talk.contents}
	if len(talk.system) > 0 {
		fields["systemInstruction"] = genai.Content{Parts: talk.system}
	}
	if len(call.Tools) > 0 {
		fields["tools"] = []genai.Tool{{FunctionDeclarations: declarations(call.Tools)}}
	}
	for key, value := range call.Config.Options {
		if !wire.IsNull(value) {
			fields[key] = value
		}
	}
	generating, err := generating(call, native, bound)
	if err != nil {
		return nil, err
	}
	calling, err := calling(call)
	if err != nil {
		return nil, err
	}
	for key, own := range map[string]map[string]json.RawMessage{generationConfig: generating, toolConfig: calling} {
		if fields[key] = own; len(own) == 0 {
			delete(fields, key)
		}
	}
	return marshal(fields)
}

// marshal encodes a value without the escapes that only matter inside of HTML.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// generating is how the answer is to be made: as the definition says, with the options over it.
func generating(call inference.Call, native bool, bound int64) (map[string]json.RawMessage, error) {
	own, _ := object(call.Config.Options[generationConfig])
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
	fields, err := merge(config, own)
	if err == nil && bound > 0 {
		fields[maxOutputTokens], err = marshal(min(bound, math.MaxInt32))
	}
	return fields, err
}

func declarations(tools []domain.ToolSpec) []*genai.FunctionDeclaration {
	out := make([]*genai.FunctionDeclaration, 0, len(tools))
	for _, t := range tools {
		f := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if len(t.Schema) > 0 {
			f.ParametersJsonSchema = t.Schema
		}
		out = append(out, f)
	}
	return out
}

// calling says how the model is to use its tools: as the options have it, and so that it calls
// the one that stands for the response format, or another. Empty: as it likes.
func calling(call inference.Call) (map[string]json.RawMessage, error) {
	own, _ := object(call.Config.Options[toolConfig])
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
	return merge(config, own)
}
