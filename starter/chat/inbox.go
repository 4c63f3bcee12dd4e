package chat

import (
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/render"
)

// A pending message waits at the session until the agent reads it.
type pending struct {
	contract.WaitingView
	// own says that it was typed here, so that its text is whole.
	own bool
}

// An inbox has the messages that wait at the session, in the order in which they came, as far as is known here.
type inbox struct {
	waiting []pending
	// gone are those that wait no longer: what is told late does not bring them back. shown are those of them that are
	// shown as said, until they are read back.
	gone  map[domain.MessageID]bool
	shown []pending
}

func (i *inbox) at(id domain.MessageID) int {
	return slices.IndexFunc(i.waiting, func(p pending) bool { return p.ID == id })
}

// add takes a message that waits. What is known of one that was typed here stays.
func (i *inbox) add(p pending) {
	switch at := i.at(p.ID); {
	case i.gone[p.ID] || at >= 0 && !p.own:
	case at >= 0:
		i.waiting[at] = p
	default:
		i.waiting = append(i.waiting, p)
	}
}

// drop takes out a message that waits no longer.
func (i *inbox) drop(id domain.MessageID) (p pending, waited bool) {
	if i.gone == nil {
		i.gone = map[domain.MessageID]bool{}
	}
	i.gone[id] = true
	if at := i.at(id); at >= 0 {
		p, waited = i.waiting[at], true
		i.waiting = slices.Delete(i.waiting, at, at+1)
	}
	return p, waited
}

// told takes what the agent says of itself: where it is idle nothing waits but what it says.
func (i *inbox) told(v account.Status) {
	if v.Status != domain.StatusInProgress {
		for _, p := range slices.Clone(i.waiting) {
			if !slices.ContainsFunc(v.Unread, func(w contract.WaitingView) bool { return w.ID == p.ID }) {
				i.drop(p.ID)
			}
		}
	}
	for _, w := range v.Unread {
		i.add(pending{WaitingView: w})
	}
}

// recalls reports whether a message that is read back is shown already. One that waited until now is read by that.
func (i *inbox) recalls(m domain.Message) bool {
	same := func(p pending) bool {
		return p.ID == m.ID || p.Delivery == contract.QueueIfBusy && !p.Cut && p.Text == m.Text()
	}
	if at := slices.IndexFunc(i.shown, same); at >= 0 {
		i.shown = slices.Delete(i.shown, at, at+1)
		return true
	}
	if at := slices.IndexFunc(i.waiting, same); at >= 0 {
		i.drop(i.waiting[at].ID)
	}
	return false
}

// messaged takes an event about a message.
func (m *Model) messaged(e client.Event) {
	if e.Message == nil {
		return
	}
	switch e.Type {
	case domain.EventMessageWaiting:
		m.inbox.add(pending{WaitingView: *e.Message})
	case domain.EventMessageReceived:
		if p, waited := m.inbox.drop(e.Message.ID); waited {
			m.conversation.add(&part{kind: said, text: p.Text})
			m.inbox.shown = append(m.inbox.shown, p)
		}
	case domain.EventMessageUnsent:
		if _, waited := m.inbox.drop(e.Message.ID); waited {
			m.note("a message was taken back: " + render.MessageText(*e.Message))
		}
	default:
	}
}

// slashQueue has a message begin a turn of its own, when those before have ended.
func (m *Model) slashQueue(rest string) {
	if rest == "" {
		m.warn("/queue: is given no message; write it behind, as in: /queue and then sum it up")
	} else {
		m.post(rest, true)
	}
}

// slashUnsend takes a message back that nobody has read: the newest, or the one whose id is given.
func (m *Model) slashUnsend(rest string) {
	if at := len(m.outbox) - 1; rest == "" && at >= 0 && !m.outbox[at].underway {
		text := m.outbox[at].text
		m.outbox = m.outbox[:at]
		m.handBack("taken back", text)
		return
	}
	for _, p := range slices.Backward(m.inbox.waiting) {
		if rest == "" && p.own || rest != "" && strings.HasPrefix(p.ID.String(), rest) {
			m.wants(wantUnsend{p.ID})
			return
		}
	}
	switch {
	case rest != "":
		m.warn("/unsend: no message waits whose id begins with " + rest)
	case len(m.inbox.waiting) > 0:
		m.warn("/unsend: what waits was not typed here; name it by the id that is shown with it")
	default:
		m.note("no message waits; what was read cannot be taken back")
	}
}

// handBack has what was not taken be typed again, where nothing else is; else it is shown as what it was.
func (m *Model) handBack(was, text string) {
	if m.composer.about == nil && m.composer.empty() {
		m.composer.set(text)
		return
	}
	m.note(was + ": " + text)
}

// drawWaiting is what waits, each with what it waits for.
func (m *Model) drawWaiting(lines []string) []string {
	show := func(text, state string) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, wrapped(text, "> ", "  ", m.screen.width)...)
		lines = append(lines, m.cfg.Theme.Faint(fitted("  · "+state, m.screen.width)))
	}
	for _, p := range m.inbox.waiting {
		state := "waits for the next step"
		if p.Delivery == contract.QueueIfBusy {
			state = "waits to begin a turn of its own"
		}
		text := p.Text
		if p.Cut {
			text += "…"
		}
		show(text, state+" · /unsend "+p.ID.String()[:8]+" takes it back")
	}
	for _, l := range m.outbox {
		state := "waits here until this turn ends"
		if l.underway {
			state = "being sent"
		}
		show(l.text, state)
	}
	return lines
}
