package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// A conversation is what is said, in the API's form.
type conversation struct {
	system []anthropic.TextBlockParam
	turns  []*turn
}

// A turn is what one side says until the other speaks.
type turn struct {
	role   anthropic.MessageParamRole
	blocks []anthropic.ContentBlockParamUnion
	// results counts the tools' results, which come first.
	results int
	// paused says that the server is to go on with it.
	paused bool
}

// converse writes the conversation. Later instructions have no place of their own in the API's
// older models, so they are set apart in a turn of the user. From is where it goes.
func converse(call inference.Call, from string) (*conversation, error) {
	c := &conversation{}
	c.instruct(call.System)
	pairs := wire.Pairing{Accepts: func(id string) bool { return wire.ToolName(id, len(id), "") == id }}
	err := wire.Each("message", call.Messages, func(i int, m domain.Message) error {
		switch m.Role {
		case domain.RoleSystem, domain.RoleDeveloper:
			if len(c.turns) == 0 {
				c.instruct(m.Text())
				return nil
			}
			m = wire.Instruction(m)
			fallthrough
		case domain.RoleUser:
			blocks, err := userBlocks(m)
			if len(blocks) > 0 {
				c.say(anthropic.MessageParamRoleUser, blocks...)
			}
			return err
		case domain.RoleAssistant:
			blocks, paused := assistantBlocks(m, pairs.Begin(i, m.ToolCalls), from)
			if len(blocks) == 0 {
				return nil
			}
			if len(c.turns) == 0 {
				c.say(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(wire.GoOn)) // the user begins
			}
			c.say(anthropic.MessageParamRoleAssistant, blocks...).paused = paused
		case domain.RoleTool:
			block, err := resultBlock(m, pairs.Answer(m.ToolResult.CallID))
			t := c.say(anthropic.MessageParamRoleUser)
			t.blocks = slices.Insert(t.blocks, t.results, block)
			t.results++
			return err
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(c.turns) == 0:
		return nil, domain.Invalidf("messages: none has any content; give one")
	}
	// The user has the last word too.
	if last := c.turns[len(c.turns)-1]; last.role != anthropic.MessageParamRoleUser && !last.paused {
		c.say(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(wire.GoOn))
	}
	return c, nil
}

func (c *conversation) instruct(text string) {
	if !blank(text) {
		c.system = append(c.system, anthropic.TextBlockParam{Text: text})
	}
}

// say adds blocks to the turn of a side, which goes on or begins.
func (c *conversation) say(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) *turn {
	if n := len(c.turns); n == 0 || c.turns[n-1].role != role {
		c.turns = append(c.turns, &turn{role: role})
	}
	t := c.turns[len(c.turns)-1]
	t.blocks = append(t.blocks, blocks...)
	return t
}

// resultBlock is a tool's result. One that failed may hold no image.
func resultBlock(m domain.Message, id string) (anthropic.ContentBlockParamUnion, error) {
	r := m.ToolResult
	out := &anthropic.ToolResultBlockParam{ToolUseID: id, Content: []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: r.Content}}}}
	if r.IsError {
		out.IsError = anthropic.Bool(true)
		return anthropic.ContentBlockParamUnion{OfToolResult: out}, nil
	}
	err := wire.Each("part", m.Parts, func(_ int, p domain.Part) error {
		block, err := mediaBlock(p)
		out.Content = append(out.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: block.OfImage})
		if err == nil && block.OfImage == nil {
			err = errors.New("is no image")
		}
		return err
	})
	return anthropic.ContentBlockParamUnion{OfToolResult: out}, err
}

func toolName(name string) string { return wire.ToolName(name, 128, "") }

// blank reports whether the API would refuse a text for having no content.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// A kept is the opaque value of a reasoning part: what the API wants back in
// its place, and the mark that it comes from here. It is recorded. One of
// the fields is set, or Unsigned beside Thinking.
type kept struct {
	// Block is a content block as it came.
	Block json.RawMessage `json:"anthropic_block,omitempty"`
	// Thinking says that the part's text and signature are a thinking block.
	Thinking bool `json:"anthropic_thinking,omitzero"`
	// Unsigned is the server and model that gave the thinking without a signature: no other would take it back.
	Unsigned string `json:"anthropic_unsigned,omitzero"`
	// Call is the position, from 1 on, of the tool call that stands here, where parts follow it.
	Call int `json:"anthropic_call,omitzero"`
	// Paused says that the turn ended here because the server paused.
	Paused bool `json:"anthropic_paused,omitzero"`
}

func (k kept) opaque() json.RawMessage {
	if len(k.Block) > 0 {
		// Written by hand: encoding/json would change the bytes of the block.
		return slices.Concat([]byte(`{"anthropic_block":`), k.Block, []byte("}"))
	}
	return wire.JSON(k)
}

// readKept reads the opaque value of a part; all zero where it is another's.
func readKept(p domain.Part) (k kept) {
	if p.Type != domain.PartReasoning || json.Unmarshal(p.Opaque, &k) != nil {
		return kept{}
	}
	return k
}

// assistantBlocks write a model's parts and calls as they came. Paused: the server is to go on.
func assistantBlocks(m domain.Message, ids []string, from string) (blocks []anthropic.ContentBlockParamUnion, paused bool) {
	written := make([]bool, len(m.ToolCalls))
	call := func(k int) {
		if k < len(written) && !written[k] {
			written[k] = true
			c := m.ToolCalls[k]
			blocks = append(blocks, anthropic.NewToolUseBlock(ids[k], wire.Arguments(c.Arguments, "INVALID_JSON"), toolName(c.Name)))
		}
	}
	for _, p := range m.Parts {
		k := readKept(p)
		switch {
		case p.Type == domain.PartText && !blank(p.Text):
			blocks = append(blocks, anthropic.NewTextBlock(p.Text))
		case k.Thinking && (p.Signature != "" || k.Unsigned != "" && k.Unsigned == from):
			blocks = append(blocks, anthropic.NewThinkingBlock(p.Signature, p.Text))
		case len(k.Block) > 0:
			blocks = append(blocks, param.Override[anthropic.ContentBlockParamUnion](k.Block))
		case k.Call > 0:
			call(k.Call - 1)
		}
		paused = k.Paused
	}
	for k := range m.ToolCalls {
		call(k)
	}
	return blocks, paused && len(m.ToolCalls) == 0
}

// userBlocks are the parts of a message, but for texts without content.
func userBlocks(m domain.Message) (out []anthropic.ContentBlockParamUnion, err error) {
	err = wire.Each("part", m.Parts, func(_ int, p domain.Part) (err error) {
		block := anthropic.NewTextBlock(p.Text)
		switch p.Type {
		case domain.PartImage, domain.PartFile:
			block, err = mediaBlock(p)
		case domain.PartAudio:
			err = errors.New("is audio, which this API does not take; give its transcript as text")
		default:
			if blank(p.Text) {
				return nil
			}
		}
		out = append(out, block)
		return err
	})
	return out, err
}

var pictures = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// mediaBlock is a picture or a document, by URL or as data.
func mediaBlock(p domain.Part) (none anthropic.ContentBlockParamUnion, err error) {
	if p, err = wire.Media(p); err != nil {
		return none, err
	}
	if p.MediaType == "" && p.URL == "" {
		p.MediaType = http.DetectContentType(p.Data) // as it looks
	}
	if kind, _, err := mime.ParseMediaType(p.MediaType); err == nil { // parameters are not taken
		p.MediaType = kind
	}
	document := &anthropic.DocumentBlockParam{}
	if p.Filename != "" {
		document.Title = anthropic.String(p.Filename)
	}
	kind, picture, encoded := p.MediaType, p.Type == domain.PartImage, base64.StdEncoding.EncodeToString(p.Data)
	switch {
	case p.URL != "" && (picture || strings.HasPrefix(kind, "image/")):
		return anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: p.URL}), nil
	case p.URL != "" && (kind == "" || kind == "application/pdf"):
		document.Source.OfURL = &anthropic.URLPDFSourceParam{URL: p.URL}
	case p.URL != "":
		return none, fmt.Errorf("is of media type %s, which this API takes as data only; give its data", kind)
	case slices.Contains(pictures, kind):
		return anthropic.NewImageBlockBase64(kind, encoded), nil
	case picture:
		return none, fmt.Errorf("is a picture of media type %s, which this API does not take; give one of %s", kind, strings.Join(pictures, ", "))
	case kind == "application/pdf":
		document.Source.OfBase64 = &anthropic.Base64PDFSourceParam{Data: encoded}
	case textual.MatchString(kind) && utf8.Valid(p.Data):
		document.Source.OfText = &anthropic.PlainTextSourceParam{Data: string(p.Data)}
	default:
		return none, fmt.Errorf("is a file of media type %s, which this API does not take; give a PDF, a picture or text in UTF-8", kind)
	}
	return anthropic.ContentBlockParamUnion{OfDocument: document}, nil
}

// textual finds the media types of texts.
var textual = regexp.MustCompile(`^text/|^application/(?:json|xml|yaml)$|\+(?:json|xml)$`)
