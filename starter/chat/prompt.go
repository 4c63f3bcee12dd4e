package chat

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
)

// A prompt asks the person here about what waits, one thing at a time.
type prompt struct {
	// hidden are those that are not asked about: true where the person has put one aside, false where nothing has come of
	// their answer yet.
	hidden map[domain.ToolExecutionID]bool
	// shown is since when the first of the others, on, can be read.
	shown time.Time
	on    domain.ToolExecutionID
}

// tooSoon is within what time nobody has read what waits: what comes then was typed for something else.
const tooSoon = 500 * time.Millisecond

// asks is what the person can be asked about here: first calls for their word, then questions for their answer, those of the agent
// itself before those of its sub-agents. Of what outlasts a turn status and explain tell: the conversation goes on.
func (m *Model) asks() (all []client.WaitingCall) {
	for _, kind := range domain.WaitKinds() {
		of := func(id string, waits []domain.Wait) {
			for _, w := range waits {
				if w.Kind == kind && !kind.Rule().Outlasts {
					all = append(all, client.WaitingCall{ID: id, Wait: w})
				}
			}
		}
		of("", m.pending)
		for _, sub := range m.subagents {
			of(sub.id.String(), sub.pending)
		}
	}
	return all
}

// first is what the person is asked about.
func (m *Model) first() (one client.WaitingCall, ok bool) {
	for _, one := range m.asks() {
		if _, hidden := m.prompt.hidden[one.ToolExecutionID]; !hidden {
			return one, true
		}
	}
	return one, false
}

// open counts those that nobody has answered.
func (m *Model) open() (n int) {
	for _, one := range m.asks() {
		if aside, hidden := m.prompt.hidden[one.ToolExecutionID]; aside || !hidden {
			n++
		}
	}
	return n
}

// promptPanel is what the person is asked. whole: all of what would run is on the screen; what is not nobody has seen.
func (m *Model) promptPanel() (lines []string, whole bool) {
	asked, ok := m.first()
	if !ok {
		return nil, false
	}
	theme, width, most := m.cfg.Theme, m.screen.width, max(m.screen.height/2, 4)
	shown := asked
	shown.ID = m.cfg.ID
	for _, sub := range m.subagents {
		if asked.ID == sub.id.String() {
			shown.ID = "sub-agent " + render.OneLine(sub.name) + " " + sub.short()
		}
	}
	lines = wrapped(render.Waiting([]client.WaitingCall{shown}, m.cfg.Now()), "  ", "  ", width)
	whole = asked.Whole()
	if len(lines) > most-1 {
		cut := "  … not all of it fits here; " + m.cfg.shell("approvals", cmp.Or(asked.ID, m.cfg.ID)) + " shows it"
		lines, whole = append(lines[:max(most-2, 0)], theme.Warn(fitted(cut, width))), false
	}
	if m.composer.about == nil { // else its keys are not those of what is typed
		lines = append(lines, painted(theme.Warn, wrapped(promptKeys(asked, whole), "  ", "  ", width))...)
	}
	typed := strings.Count(m.composer.area.View(), "\n") + 1
	fits := m.screen.width >= leastWidth && m.screen.height >= leastHeight && 1+len(lines)+typed+2 <= m.screen.height
	return lines, whole && fits
}

// promptKeys are what can be entered.
func promptKeys(asked client.WaitingCall, whole bool) string {
	switch {
	case !asked.Kind.Rule().Replies:
		begin := map[bool]string{true: "Enter after ", false: "only a part is shown, so y and a do not count · "}[whole]
		return begin + client.DecisionKeys(asked.Wait, "e", whole)
	case len(asked.Ask.Choices) > 0:
		return "enter a choice, or its number · /later leaves it for later"
	case len(asked.Ask.Schema) > 0:
		return "enter the JSON value that answers it · /later leaves it for later"
	}
	return "what you enter answers it · /later leaves it for later"
}

// answers takes what was entered for the answer to what is asked; false: nothing is, or it is none. A word about a call has to
// stand alone, so that no message begins with one.
func (m *Model) answers(text string) bool {
	asked, ok := m.first()
	word, verb := client.TypedDecision(asked.Wait, text)
	rule := asked.Kind.Rule()
	unreasoned := word.Verdict == "" || rule.Grants(word.Verdict)
	switch now := m.cfg.Now(); {
	case !ok || !rule.Replies && (verb == 0 || unreasoned && strings.Contains(text, " ")):
		return false
	case now.Sub(m.prompt.shown) < tooSoon || m.composer.since.Before(m.prompt.shown):
		m.composer.since = now
		if !rule.Replies {
			m.warn("a call came up as you typed; look at it, and Enter again decides about it")
		} else {
			m.warn("a question came up as you typed; Enter again answers it, /later leaves it for later")
		}
	case !rule.Replies:
		m.decides(asked, word, verb)
	default:
		word, err := client.TypedReply(asked.Wait, text)
		if err != nil {
			m.warn(err.Error())
			break
		}
		m.composer.set("")
		m.screen.up = 0
		m.answer(asked.ID, word, text)
	}
	return true
}

// decides does what a word says about a call.
func (m *Model) decides(call client.WaitingCall, word client.Word, verb rune) {
	m.composer.set("")
	_, whole := m.promptPanel()
	switch id := cmp.Or(call.ID, m.cfg.ID); {
	case verb != 'e' && call.Kind.Rule().Grants(word.Verdict) && !whole:
		m.warn("only a part of what would run is shown, so nobody can have seen it: " + m.cfg.shell("approvals", id) + " shows more, or make the terminal larger")
	case verb == 'e' && (!call.Whole() || call.Arguments != render.Clean(call.Arguments)):
		m.warn("not all of the arguments are known here: " + m.cfg.shell("approve", id, render.ShortCall(call.ToolExecutionID), "--edit", "JSON") + " takes others")
	case verb == 'e':
		c := &m.composer // the arguments are typed, beginning with those that it has, instead of the message, which is kept
		if c.about == nil {
			c.draft = c.value()
		}
		c.about = &call
		c.set(call.Arguments)
	case verb == 'd':
		m.slashLater("")
	default:
		m.answer(call.ID, word, "")
	}
}

// enteredArguments are what a call is to run with, which they were begun for, and no other that waits meanwhile.
func (m *Model) enteredArguments(text string) {
	call := *m.composer.about
	if text == "" {
		m.warn("there are no arguments; give a JSON object, or Esc goes back")
		return
	}
	m.composer.back()
	if !slices.ContainsFunc(m.asks(), func(one client.WaitingCall) bool { return one.ToolExecutionID == call.ToolExecutionID }) {
		m.warn("the call of " + render.OneLine(call.Tool) + " does not wait any more")
		return
	}
	m.answer(call.ID, client.Word{Call: call.ToolExecutionID, Digest: call.Digest, Verdict: domain.Approved, Arguments: text}, "")
}

func (m *Model) answer(of string, word client.Word, typed string) {
	m.prompt.hidden[word.Call] = false
	word.By = m.cfg.By
	m.wants(wantAnswer{word: word, typed: typed, of: of})
}

// answered takes what came of an answer. One to a question that was refused can be changed.
func (m *Model) answered(msg replied) {
	delete(m.prompt.hidden, msg.want.word.Call)
	switch typed := msg.want.typed; {
	case msg.err == nil:
		m.decided(msg.want.word.Call)
	case typed == "":
		m.warn(m.trouble(msg.err))
	default:
		m.warn("not answered: " + m.trouble(msg.err))
		m.handBack("the answer was", typed)
	}
	m.look()
}

func (m *Model) slashLater(string) {
	asked, ok := m.first()
	if !ok {
		m.note("nothing is asked")
		return
	}
	m.prompt.hidden[asked.ToolExecutionID] = true
	m.note(strings.TrimSpace(asked.Tool) + " waits; /approve asks again")
}
