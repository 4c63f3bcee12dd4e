package gemini

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// A conversation is contents of the user and of the model in turns. Each with calls is
// followed by one with their results, in the same order, and nothing else.
type conversation struct {
	system   []*genai.Part
	contents []*content

	// vouched says that the model wants a signature on calls.
	vouched bool
	pairs   wire.Pairing
	// sent and names are the ids and names under which the last calls were sent,
	// and results is where their results go.
	sent, names []string
	results     *content
}

type content struct {
	Role string `json:"role"`
	// Parts are genai's, or as the model's came.
	Parts []any `json:"parts"`

	// closed says that nothing may be added: it holds calls, or results.
	closed bool
}

func converse(call inference.Call) (*conversation, error) {
	c := &conversation{vouched: generation(call.Config.Model) >= 3}
	c.instruct(call.System)
	if err := wire.Each("message", call.Messages, c.add); err != nil {
		return nil, err
	}
	if len(c.contents) == 0 {
		return nil, domain.Invalidf("messages: there is nothing in them that %s could be sent", Name)
	}
	return c, nil
}

func (c *conversation) instruct(text string) {
	if text != "" {
		c.system = append(c.system, &genai.Part{Text: text})
	}
}

func (c *conversation) add(index int, m domain.Message) error {
	switch m.Role {
	case domain.RoleSystem, domain.RoleDeveloper:
		// There is one place for instructions: a later one is said where it was given, set apart.
		if len(c.contents) == 0 {
			c.instruct(m.Text())
			return nil
		}
		m = wire.Instruction(m)
		fallthrough
	case domain.RoleUser:
		parts, err := userParts(m)
		c.say(genai.RoleUser, parts, false)
		return err
	case domain.RoleAssistant:
		c.model(index, m)
	case domain.RoleTool:
		k := c.pairs.Next(m.ToolResult.CallID)
		if k < 0 {
			return errors.New("is the result of no call")
		}
		foreign := func(p domain.Part) bool {
			return !wire.Names("image/png image/jpeg image/webp")[p.MediaType] || len(p.Data) == 0
		}
		if !c.vouched || slices.ContainsFunc(m.Parts, foreign) { // models before the third generation take none
			m = inference.WithoutImages(m)
		}
		c.answer(k, m)
	}
	return nil
}

// say adds parts, if there are any, to the content before where that is of the same role and open. Closed says that none follow.
func (c *conversation) say(role string, parts []any, closed bool) {
	if len(parts) == 0 {
		return
	}
	if n := len(c.contents); n == 0 || c.contents[n-1].Role != role || c.contents[n-1].closed {
		c.contents = append(c.contents, &content{Role: role})
	}
	last := c.contents[len(c.contents)-1]
	last.Parts, last.closed = append(last.Parts, parts...), closed
}

// model adds what the model said: as it came, or else put together again. Each call gets a result, until its own comes.
func (c *conversation) model(index int, m domain.Message) {
	parts, spelled := kept(m), named
	if parts == nil {
		spelled = callable
	}
	ids, names := make([]string, len(m.ToolCalls)), make([]string, len(m.ToolCalls))
	for k, call := range m.ToolCalls {
		ids[k], names[k] = call.ID, spelled(call.Name)
	}
	if parts == nil {
		if strings.Join(ids, "") != "" {
			ids = c.pairs.Begin(index, m.ToolCalls)
		}
		if text := m.Text(); text != "" {
			parts = append(parts, modelPart{Text: &text})
		}
		for k, call := range m.ToolCalls {
			call.Name = names[k]
			part := modelPart{Call: calledWith(call, ids[k])}
			if k == 0 && c.vouched {
				part.Signature = "skip_thought_signature_validator" // Google's word for a first call that is not the model's own
			}
			parts = append(parts, part)
		}
	}
	if len(c.contents) == 0 && len(parts) > 0 { // the API refuses a conversation that begins with the model's word
		c.say(genai.RoleUser, []any{genai.Part{Text: "(What came before is not shown.)"}}, false)
	}
	c.say(genai.RoleModel, parts, len(ids) > 0)
	if len(ids) == 0 {
		return
	}
	c.pairs.Await(m.ToolCalls, ids)
	c.sent, c.names = ids, names
	c.results = &content{Role: genai.RoleUser, Parts: make([]any, len(ids)), closed: true}
	c.contents = append(c.contents, c.results)
	for k := range ids {
		c.answer(k, domain.ToolMessage(domain.ToolResult{Content: "there is no result", IsError: true}))
	}
}

// answer sets the result of the call at a place.
func (c *conversation) answer(k int, m domain.Message) {
	key, r := "output", m.ToolResult
	if r.IsError {
		key = "error"
	}
	response := &genai.FunctionResponse{ID: c.sent[k], Name: c.names[k], Response: map[string]any{key: r.Content}}
	for _, p := range m.Parts {
		response.Parts = append(response.Parts, genai.NewFunctionResponsePartFromBytes(p.Data, p.MediaType))
	}
	c.results.Parts[k] = genai.Part{FunctionResponse: response}
}

// userParts writes what a user's message holds, but for empty texts, which the API refuses.
func userParts(m domain.Message) (out []any, err error) {
	err = wire.Each("part", m.Parts, func(_ int, p domain.Part) (err error) {
		part := genai.Part{Text: p.Text}
		if p.Type != domain.PartText {
			part, err = media(p)
		} else if p.Text == "" {
			return nil
		}
		out = append(out, part)
		return err
	})
	return out, err
}

// media sends data along, and what has a URL by its name: an uploaded file's, or any.
func media(p domain.Part) (part genai.Part, err error) {
	switch p, err = wire.Media(p); {
	case err != nil:
	case p.MediaType == "":
		err = fmt.Errorf("is of type %s and has no media_type; give one, like image/png", p.Type)
	case p.URL != "":
		part.FileData = &genai.FileData{MIMEType: p.MediaType, FileURI: p.URL}
	default:
		part.InlineData = &genai.Blob{MIMEType: p.MediaType, Data: p.Data}
	}
	return part, err
}
