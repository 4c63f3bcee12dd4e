package chat

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
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

// decides takes what was entered for a word about the call that is shown, as run and watch take it; false: it is none. It
// has to stand alone, so that no message begins with one.
func (m *Model) decides(text string) ([]want, bool) {
	call, asked := m.asks.first()
	verb, reason, _ := strings.Cut(text, " ")
	verb = strings.ToLower(verb)
	denies := verb == "n" || verb == "no"
	if !asked || !denies && (reason != "" || !slices.Contains([]string{"y", "yes", "a", "always", "e", "edit", "d", "later"}, verb)) {
		return nil, false
	}
	if now := m.cfg.Now(); now.Sub(m.asks.shown) < tooSoon || m.composer.since.Before(m.asks.shown) {
		m.composer.since = now
		m.talk.warn("a call came up as you typed; look at it, and Enter again decides about it")
		return nil, true
	}
	word := client.Word{Call: call.ToolExecutionID, Digest: call.Digest, Verdict: domain.Approved, By: m.cfg.By, Reason: strings.TrimSpace(reason)}
	m.composer.set("")
	switch verb {
	case "y", "yes", "a", "always":
		if _, whole := m.askPanel(); !whole {
			m.talk.warn("only a part of what would run is shown, so nobody can have seen it: " + m.cfg.shell("approvals", cmp.Or(call.ID, m.cfg.ID)) + " shows more, or make the terminal larger")
			return nil, true
		}
		word.Always = verb[0] == 'a'
		return m.decide(decision{word: word, of: call.ID}), true
	case "e", "edit":
		if !call.Whole() || call.Arguments != render.Clean(call.Arguments) {
			m.talk.warn("not all of the arguments are known here: " + m.cfg.shell("approve", cmp.Or(call.ID, m.cfg.ID), render.ShortCall(call.ToolExecutionID), "--edit", "JSON") + " takes others")
			return nil, true
		}
		m.composer.asks(arguments, call)
	case "d", "later":
		m.asks.later(call.ToolExecutionID, m.cfg.Now())
		m.talk.note(call.Tool + " waits; /approve asks again")
	default:
		word.Verdict = domain.WasDenied
		return m.decide(decision{word, call.ID}), true
	}
	return nil, true
}

func (m *Model) decide(d decision) []want {
	m.asks.begin(d.word.Call, m.cfg.Now())
	return []want{wantDecide{d}}
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
	if wants, decided := m.decides(text); decided {
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

// enteredArguments are what a call is to run with, which they were begun for, and no other that waits meanwhile.
func (m *Model) enteredArguments(text string) []want {
	call := m.composer.about
	if text == "" {
		m.talk.warn("there are no arguments; give a JSON object, or Esc goes back")
		return nil
	}
	m.composer.back()
	if !m.asks.has(call.ToolExecutionID) {
		m.talk.warn("the call of " + render.OneLine(call.Tool) + " does not wait any more")
		return nil
	}
	return m.decide(decision{word: client.Word{Call: call.ToolExecutionID, Digest: call.Digest, Verdict: domain.Approved, By: m.cfg.By, Edit: text}, of: call.ID})
}
