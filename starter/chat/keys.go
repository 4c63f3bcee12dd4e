package chat

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"everstep/domain"
)

// pressed is a key.
func (m *Model) pressed(k tea.KeyPressMsg) []want {
	switch k.String() {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+d":
		if m.composer.empty() && m.composer.purpose == aMessage {
			return m.leave()
		}
	case "ctrl+z":
		return []want{wantSuspend{}}
	case "ctrl+r":
		m.talk.fold()
		return nil
	case "ctrl+t":
		m.foldBelow()
		return nil
	case "pgup", "pgdown":
		m.screen.page(k.String() == "pgup")
		return nil
	case "esc":
		m.composer.back()
		m.screen.up = 0
		return nil
	case "enter":
		return m.entered()
	}
	m.types(k)
	return nil
}

// types gives the composer what is typed or pasted.
func (m *Model) types(msg tea.Msg) {
	if m.composer.empty() {
		m.composer.since = m.cfg.Now()
	}
	if refused := m.composer.takes(msg); refused != "" {
		m.talk.warn(refused)
	}
}

// entered is what was typed.
func (m *Model) entered() []want {
	text := m.composer.value()
	if m.composer.purpose != aMessage {
		return m.enteredArguments(strings.TrimSpace(text))
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "//"):
		text = text[1:]
	case strings.HasPrefix(text, "/"):
		wants, known := m.slash(text)
		if known {
			m.composer.set("")
		}
		return wants
	}
	if wants, answer := m.answers(text); answer {
		return wants
	}
	return m.post(text, false)
}

// post has a message sent. One that is queued begins a turn of its own.
func (m *Model) post(text string, queued bool) []want {
	switch err := domain.CheckPrompt(text); {
	case err != nil:
		m.talk.warn("not sent: " + err.Error())
		return nil
	case m.turn.phase == over:
		m.talk.warn("not sent: the session has ended; " + m.cfg.shell("chat") + " begins another")
		return nil
	case len(m.outbox.letters) >= maxLetters:
		m.talk.warn("not sent: too many messages wait; let this turn end")
		return nil
	}
	m.composer.set("")
	m.screen.up = 0
	m.outbox.put(text, m.model, queued)
	return m.send()
}

// maxLetters bounds the messages that wait for a turn to end.
const maxLetters = 20
