package chat

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
)

// questions are what the agent asks a person.
type questions struct {
	pending []domain.PendingQuestion
	// aside are those that are answered later, and under is the one to which an answer is under way.
	aside map[domain.ToolExecutionID]bool
	under domain.ToolExecutionID
	// shown is since when the first of them can be read.
	shown time.Time
	on    domain.ToolExecutionID
}

// told takes what is asked now.
func (q *questions) told(pending []domain.PendingQuestion, now time.Time) {
	q.pending = pending
	q.show(now)
}

func (q *questions) show(now time.Time) {
	if first, ok := q.first(); ok && first.ToolExecutionID != q.on {
		q.on, q.shown = first.ToolExecutionID, now
	} else if !ok {
		q.on = domain.ToolExecutionID{}
	}
}

// first is the question that is asked.
func (q *questions) first() (domain.PendingQuestion, bool) {
	at := slices.IndexFunc(q.pending, func(p domain.PendingQuestion) bool {
		return !q.aside[p.ToolExecutionID] && p.ToolExecutionID != q.under
	})
	if at < 0 {
		return domain.PendingQuestion{}, false
	}
	return q.pending[at], true
}

// drop forgets a question that was answered.
func (q *questions) drop(id domain.ToolExecutionID, now time.Time) {
	q.pending = slices.DeleteFunc(slices.Clone(q.pending), func(p domain.PendingQuestion) bool { return p.ToolExecutionID == id })
	q.show(now)
}

// panel shows the question, in at most so many lines.
func (q *questions) panel(id string, theme render.Theme, now time.Time, width, most int) []string {
	first, ok := q.first()
	if !ok {
		return nil
	}
	lines := wrapped(render.Questions([]client.WaitingQuestion{{ID: id, PendingQuestion: first}}, now), "  ", "  ", width)
	if len(lines) > most-1 {
		lines = append(lines[:max(most-2, 0)], theme.Warn(fitted("  … not all of it fits here; `starter approvals "+id+"` shows it", width)))
	}
	how := "what you enter answers it"
	switch {
	case len(first.Choices) > 0:
		how = "enter a choice, or its number"
	case len(first.Schema) > 0:
		how = "enter the JSON value that answers it"
	}
	return append(lines, theme.Warn(fitted("  "+how+" · /later leaves it for later", width)))
}

// reply is what a text answers to a question; it is said what is wrong with it.
func reply(q domain.PendingQuestion, text, by string) (r client.Reply, wrong string) {
	r = client.Reply{Call: q.ToolExecutionID, Digest: q.Digest, By: by}
	n, err := strconv.Atoi(text)
	switch {
	case len(q.Schema) > 0 && !json.Valid([]byte(text)):
		return r, "that is no JSON; write a text in quotes, an object in braces"
	case len(q.Schema) > 0:
		r.Value = json.RawMessage(text)
	case len(q.Choices) > 0 && err == nil && n >= 1 && n <= len(q.Choices) && !slices.Contains(q.Choices, text):
		r.Text = q.Choices[n-1]
	default:
		r.Text = text
	}
	return r, ""
}

// answers takes what was entered for the answer to the question that is shown; false: none is.
func (m *Model) answers(text string) ([]want, bool) {
	now := m.cfg.Now()
	question, asked := m.questions.first()
	if _, deciding := m.asks.first(); !asked || deciding {
		return nil, false
	}
	if now.Sub(m.questions.shown) < tooSoon {
		m.talk.warn("a question came up as you typed; Enter again answers it")
		return nil, true
	}
	r, wrong := reply(question, text, m.cfg.By)
	if wrong != "" {
		m.talk.warn(wrong)
		return nil, true
	}
	m.composer.set("")
	m.screen.up = 0
	m.questions.under = question.ToolExecutionID
	m.questions.show(now)
	return []want{wantAnswer{reply: r, typed: text}}, true
}

// answeredBy takes what came of an answer. One that was refused can be changed.
func (m *Model) answeredBy(msg replied) []want {
	now := m.cfg.Now()
	m.questions.under = domain.ToolExecutionID{}
	if msg.err == nil {
		m.questions.drop(msg.want.reply.Call, now)
		return m.look()
	}
	m.questions.show(now)
	m.talk.warn("not answered: " + msg.err.Error())
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
	if m.questions.aside == nil {
		m.questions.aside = map[domain.ToolExecutionID]bool{}
	}
	m.questions.aside[question.ToolExecutionID] = true
	m.questions.show(m.cfg.Now())
	m.talk.note(strings.TrimSpace(question.Tool) + " waits for its answer; /approve asks again")
	return nil
}
