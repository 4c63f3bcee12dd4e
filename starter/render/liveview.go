package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"everstep/domain"
	"everstep/starter/client"
)

// A liveView tells the story on a terminal. What is settled stays as lines; below them, what is
// going on now is drawn anew with each event.
type liveView struct {
	out   *Output
	story *story

	drawn   int          // how many lines of the lower part are on the terminal
	writing streamBuffer // what the model is writing
	open    []line       // the tool calls under way, in the order in which they began
}

const (
	// liveLines is how much of what the model is writing is shown.
	liveLines    = 6
	thoughtLines = 4
	// liveCalls is how many of the calls under way are shown.
	liveCalls = 8
)

// Show shows an event.
func (v *liveView) Show(e client.Event) {
	v.out.mu.Lock()
	defer v.out.mu.Unlock()
	v.out.live = v
	if v.story.below.join(e); !e.AgentID.IsZero() {
		v.redraw(v.showSubagent(e), v.going())
		return
	}
	lines := v.story.Tell(e)
	v.writing.follow(e)
	if e.Ended != nil || e.Type == domain.EventStepStarted {
		v.open = nil
	}
	var settled []string
	for _, l := range lines {
		settled = append(settled, v.settle(l)...)
	}
	v.redraw(settled, v.going())
}

// Close takes away what was going on.
func (v *liveView) Close() {
	v.out.mu.Lock()
	defer v.out.mu.Unlock()
	v.out.live = nil
	v.redraw(nil, nil)
}

// settle returns what stays of a line, painted.
func (v *liveView) settle(l line) []string {
	t := v.out.Theme
	switch l.mark {
	case markBegan:
		return []string{t.name("◆") + " " + t.Head(l.text)}
	case markLink:
		return []string{"  " + t.Faint(l.text)}
	case markStep:
		return []string{"", "  " + t.name(l.text)}
	case markText:
		return v.wrapped("    ", l.text)
	case markCall:
		v.open = append(v.open, l)
		return nil
	case markAt:
		v.tellOf(l.call, l.text)
		return nil
	case markDone, markFailed, markNotice, markWarning:
		if l.mark == markDone || l.mark == markFailed {
			v.open = slices.DeleteFunc(v.open, func(open line) bool { return open.call == l.call })
		}
		return v.hanging("    "+v.sign(l)+" ", l.text)
	case markEnd:
		return []string{"", v.sign(l) + " " + l.text}
	}
	return []string{l.text}
}

// showSubagent takes an event of a sub-agent, and returns the lines that stay of it, each with the sub-agent's name. What it
// does just now stays nowhere: it is drawn under the open call of the parent that has started the sub-agent.
func (v *liveView) showSubagent(e client.Event) (settled []string) {
	m, lines := v.story.below.tell(e)
	for _, l := range lines {
		text := m.name + ": " + l.text
		switch l.mark {
		case markStep, markCall, markAt:
			v.tellOf(m.call, text)
		default:
			settled = append(settled, v.hanging("    "+m.deep()+v.sign(l)+" ", text)...)
		}
	}
	return settled
}

// sign stands before a line that stays.
func (v *liveView) sign(l line) string {
	switch t := v.out.Theme; l.mark {
	case markEnd:
		return t.glyph(l.status)
	case markDone:
		return t.Good("✓")
	case markFailed:
		return t.Bad("✗")
	case markWarning:
		return t.Warn("!")
	default:
		return t.Faint("·")
	}
}

// tellOf says how far an open call is.
func (v *liveView) tellOf(call callKey, at string) {
	for i, open := range v.open {
		if open.call == call {
			v.open[i].at = at
		}
	}
}

func (v *liveView) going() []string {
	t := v.out.Theme
	var lines []string
	for _, l := range v.open[:min(liveCalls, len(v.open))] {
		lines = append(lines, v.fit("    "+t.Faint("⋯ "+l.text)))
		if l.at != "" {
			lines = append(lines, v.fit("      "+t.Faint(l.at)))
		}
	}
	if more := len(v.open) - liveCalls; more > 0 {
		lines = append(lines, v.fit("    "+t.Faint(fmt.Sprintf("⋯ and %d more", more))))
	}
	if v.writing.step == 0 {
		return lines
	}
	attempt := ""
	if n := v.writing.attempt; n > 1 {
		attempt = fmt.Sprintf(" · attempt %d", n)
	}
	text, thoughts := v.lastLines("    ", v.writing.text, liveLines), v.lastLines("      ", v.writing.reasoning, thoughtLines)
	if len(text) > 0 && attempt != "" {
		lines = append(lines, v.fit("    "+t.Faint("⋯ writing"+attempt)))
	}
	lines = append(lines, text...)
	if len(text) == 0 || len(thoughts) > 0 {
		lines = append(lines, v.fit("    "+t.Faint("⋯ thinking"+attempt)))
	}
	return append(lines, thoughts...)
}

// lastLines are the last lines of a text, faint, each of one line of the terminal.
func (v *liveView) lastLines(indent string, t tail, most int) []string {
	text := strings.TrimSpace(Clean(whole(t.text)))
	if text == "" {
		return nil
	}
	lines := v.wrapped(indent, text)
	if excess := len(lines) - most; excess > 0 {
		lines, t.cut = lines[excess:], true
	}
	for i, l := range lines {
		if i == 0 && t.cut {
			l = indent[1:] + "…" + strings.TrimPrefix(l, indent)
		}
		lines[i] = v.fit(v.out.Theme.Faint(l))
	}
	return lines
}

// redraw replaces the lower part below settled lines. The caller holds the output.
func (v *liveView) redraw(settled, going []string) {
	if v.out.held {
		v.out.later = append(v.out.later, settled...)
		return
	}
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\r\x1b[%dA\x1b[J", v.drawn)
	}
	for _, l := range append(settled, going...) {
		b.WriteString(l + "\n")
	}
	v.drawn = len(going)
	if b.Len() > 0 {
		_, _ = io.WriteString(v.out.to, b.String()) // there is nobody to tell
	}
}

// fit cuts a painted line to one of the terminal: it could not be taken back otherwise.
func (v *liveView) fit(text string) string { return ansi.Truncate(text, v.out.Width()-1, "") }

func (v *liveView) wrapped(indent, text string) []string {
	return Wrapped(text, indent, indent, v.out.Width()-1)
}

func (v *liveView) hanging(sign, text string) []string {
	return Wrapped(text, sign, strings.Repeat(" ", lipgloss.Width(sign)), v.out.Width()-1)
}

// Wrapped is a cleaned text broken into lines of a width; first stands before the first, rest before the others.
func Wrapped(text, first, rest string, width int) []string {
	room := max(width-max(lipgloss.Width(first), lipgloss.Width(rest)), 1)
	lines := strings.Split(lipgloss.Wrap(strings.ReplaceAll(text, "\t", "    "), room, ""), "\n")
	for i, l := range lines {
		lines[i] = first + strings.TrimRight(l, " ")
		first = rest
	}
	return lines
}

// A streamBuffer is what the model has written in an attempt, as far as it is known.
type streamBuffer struct {
	step int // that of the inference under way, zero for none
	// attempt counts the tries of the inference from 1; zero: not known yet.
	attempt   int
	text      tail
	reasoning tail // what the model thinks; empty once it goes on to answer
}

type tail struct {
	text string
	cut  bool // the beginning is not known, or not kept
}

const tailBytes = 16 << 10

func (t *tail) add(text string, skipped int) {
	if skipped > 0 {
		t.text, t.cut = "", true
	}
	t.text += text
	if excess := len(t.text) - tailBytes; excess > 0 {
		t.text, t.cut = t.text[excess:], true
	}
}

func (w *streamBuffer) follow(e client.Event) {
	switch e.Type {
	case domain.EventStepStarted:
		*w = streamBuffer{step: e.Step}
	case client.EventReasoning:
		w.step, w.attempt = e.Step, e.Attempt
		w.reasoning.add(e.Text, e.Skipped)
	case client.EventText:
		w.step, w.attempt, w.reasoning = e.Step, e.Attempt, tail{}
		w.text.add(e.Text, e.Skipped)
	case client.EventWithdrawn:
		w.text, w.reasoning = tail{}, tail{}
	case client.EventRetry, domain.EventInferenceRequested:
		*w = streamBuffer{step: e.Step, attempt: e.Attempt}
	case domain.EventInferenceReceived, domain.EventExecutionCompleted, domain.EventExecutionFailed, client.EventEnded:
		*w = streamBuffer{}
	default:
	}
}
