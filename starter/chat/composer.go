package chat

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/google/uuid"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
)

// A composer is where a person types.
type composer struct {
	area textarea.Model
	// about is the call whose arguments are typed; nil: a message is. draft is the message that was begun before.
	about *client.WaitingCall
	draft string
	// since is when what stands there was begun.
	since time.Time
	// pasted are texts too long to be edited here, each behind what stands for it.
	pasted []string
}

const (
	// composerLines is how many lines of what is typed are shown at once.
	composerLines = 8
	// maxTyped bounds what is typed, and maxPasted the lines that are pasted at once to be edited: each key takes longer by
	// them.
	maxTyped  = 128 << 10
	maxPasted = 500
)

func newComposer(theme render.Theme) composer {
	area := textarea.New()
	area.ShowLineNumbers, area.Placeholder = false, "a message, or /help"
	area.Prompt = "> "
	area.DynamicHeight, area.MinHeight, area.MaxHeight, area.MaxContentHeight = true, 1, composerLines, 10_000
	area.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "ctrl+j", "shift+enter"))
	area.KeyMap.Paste.SetEnabled(false) // the terminal pastes; it would run a program for that
	area.KeyMap.PageUp.SetEnabled(false)
	area.KeyMap.PageDown.SetEnabled(false)
	plain := textarea.StyleState{Placeholder: lipgloss.NewStyle().Faint(true), Selection: lipgloss.NewStyle().Reverse(true)}
	if theme.Faint("x") == "x" { // no looks at all
		plain.Placeholder = lipgloss.NewStyle()
	}
	area.SetStyles(textarea.Styles{Focused: plain, Blurred: plain})
	area.SetVirtualCursor(false)
	area.Focus()
	return composer{area: area}
}

// aside keeps a text that is too long to be edited, and returns what stands for it. Where that is deleted the text goes
// with it.
func (c *composer) aside(text string, lines int) string {
	mark := fmt.Sprintf("[paste %d: %s, %s]", len(c.pasted)/2+1, render.Counted(lines, "line"), render.Counted(len(text), "byte"))
	c.pasted = append(c.pasted, mark, text)
	return mark
}

func linesOf(text string) int { return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1 }

// pastedText is what was pasted with its lines as they are typed, and nothing in it that steers a terminal.
func pastedText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
}

// value is what is typed, with what was pasted in place of what stands for it.
func (c *composer) value() string {
	return strings.NewReplacer(c.pasted...).Replace(c.area.Value())
}

func (c *composer) empty() bool { return c.area.Length() == 0 }

// set replaces what is typed.
func (c *composer) set(text string) {
	c.pasted = nil
	if lines := linesOf(text); lines > maxPasted || len(text) > maxTyped {
		text = c.aside(text, lines)
	}
	c.area.SetValue(text)
	c.area.MoveToEnd()
}

// back returns to the message.
func (c *composer) back() {
	if c.about != nil {
		c.about = nil
		c.set(c.draft)
		c.draft = ""
	}
}

// pressed is a key.
func (m *Model) pressed(k tea.KeyPressMsg) {
	switch k.String() {
	case "ctrl+c":
		m.interrupt()
	case "ctrl+d":
		if m.composer.empty() && m.composer.about == nil {
			m.wants(wantLeave{})
		} else {
			m.types(k)
		}
	case "ctrl+z":
		m.wants(wantSuspend{})
	case "ctrl+r":
		m.conversation.fold()
	case "ctrl+t":
		m.foldBelow()
	case "pgup":
		m.screen.scroll(m.screen.page())
	case "pgdown":
		m.screen.scroll(-m.screen.page())
	case "esc":
		m.composer.back()
		m.screen.up = 0
	case "enter":
		m.entered()
	default:
		m.types(k)
	}
}

// types gives the composer what is typed or pasted.
func (m *Model) types(msg tea.Msg) {
	c := &m.composer
	if c.empty() {
		c.since = m.cfg.Now()
	}
	typed := len(c.area.Value())
	switch pasted, ok := msg.(tea.PasteMsg); {
	case ok:
		text := pastedText(pasted.Content)
		lines := linesOf(text)
		if len(c.value())+len(text) > domain.MaxMessage {
			m.warn(fmt.Sprintf("what was pasted is too long for a message: at most %d KB", domain.MaxMessage/1000))
			return
		}
		if lines > maxPasted || typed+len(text) > maxTyped {
			msg = tea.PasteMsg{Content: c.aside(text, lines)}
		}
	case typed > maxTyped+(maxTyped>>2):
		m.warn("no more can be typed here; send takes a message from a file")
		return
	}
	c.area, _ = c.area.Update(msg)
}

// entered takes what was typed: the arguments of a call, a command, an answer or a message. One that begins with two slashes is
// without the first of them.
func (m *Model) entered() {
	text := strings.TrimSpace(m.composer.value())
	switch line, slash := strings.CutPrefix(text, "/"); {
	case m.composer.about != nil:
		m.enteredArguments(text)
	case text == "":
	case slash && !strings.HasPrefix(line, "/"):
		if m.slash(line) {
			m.composer.set("")
		}
	case !m.answers(line):
		m.post(line, false)
	}
}

// post has a message sent. One that is queued begins a turn of its own.
func (m *Model) post(text string, queued bool) {
	switch err := domain.CheckPrompt(text); {
	case err != nil:
		m.warn("not sent: " + err.Error())
	case m.turn.phase == over:
		m.warn("not sent: the session has ended; " + m.cfg.shell("chat") + " begins another")
	case len(m.outbox) >= maxLetters:
		m.warn("not sent: too many messages wait; let this turn end")
	default:
		m.composer.set("")
		m.screen.up = 0
		m.outbox = append(m.outbox, letter{wantSend: wantSend{key: uuid.NewString(), text: text, model: m.model, queued: queued}})
		m.send()
	}
}

// maxLetters bounds the messages that wait for a turn to end.
const maxLetters = 20
