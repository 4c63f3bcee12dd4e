package chat

import (
	"cmp"
	"strings"

	"everstep/starter/client"
	"everstep/starter/render"
)

// questions are what the agent asks a person.
type questions struct {
	waiting
}

// panel shows the question, in at most so many lines.
func (q *questions) panel(cfg Config, waiter string, width, most int) []string {
	theme, now := cfg.Theme, cfg.Now()
	first, ok := q.first()
	if !ok {
		return nil
	}
	of := cmp.Or(first.ID, cfg.ID)
	first.ID = cmp.Or(waiter, cfg.ID)
	lines := wrapped(render.Waiting([]client.WaitingCall{first}, now), "  ", "  ", width)
	if len(lines) > most-1 {
		lines = append(lines[:max(most-2, 0)], theme.Warn(fitted("  … not all of it fits here; "+cfg.shell("approvals", of)+" shows it", width)))
	}
	how := "what you enter answers it"
	switch {
	case len(first.Ask.Choices) > 0:
		how = "enter a choice, or its number"
	case len(first.Ask.Schema) > 0:
		how = "enter the JSON value that answers it"
	}
	return append(lines, theme.Warn(fitted("  "+how+" · /later leaves it for later", width)))
}

// of is the sub-agent whose question it is; empty: it is the agent's own, or there is none.
func (q *questions) of() string {
	question, _ := q.first()
	return question.ID
}

// answers takes what was entered for the answer to the question that is shown; false: none is.
func (m *Model) answers(text string) ([]want, bool) {
	now := m.cfg.Now()
	question, asked := m.questions.first()
	if _, deciding := m.asks.first(); !asked || deciding {
		return nil, false
	}
	if now.Sub(m.questions.shown) < tooSoon || m.composer.since.Before(m.questions.shown) {
		m.composer.since = now
		m.talk.warn("a question came up as you typed; Enter again answers it, /later leaves it for later")
		return nil, true
	}
	r, err := client.TypedReply(question.Wait, text)
	if err != nil {
		m.talk.warn(err.Error())
		return nil, true
	}
	r.By = m.cfg.By
	m.composer.set("")
	m.screen.up = 0
	m.questions.begin(question.ToolExecutionID, now)
	return []want{wantAnswer{reply: r, typed: text, of: question.ID}}, true
}

// answeredBy takes what came of an answer. One that was refused can be changed.
func (m *Model) answeredBy(msg replied) []want {
	now := m.cfg.Now()
	m.questions.failed(now)
	if msg.err == nil {
		m.decided(msg.want.reply.Call)
		return m.look()
	}
	m.talk.warn("not answered: " + m.trouble(msg.err))
	if m.composer.empty() && m.composer.purpose == aMessage {
		m.composer.set(msg.want.typed)
	} else {
		m.talk.note("the answer was: " + msg.want.typed)
	}
	return m.look()
}

func (m *Model) slashLater(string) []want {
	question, asked := m.questions.first()
	if !asked {
		m.talk.note("nothing is asked")
		return nil
	}
	m.questions.later(question.ToolExecutionID, m.cfg.Now())
	m.talk.note(strings.TrimSpace(question.Tool) + " waits for its answer; /approve asks again")
	return nil
}
