package openaichat

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
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

func encode(call inference.Call, d Dialect, bound int64) ([]byte, error) {
	messages, err := messages(call, d)
	if err != nil {
		return nil, err
	}
	p := openai.ChatCompletionNewParams{Model: call.Config.Model}
	if !d.NoStreamOptions {
		p.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	for _, tool := range call.Tools {
		function := definition(tool)
		if tool.Name == call.OutputTool {
			function.Strict = openai.Bool(output.Strict(tool.Schema) == nil)
		}
		p.Tools = append(p.Tools, openai.ChatCompletionToolUnionParam{OfFunction: &openai.ChatCompletionFunctionToolParam{Function: function}})
	}
	format := wire.Format(call)
	if format["schema"] != nil {
		delete(format, "type")
		format = map[string]any{"type": "json_schema", "json_schema": format}
	}
	extra := map[string]any{}
	if format != nil {
		extra["response_format"] = format
	}
	if choice := wire.ToolChoice(call, true); choice != nil {
		extra["tool_choice"] = choice
	}
	p.SetExtraFields(extra)
	rest, err := wire.Fields(p, call.Config, call.Config.Options)
	if err != nil {
		return nil, err
	}
	if bound > 0 {
		key, _, _ := tokenBound(call.Config.Options)
		rest[cmp.Or(key, d.MaxTokens, maxTokens)] = strconv.AppendInt(nil, bound, 10)
	}
	return wire.Body("messages", messages, rest), nil
}

func definition(tool domain.ToolSpec) shared.FunctionDefinitionParam {
	f := shared.FunctionDefinitionParam{Name: tool.Name}
	if tool.Description != "" {
		f.Description = openai.String(tool.Description)
	}
	f.SetExtraFields(map[string]any{"parameters": wire.Parameters(tool.Schema)})
	return f
}

// tokenBound reads the bound of the answer and its field out of the options. A field given as
// null only says that the other one is to be used.
func tokenBound(options domain.Metadata) (key string, bound int64, err error) {
	other := map[string]string{maxTokens: maxCompletionTokens, maxCompletionTokens: maxTokens}
	for _, k := range []string{maxTokens, maxCompletionTokens} {
		given, err := wire.Bound(options, k, "")
		_, named := options[k]
		switch {
		case err != nil:
			return "", 0, err
		case given > 0 && bound > 0:
			return "", 0, domain.Errorf(domain.Invalid, "options: %s and %s are both set; give one", maxTokens, maxCompletionTokens)
		case given > 0:
			key, bound = k, given
		case named && bound == 0:
			key = other[k]
		}
	}
	return key, bound, nil
}

// checkFormat says why a format is not taken. A schema outside of strict mode is sent without it.
func checkFormat(config domain.LLMConfig, _ domain.ResponseFormat, _ bool) error {
	if own, ok := config.Options["response_format"]; ok && !wire.IsNull(own) {
		return domain.Errorf(domain.Invalid, "options: response_format is given beside the definition's; leave one out")
	}
	return nil
}

// messages writes the conversation, each message without the union around it.
func messages(call inference.Call, d Dialect) (out [][]byte, err error) {
	add := func(m json.Marshaler) {
		text, failed := m.MarshalJSON()
		out, err = append(out, text), errors.Join(err, failed)
	}
	if call.System != "" {
		add(openai.SystemMessage(call.System))
	}
	pairs := d.pairing()
	for i, m := range call.Messages {
		switch {
		case m.Role == domain.RoleDeveloper && d.Developer:
			add(openai.DeveloperMessage(m.Text()))
		case m.Role == domain.RoleSystem, m.Role == domain.RoleDeveloper:
			add(openai.SystemMessage(m.Text()))
		case m.Role == domain.RoleUser:
			user, err := userMessage(m)
			if err != nil {
				return nil, domain.Errorf(domain.Invalid, "message %d: %s", i, err)
			}
			add(user.OfUser)
		case m.Role == domain.RoleAssistant:
			said := assistantMessage(m, pairs.Begin(i, m.ToolCalls), d)
			// An answer that was cut before its text has nothing to send, and servers refuse a message of nothing.
			if said.Content.OfString.Value != "" || len(said.ToolCalls) > 0 || len(said.ExtraFields()) > 0 {
				add(said)
			}
		case m.Role == domain.RoleTool:
			// Such a message holds text alone, and in one of the user's a tool's image would speak for the user.
			m = inference.WithoutImages(m)
			add(openai.ToolMessage(m.ToolResult.Content, pairs.Answer(m.ToolResult.CallID)).OfTool)
		}
	}
	return out, err
}

func userMessage(m domain.Message) (openai.ChatCompletionMessageParamUnion, error) {
	out := openai.UserMessage(m.Text())
	if !wire.IsPlain(m) {
		parts := make([]openai.ChatCompletionContentPartUnionParam, len(m.Parts))
		for k, p := range m.Parts {
			var err error
			if parts[k], err = userPart(p); err != nil {
				return out, err
			}
		}
		out = openai.UserMessage(parts)
	}
	if m.Name != "" {
		out.OfUser.Name = openai.String(m.Name)
	}
	return out, nil
}

func userPart(p domain.Part) (openai.ChatCompletionContentPartUnionParam, error) {
	switch p.Type {
	case domain.PartText:
		return openai.TextContentPart(p.Text), nil
	case domain.PartImage:
		url := p.URL
		switch {
		case url == "" && len(p.Data) == 0:
			return openai.ChatCompletionContentPartUnionParam{}, errors.New("an image has neither URL nor data; give one")
		case url == "":
			url = wire.DataURL(p)
		}
		return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: url}), nil
	case domain.PartAudio:
		if len(p.Data) > 0 {
			return openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{
				Data: base64.StdEncoding.EncodeToString(p.Data), Format: audioFormat(p.MediaType),
			}), nil
		}
	case domain.PartFile:
		if len(p.Data) > 0 {
			file := openai.ChatCompletionContentPartFileFileParam{FileData: openai.String(wire.DataURL(p))}
			if p.Filename != "" {
				file.Filename = openai.String(p.Filename)
			}
			return openai.FileContentPart(file), nil
		}
	case domain.PartReasoning:
	}
	return openai.ChatCompletionContentPartUnionParam{}, fmt.Errorf("has a part of type %s that this provider cannot send; give its data", p.Type)
}

func audioFormat(mediaType string) string {
	_, format, _ := strings.Cut(mediaType, "/")
	if format = strings.TrimPrefix(format, "x-"); format == "mpeg" {
		return "mp3"
	}
	return format
}

const maxName = 64

func assistantMessage(m domain.Message, ids []string, d Dialect) openai.ChatCompletionAssistantMessageParam {
	var out openai.ChatCompletionAssistantMessageParam
	if text := m.Text(); text != "" || len(m.ToolCalls) == 0 || d.EmptyContent {
		out.Content.OfString = openai.String(text)
	}
	for k, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID:       ids[k],
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: wire.ToolName(c.Name, maxName, ""), Arguments: c.Arguments},
			},
		})
	}
	if fields := reasoningFields(m); len(fields) > 0 && !d.NoReasoning {
		out.SetExtraFields(fields)
	}
	return out
}

// reasoningFields gives the model's reasoning back: details as they came, plain text where
// calls follow.
func reasoningFields(m domain.Message) map[string]any {
	fields := map[string]any{}
	for _, p := range m.Parts {
		switch {
		case p.Type != domain.PartReasoning:
		case len(p.Opaque) > 0:
			// A list is this API's own; what other providers want back is not.
			if p.Opaque[0] == '[' {
				fields["reasoning_details"] = p.Opaque
			}
		case p.Signature == "reasoning_content" || p.Signature == "reasoning":
			if len(m.ToolCalls) > 0 {
				fields[p.Signature] = p.Text
			}
		}
	}
	return fields
}
