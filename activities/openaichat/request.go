package openaichat

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
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

func encode(call inference.Call, d Dialect, server string, bound int64) ([]byte, error) {
	messages, err := messages(call, d, server)
	if err != nil {
		return nil, err
	}
	p := openai.ChatCompletionNewParams{Model: call.Config.Model}
	if !d.without(stream) {
		p.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	for _, tool := range call.Tools {
		function := shared.FunctionDefinitionParam{Name: tool.Name}
		if tool.Description != "" {
			function.Description = openai.String(tool.Description)
		}
		if tool.Name == call.OutputTool && !d.without(strict) {
			function.Strict = openai.Bool(output.Strict(tool.Schema) == nil)
		}
		function.SetExtraFields(map[string]any{"parameters": wire.Parameters(tool.Schema)})
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(function))
	}
	format := wire.Format(call)
	if format["schema"] != nil {
		delete(format, "type")
		if d.without(strict) {
			delete(format, strict)
		}
		format = map[string]any{"type": "json_schema", "json_schema": format}
	}
	p.SetExtraFields(map[string]any{"response_format": format, "tool_choice": wire.ToolChoice(call, true)}) // null ones are left out
	rest := wire.Fields(p, call.Config, call.Config.Options)
	if bound > 0 {
		key, err := d.boundBy(call.Config.Options)
		if err != nil {
			return nil, err
		}
		rest[key] = strconv.AppendInt(nil, bound, 10)
	}
	maps.DeleteFunc(rest, func(field string, _ json.RawMessage) bool { return field == keyDialect || d.without(field) })
	return wire.Body("messages", messages, rest)
}

// otherBound are the names of the bound, each by the other.
var otherBound = map[string]string{maxTokens: maxCompletionTokens, maxCompletionTokens: maxTokens}

// boundBy is the field that bounds the answer: as the options have it, unless the server refuses that name. One that is null
// says that the other is to be used.
func (d Dialect) boundBy(options domain.Metadata) (string, error) {
	key := maxTokens
	if given := options[key]; given != nil && wire.IsNull(given) || !wire.IsNull(options[maxCompletionTokens]) {
		key = maxCompletionTokens
	}
	for _, name := range []string{key, otherBound[key]} {
		if !d.without(name) {
			return name, nil
		}
	}
	return "", domain.Invalidf("max_output_tokens: the server takes neither %s nor %s, so nothing would bound an answer; leave max_tokens and max_cost out, or use another server",
		maxTokens, maxCompletionTokens)
}

var nineLetters = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// messages writes the conversation, each message without the union around it.
func messages(call inference.Call, d Dialect, server string) (out []json.Marshaler, err error) {
	var pairs wire.Pairing
	if d.without(freeIDs) {
		pairs = wire.Pairing{Accepts: nineLetters.MatchString, Make: func(n int) string { return fmt.Sprintf("%09d", n) }}
	}
	err = wire.Each("message", d.turns(call.System, call.Messages, server), func(i int, m domain.Message) (err error) {
		var next json.Marshaler
		switch m.Role {
		case domain.RoleDeveloper:
			next = openai.DeveloperMessage(m.Text())
		case domain.RoleSystem:
			next = openai.SystemMessage(m.Text())
		case domain.RoleUser:
			user := openai.UserMessage(m.Text()).OfUser
			if !wire.IsPlain(m) {
				parts := make([]openai.ChatCompletionContentPartUnionParam, len(m.Parts))
				err = wire.Each("part", m.Parts, func(k int, p domain.Part) (err error) {
					parts[k], err = userPart(p)
					return err
				})
				user = openai.UserMessage(parts).OfUser
			}
			if m.Name != "" && !d.without("name") {
				user.Name = openai.String(m.Name)
			}
			next = user
		case domain.RoleAssistant:
			next = d.assistantMessage(m, pairs.Begin(i, m.ToolCalls), server)
		case domain.RoleTool:
			// Such a message holds text alone, and in one of the user's a tool's image would speak for the user.
			m = inference.WithoutImages(m)
			next = openai.ToolMessage(m.ToolResult.Content, pairs.Answer(m.ToolResult.CallID)).OfTool
		}
		out = append(out, next)
		return err
	})
	return out, err
}

func userPart(p domain.Part) (openai.ChatCompletionContentPartUnionParam, error) {
	switch p.Type {
	case domain.PartText:
		return openai.TextContentPart(p.Text), nil
	case domain.PartImage:
		return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: wire.ImageURL(p)}), nil
	case domain.PartAudio:
		if len(p.Data) > 0 {
			_, format, _ := strings.Cut(p.MediaType, "/")
			if format = strings.TrimPrefix(format, "x-"); format == "mpeg" {
				format = "mp3"
			}
			return openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{Data: base64.StdEncoding.EncodeToString(p.Data), Format: format}), nil
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
	return openai.ChatCompletionContentPartUnionParam{}, fmt.Errorf("is of type %s, which this provider takes as data only; give its data", p.Type)
}

func (d Dialect) assistantMessage(m domain.Message, ids []string, server string) openai.ChatCompletionAssistantMessageParam {
	var out openai.ChatCompletionAssistantMessageParam
	text := m.Text()
	if text == "" && d.without(emptyContent) {
		text = "(no text)"
	}
	if text != "" || len(m.ToolCalls) == 0 || d.without(noContent) {
		out.Content.OfString = openai.String(text)
	}
	beside, besideCalls := d.back(m, server)
	out.SetExtraFields(beside)
	for k, c := range m.ToolCalls {
		call := &openai.ChatCompletionMessageFunctionToolCallParam{
			ID:       ids[k],
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: wire.ToolName(c.Name, 64, ""), Arguments: string(wire.Arguments(c.Arguments, "invalid_arguments"))},
		}
		if k < len(besideCalls) {
			inside := wire.Object(besideCalls[k][inFunction]) // most have none
			delete(besideCalls[k], inFunction)
			call.SetExtraFields(d.taken(besideCalls[k]))
			call.Function.SetExtraFields(d.taken(inside))
		}
		out.ToolCalls = append(out.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: call})
	}
	return out
}
