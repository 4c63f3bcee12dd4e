package anthropic

import (
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// goOn is what the user says where the API wants a turn of the user and there
// is none.
const goOn = "Continue."

// nameCharacters are those of ids and of tools' names.
const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// maxToolName bounds the name of a tool.
const maxToolName = 128

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

// converse writes the conversation in the API's form. Instructions at its
// beginning belong to the system prompt; later ones have no place of their own
// in the API's older models, so they are set apart in a turn of the user.
func converse(call inference.Call) (*conversation, error) {
	c := &conversation{}
	c.instruct(call.System)
	pairs := wire.Pairing{Accepts: isName}
	for i, m := range call.Messages {
		switch m.Role {
		case domain.RoleSystem, domain.RoleDeveloper:
			if text := m.Text(); len(c.turns) == 0 {
				c.instruct(text)
			} else if !blank(text) {
				c.user().add(anthropic.NewTextBlock("<system>\n" + text + "\n</system>"))
			}
		case domain.RoleUser:
			blocks, err := userBlocks(i, m)
			if err != nil {
				return nil, err
			}
			if len(blocks) > 0 {
				c.user().add(blocks...)
			}
		case domain.RoleAssistant:
			blocks, paused := assistantBlocks(m, pairs.Begin(i, m.ToolCalls))
			if len(blocks) > 0 {
				t := c.turn(anthropic.MessageParamRoleAssistant)
				t.add(blocks...)
				t.paused = paused
			}
		case domain.RoleTool:
			if m.ToolResult == nil {
				return nil, domain.Errorf(domain.Internal, "message %d: is of a tool and has no result", i).From(Name)
			}
			c.user().addResult(resultBlock(m.ToolResult, pairs.Answer(m.ToolResult.CallID)))
		}
	}
	return c, c.close()
}

// close makes sure that the user begins and has the last word.
func (c *conversation) close() error {
	if len(c.turns) == 0 {
		return domain.Errorf(domain.Invalid, "messages: none has any content; give one").From(Name)
	}
	if c.turns[0].role != anthropic.MessageParamRoleUser {
		first := &turn{role: anthropic.MessageParamRoleUser}
		first.add(anthropic.NewTextBlock(goOn))
		c.turns = append([]*turn{first}, c.turns...)
	}
	if last := c.turns[len(c.turns)-1]; last.role != anthropic.MessageParamRoleUser && !last.paused {
		c.user().add(anthropic.NewTextBlock(goOn))
	}
	return nil
}

func (c *conversation) instruct(text string) {
	if !blank(text) {
		c.system = append(c.system, anthropic.TextBlockParam{Text: text})
	}
}

// turn is that of a side, which goes on or begins.
func (c *conversation) turn(role anthropic.MessageParamRole) *turn {
	if n := len(c.turns); n == 0 || c.turns[n-1].role != role {
		c.turns = append(c.turns, &turn{role: role})
	}
	return c.turns[len(c.turns)-1]
}

func (c *conversation) user() *turn { return c.turn(anthropic.MessageParamRoleUser) }

func (t *turn) add(blocks ...anthropic.ContentBlockParamUnion) {
	t.blocks = append(t.blocks, blocks...)
}

// addResult puts a result behind the others, before all else that is said.
func (t *turn) addResult(block anthropic.ContentBlockParamUnion) {
	t.add(block)
	copy(t.blocks[t.results+1:], t.blocks[t.results:])
	t.blocks[t.results] = block
	t.results++
}

func resultBlock(r *domain.ToolResult, id string) anthropic.ContentBlockParamUnion {
	out := &anthropic.ToolResultBlockParam{ToolUseID: id}
	if !blank(r.Content) {
		out.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: r.Content}}}
	}
	if r.IsError {
		out.IsError = anthropic.Bool(true)
	}
	return anthropic.ContentBlockParamUnion{OfToolResult: out}
}

// isName reports whether the API takes an id of that form.
func isName(id string) bool { return id != "" && strings.Trim(id, nameCharacters) == "" }

// toolName is the name under which a call is sent back.
func toolName(name string) string { return wire.ToolName(name, maxToolName, "") }

// blank reports whether the API would refuse a text for having no content.
func blank(text string) bool { return strings.TrimSpace(text) == "" }
