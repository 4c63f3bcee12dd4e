package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/render"
)

// subagents are those that calls of the conversation have started, and those below them, as they began, as far as is told.
type subagents []*subagent

// A subagent stands under the call that has started it.
type subagent struct {
	id   domain.AgentID
	name string
	// turn is what it does, and conversation what it has done, in which what it says takes one line.
	turn         turn
	conversation conversation
	// waits are the events of its calls that wait for a person.
	waits []client.Event
	// pending are those of them about which the person can be asked here.
	pending []domain.Wait
	inquiry inquiry
	// ended is how it ended, took how long that took, and lost why nothing tells it.
	ended *contract.Outcome
	took  time.Duration
	lost  string
}

// without is what waits but for a call.
func without(waits []domain.Wait, id domain.ToolExecutionID) []domain.Wait {
	return slices.DeleteFunc(slices.Clone(waits), func(w domain.Wait) bool { return w.ToolExecutionID == id })
}

// of is the sub-agent of an id; nil: nobody knows it.
func (s subagents) of(id domain.AgentID) *subagent {
	for _, sub := range s {
		if sub.id == id {
			return sub
		}
	}
	return nil
}

// told takes what an event of a conversation tells of a sub-agent: that a call has started it, or that it is over, where it did
// not tell so itself. One that is started once more begins anew.
func (s *subagents) told(t *conversation, e client.Event) {
	switch sub := s.of(e.ChildID); {
	case e.Type == domain.EventSubagentSpawning:
		t.callAt(e).sub = s.add(t, e)
	case e.Type == domain.EventSubagentCompleted && sub != nil:
		sub.stopsWaiting()
		if sub.ended == nil && sub.lost == "" {
			sub.lost = "its end is not told"
			if e.Error != nil {
				sub.lost = render.Why(e.Error)
			}
		}
	}
}

// add has another one be known below a conversation, in place of what was known of it.
func (s *subagents) add(above *conversation, e client.Event) *subagent {
	sub := &subagent{id: e.ChildID, name: e.ChildName, conversation: conversation{brief: true, below: above.below, inline: above.inline}}
	*s = append(slices.DeleteFunc(*s, func(one *subagent) bool { return one.id == e.ChildID }), sub)
	return sub
}

// foldBelow shows what sub-agents do in one line each, or with their steps.
func (m *Model) foldBelow() {
	m.conversation.below = !m.conversation.below
	for _, sub := range m.subagents {
		sub.conversation.below = m.conversation.below
	}
}

// short names it on the screen and for commands.
func (s *subagent) short() string { return s.id.String()[:8] }

// heard takes an event of it.
func (s *subagent) heard(e client.Event) {
	if s.ended == nil {
		s.turn.heard(e)
	}
	switch e.Type {
	case domain.EventExecutionStarted:
		s.ended, s.lost = nil, ""
	case domain.EventInferenceReceived:
		if e.Error == nil {
			words := render.Joined(" · ", fmt.Sprintf("step %d", e.Step), render.Some(e.Usage.TotalTokens(), "token"), strings.TrimSpace(e.Text))
			s.conversation.add(&part{kind: stepped, number: e.Number, text: words})
			return
		}
	case client.EventGone:
		s.lost = e.Reason
		return
	case domain.EventExecutionCompleted, domain.EventExecutionFailed, client.EventEnded:
		s.stopsWaiting()
		if s.ended = e.Ended; !s.turn.began.IsZero() {
			s.took = e.Time.Sub(s.turn.began)
		}
		s.conversation.closes(e)
		return
	case domain.EventWaitOpened:
		if !e.Wait.Kind.Rule().Outlasts {
			s.waits = append(s.waits, e)
		}
	case domain.EventWaitClosed:
		s.decided(e.ToolExecutionID)
	default:
	}
	s.conversation.heard(e)
}

func (s *subagent) decided(id domain.ToolExecutionID) {
	s.waits = slices.DeleteFunc(s.waits, func(e client.Event) bool { return e.ToolExecutionID == id })
	s.pending = without(s.pending, id)
}

func (s *subagent) stopsWaiting() { s.waits, s.pending = nil, nil }

// heard takes an event of one of them, and returns that; nil: nobody knows it.
func (s *subagents) heard(e client.Event) *subagent {
	sub := s.of(e.AgentID)
	if sub != nil {
		sub.heard(e)
		s.told(&sub.conversation, e)
	}
	return sub
}

// heardBelow takes an event of a sub-agent. past: it tells of a turn that is over.
func (m *Model) heardBelow(e client.Event, past bool) {
	sub := m.subagents.heard(e)
	if sub == nil || past {
		return
	}
	if e.Type == domain.EventWaitOpened || e.Type == domain.EventInferenceReceived {
		m.ask(&sub.inquiry, sub.id)
	}
}

// lookedAt takes what a sub-agent says of itself. One that has ended has said all.
func (m *Model) lookedAt(msg looked) {
	sub := m.subagents.of(msg.of)
	if sub == nil {
		return
	}
	again := sub.inquiry.stale
	sub.inquiry = inquiry{}
	if sub.ended != nil || sub.lost != "" {
		return
	}
	if msg.err == nil && msg.view.Status == domain.StatusInProgress {
		sub.turn.told(msg.view)
		sub.pending = msg.view.Waits
	}
	if again {
		m.ask(&sub.inquiry, sub.id)
	}
}

// decided forgets what waits no more.
func (m *Model) decided(id domain.ToolExecutionID) {
	m.pending = without(m.pending, id)
	for _, sub := range m.subagents {
		sub.decided(id)
	}
	delete(m.prompt.hidden, id)
}

// belowIndent is how far what is below a call stands to the right.
const belowIndent = "    "

// draw is it in one line, and its steps below where they are unfolded.
func (s *subagent) draw(theme render.Theme, width int, unfolded bool, now time.Time) []string {
	paint, sign := theme.Faint, "↳"
	switch {
	case len(s.waits) > 0:
		paint, sign = theme.Warn, "?"
	case s.lost != "", s.ended != nil && s.ended.Status == domain.StatusFailed:
		paint = theme.Bad
	}
	line := sign + " " + strings.TrimSpace(render.OneLine(s.name)+" "+s.short()) + " · " + s.words(now)
	if hint := " (Ctrl-T shows its steps)"; !unfolded && len(s.conversation.parts) > 0 && ansi.StringWidth(belowIndent+line+hint) <= width {
		line += hint
	}
	lines := []string{fitted(belowIndent+paint(render.OneLine(line)), width)}
	if !unfolded {
		return lines
	}
	before := belowIndent + "│ "
	for _, l := range s.conversation.draw(theme, max(width-ansi.StringWidth(before), leastWidth), now) {
		lines = append(lines, fitted(belowIndent+theme.Faint("│ ")+l, width))
	}
	return lines
}

// words say what it is at, and what that has cost so far with those below it that are over.
func (s *subagent) words(now time.Time) string {
	switch {
	case s.ended != nil:
		return render.Ending(*s.ended, s.took)
	case s.lost != "":
		return render.OneLine(s.lost)
	}
	state, call := s.turn.words(now, 0), ""
	switch {
	case len(s.waits) > 0:
		state, call = "waits for your word", render.CallWords(s.waits[0].Tool, s.waits[0].Arguments)
	case s.turn.phase == unknown:
		state = "begins"
	}
	return render.Joined(" · ", state, s.turn.used(), call)
}

// mostRetold bounds the turns of the past of which sub-agents are told, the newest ones.
const mostRetold = 5

// A pastEvent is one of an execution that is over.
type pastEvent struct {
	execution domain.ExecutionID
	client.Event
}

// retells asks what sub-agents did in the turns that were read back, whose messages tell nothing of it.
func (m *Model) retells(msg recalled) {
	var executions []domain.ExecutionID
	spawned := map[string]bool{}
	for _, entry := range msg.entries {
		for _, call := range entry.Message.ToolCalls {
			spawned[call.ID] = call.Name == domain.SpawnSubagent
		}
		result, of := entry.Message.ToolResult, domain.TagOf(entry.Message).ExecutionID
		if result == nil || of == msg.live || slices.Contains(executions, of) {
			continue
		}
		var child contract.ChildResult
		if spawned[result.CallID] || json.Unmarshal([]byte(result.Content), &child) == nil && child.Status.Terminal() {
			executions = append(executions, of)
		}
	}
	if len(executions) > 0 {
		m.wants(wantTell{executions[max(len(executions)-mostRetold, 0):]})
	}
}

// retell reads what sub-agents did in executions that are over. What can no longer be read is not told: the calls are there.
func (p *performer) retell(w wantTell) retold {
	var all retold
	for past, err := range p.cfg.Agents.Executions(p.ctx, p.cfg.ID) {
		if err != nil || !slices.Contains(w.executions, past.ExecutionID) {
			continue
		}
		for event, err := range p.cfg.Agents.Follow(p.ctx, p.cfg.ID, client.FollowOptions{Number: past.Number, Tree: true}) {
			if err != nil {
				break
			}
			if !event.AgentID.IsZero() || !event.ChildID.IsZero() {
				all.events = append(all.events, pastEvent{past.ExecutionID, event})
			}
		}
	}
	return all
}

// retold has sub-agents stand under the calls that were read back and have started them.
func (m *Model) retold(msg retold) {
	for _, e := range msg.events {
		switch t := &m.conversation; {
		case !e.AgentID.IsZero():
			m.heardBelow(e.Event, true)
		case e.Type != domain.EventSubagentSpawning:
			m.subagents.told(t, e.Event)
		case m.subagents.of(e.ChildID) == nil:
			step := e.execution.Step(e.Step)
			at := slices.IndexFunc(t.parts, func(p *part) bool { return p.kind == called && p.step == step && p.key.position == e.Position })
			if at >= 0 {
				t.parts[at].sub = m.subagents.add(t, e.Event)
			}
		}
	}
}
