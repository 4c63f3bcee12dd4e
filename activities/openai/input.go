package openai

import (
	"encoding/base64"
	"fmt"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// maxCallID is the longest id of a call that the API takes back.
const maxCallID = 64

// input writes the conversation as items. The API has no place for the name of
// a user: it is left out.
func input(call inference.Call) ([][]byte, error) {
	w := &writer{reasons: reasons(call.Config.Model)}
	if call.System != "" && promptInInput(call) {
		w.text(responses.EasyInputMessageRoleDeveloper, call.System, "")
	}
	pairs := wire.Pairing{Accepts: func(id string) bool { return len(id) <= maxCallID }}
	for i, m := range call.Messages {
		switch m.Role {
		case domain.RoleSystem, domain.RoleDeveloper:
			w.text(responses.EasyInputMessageRoleDeveloper, m.Text(), "")
		case domain.RoleUser:
			content, err := userContent(m)
			if err != nil {
				return nil, domain.Errorf(domain.Invalid, "message %d: %s", i, err).From(Name)
			}
			w.add(responses.EasyInputMessageParam{Role: responses.EasyInputMessageRoleUser, Content: content})
		case domain.RoleAssistant:
			w.turn(m, pairs.Begin(i, m.ToolCalls))
		case domain.RoleTool:
			if m.ToolResult == nil {
				return nil, domain.Errorf(domain.Internal, "message %d: is of a tool and has no result", i).From(Name)
			}
			w.add(responses.ResponseInputItemFunctionCallOutputParam{
				CallID: param.NewOpt(pairs.Answer(m.ToolResult.CallID)),
				Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: param.NewOpt(m.ToolResult.Content)},
			})
		}
	}
	if w.err != nil {
		return nil, domain.Errorf(domain.Invalid, "the conversation cannot be encoded: %s", w.err).From(Name)
	}
	return w.items, nil
}

// userContent is a text where that is all, else a list of parts.
func userContent(m domain.Message) (responses.EasyInputMessageContentUnionParam, error) {
	var out responses.EasyInputMessageContentUnionParam
	if plainText(m) {
		out.OfString = param.NewOpt(m.Text())
		return out, nil
	}
	for k, p := range m.Parts {
		part, err := userPart(p)
		if err != nil {
			return out, fmt.Errorf("part %d: %w", k, err)
		}
		out.OfInputItemContentList = append(out.OfInputItemContentList, part)
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

func userPart(p domain.Part) (responses.ResponseInputContentUnionParam, error) {
	var out responses.ResponseInputContentUnionParam
	switch p.Type {
	case domain.PartText:
		return responses.ResponseInputContentParamOfInputText(p.Text), nil
	case domain.PartImage:
		image := &responses.ResponseInputImageParam{Detail: responses.ResponseInputImageDetailAuto}
		switch {
		case p.URL != "":
			image.ImageURL = param.NewOpt(p.URL)
		case len(p.Data) > 0:
			image.ImageURL = param.NewOpt(dataURL(p))
		default:
			return out, fmt.Errorf("an image has neither URL nor data; give one")
		}
		out.OfInputImage = image
	case domain.PartFile:
		file := &responses.ResponseInputFileParam{}
		switch {
		case len(p.Data) > 0:
			file.FileData, file.Filename = param.NewOpt(dataURL(p)), param.NewOpt(filename(p))
		case p.URL != "":
			file.FileURL = param.NewOpt(p.URL)
		default:
			return out, fmt.Errorf("a file has neither URL nor data; give one")
		}
		out.OfInputFile = file
	case domain.PartAudio:
		return out, fmt.Errorf("the Responses API takes no audio; send its text, or use a model of chat completions that takes audio")
	case domain.PartReasoning:
		return out, fmt.Errorf("reasoning is not a user's to send; leave it out")
	default:
		return out, fmt.Errorf("a part of type %s cannot be sent", p.Type)
	}
	return out, nil
}

func dataURL(p domain.Part) string {
	return "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// filename is a file's own, or one by which the API knows what it is.
func filename(p domain.Part) string {
	switch {
	case p.Filename != "":
		return p.Filename
	case p.MediaType == "application/pdf":
		return "file.pdf"
	}
	return "file"
}
