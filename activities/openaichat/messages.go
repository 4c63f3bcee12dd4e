package openaichat

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// messages writes the conversation in OpenAI's form.
func messages(call inference.Call, official bool) ([]openai.ChatCompletionMessageParamUnion, error) {
	out := make([]openai.ChatCompletionMessageParamUnion, 0, len(call.Messages)+1)
	if call.System != "" {
		out = append(out, openai.SystemMessage(call.System))
	}
	var pairs wire.Pairing
	for i, m := range call.Messages {
		switch m.Role {
		case domain.RoleSystem:
			out = append(out, openai.SystemMessage(m.Text()))
		case domain.RoleDeveloper:
			if official {
				out = append(out, openai.DeveloperMessage(m.Text()))
			} else {
				out = append(out, openai.SystemMessage(m.Text()))
			}
		case domain.RoleUser:
			user, err := userMessage(m)
			if err != nil {
				return nil, domain.Errorf(domain.Invalid, "message %d: %s", i, err).From(Name)
			}
			out = append(out, user)
		case domain.RoleAssistant:
			out = append(out, assistantMessage(m, pairs.Begin(i, m.ToolCalls), official))
		case domain.RoleTool:
			if m.ToolResult == nil {
				return nil, domain.Errorf(domain.Internal, "message %d: is of a tool and has no result", i).From(Name)
			}
			out = append(out, openai.ToolMessage(m.ToolResult.Content, pairs.Answer(m.ToolResult.CallID)))
		}
	}
	return out, nil
}

func userMessage(m domain.Message) (openai.ChatCompletionMessageParamUnion, error) {
	var out openai.ChatCompletionMessageParamUnion
	if plainText(m) {
		out = openai.UserMessage(m.Text())
	} else {
		parts := make([]openai.ChatCompletionContentPartUnionParam, 0, len(m.Parts))
		for _, p := range m.Parts {
			part, err := userPart(p)
			if err != nil {
				return out, err
			}
			parts = append(parts, part)
		}
		out = openai.UserMessage(parts)
	}
	if m.Name != "" {
		out.OfUser.Name = openai.String(m.Name)
	}
	return out, nil
}

func plainText(m domain.Message) bool {
	for _, p := range m.Parts {
		if p.Type != domain.PartText {
			return false
		}
	}
	return true
}

func userPart(p domain.Part) (openai.ChatCompletionContentPartUnionParam, error) {
	switch p.Type {
	case domain.PartText:
		return openai.TextContentPart(p.Text), nil
	case domain.PartImage:
		url := p.URL
		if url == "" {
			url = dataURL(p)
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
			file := openai.ChatCompletionContentPartFileFileParam{FileData: openai.String(dataURL(p))}
			if p.Filename != "" {
				file.Filename = openai.String(p.Filename)
			}
			return openai.FileContentPart(file), nil
		}
	case domain.PartReasoning:
	}
	return openai.ChatCompletionContentPartUnionParam{}, fmt.Errorf("has a part of type %s that this provider cannot send; give its data", p.Type)
}

func dataURL(p domain.Part) string {
	return "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

func audioFormat(mediaType string) string {
	_, format, _ := strings.Cut(mediaType, "/")
	switch format = strings.TrimPrefix(format, "x-"); format {
	case "mpeg":
		return "mp3"
	default:
		return format
	}
}

// maxName is the longest name of a function that OpenAI takes.
const maxName = 64

func assistantMessage(m domain.Message, ids []string, official bool) openai.ChatCompletionMessageParamUnion {
	var out openai.ChatCompletionAssistantMessageParam
	if text := m.Text(); text != "" || len(m.ToolCalls) == 0 {
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
	// OpenAI's own API has no field for reasoning and refuses unknown ones.
	if fields := reasoningFields(m); len(fields) > 0 && !official {
		out.SetExtraFields(fields)
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &out}
}

// reasoningFields gives a server its model's reasoning back: details as they
// came, plain text where tool calls follow on it, which is when servers ask
// for it.
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
