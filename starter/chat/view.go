package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"everstep/domain"
	"everstep/starter/render"
)

// A screen is how much of the conversation is seen, and how far up.
type screen struct {
	width, height int
	// up is how many lines are below what is seen, rows how many are seen, and lines how many there were.
	up, rows, lines int
}

const (
	leastWidth  = 20
	leastHeight = 6
)

// scroll goes up by so many lines, down by fewer than none.
func (s *screen) scroll(lines int) { s.up = max(s.up+lines, 0) }

// page is how many lines a page has.
func (s *screen) page() int { return max(s.rows-1, 1) }

// window is what is seen of lines, in rows lines. Where a reader has gone up it stays, whatever comes below.
func (s *screen) window(lines []string, rows int) []string {
	if s.up > 0 {
		s.up += max(len(lines)-s.lines, 0)
	}
	s.rows, s.lines = rows, len(lines)
	s.up = min(s.up, max(len(lines)-rows, 0))
	end := len(lines) - s.up
	seen := slices.Clone(lines[max(end-rows, 0):end])
	return append(seen, make([]string, rows-len(seen))...)
}

// View is the screen.
func (m *Model) View() tea.View {
	v := tea.View{AltScreen: true, MouseMode: tea.MouseModeCellMotion}
	if m.screen.width < leastWidth || m.screen.height < leastHeight {
		if m.screen.width > 0 {
			v.SetContent("make the terminal larger")
		}
		return v
	}
	above := m.below()
	typed := strings.Split(m.composer.area.View(), "\n")
	under := m.underneath()
	rows := max(m.screen.height-len(above)-len(typed)-len(under), 1)
	all := slices.Concat(m.screen.window(m.history(), rows), above, typed, under)
	all = all[max(len(all)-m.screen.height, 0):]
	v.SetContent(strings.Join(all, "\n"))
	if c := m.composer.area.Cursor(); c != nil {
		c.Y += len(all) - len(under) - len(typed)
		c.Blink = false
		v.Cursor = c
	}
	return v
}

// history is the conversation, a line of the screen each.
func (m *Model) history() []string {
	return m.drawWaiting(m.conversation.draw(m.cfg.Theme, m.screen.width, m.cfg.Now()))
}

// below is what stands between the conversation and what is typed: what a person is asked.
func (m *Model) below() []string {
	t, width := m.cfg.Theme, m.screen.width
	lines := []string{t.Faint(strings.Repeat("─", width))}
	panel, _ := m.promptPanel()
	lines = append(lines, panel...)
	if m.composer.about != nil {
		lines = append(lines, painted(t.Warn, wrapped("the arguments to run instead: Enter runs them, Alt-Enter new line, Esc back", "  ", "  ", width))...)
	}
	return lines
}

// underneath are the lines below what is typed: what goes on, and which keys there are.
func (m *Model) underneath() []string {
	t, width, now := m.cfg.Theme, m.screen.width, m.cfg.Now()
	state, spent := m.turn.words(now, m.open()), ""
	if m.turn.number > 0 {
		spent = render.Joined(" · ", fmt.Sprintf("turn %d", m.turn.number), m.turn.used())
	}
	paint := t.Faint
	if m.turn.busy() || m.turn.away != "" {
		paint = t.Warn
	}
	state = fitted(state, width)
	who := fitted(render.OneLine(" · "+m.cfg.ID+" · "+m.modelName()), max(width-ansi.StringWidth(state+spent)-2, 0))
	left := paint(state) + t.Faint(" "+who)
	gap := strings.Repeat(" ", max(width-ansi.StringWidth(left+spent), 1))
	return []string{fitted(left+gap+t.Faint(spent), width), t.Faint(fitted(m.hint(now), width))}
}

func (m *Model) hint(now time.Time) string {
	stop := "Ctrl-C stops this turn"
	switch recent := now.Sub(m.interrupted) < leaveWithin; {
	case recent:
		return "Ctrl-C again leaves; the session stays open, and what goes on goes on"
	case m.screen.up > 0:
		return render.Counted(m.screen.up, "line") + " below · PgDn goes down, Esc to the end"
	case !m.turn.busy():
		stop = "Ctrl-C twice leaves"
	}
	line := "Enter sends"
	keys := []string{"Alt-Enter new line", stop, "/help", "PgUp scrolls", "Ctrl-R shows thoughts"}
	if len(m.subagents) > 0 {
		keys = append(keys, "Ctrl-T shows sub-agents")
	}
	for _, key := range keys {
		if ansi.StringWidth(line+" · "+key) <= m.screen.width {
			line += " · " + key
		}
	}
	return line
}

// draw is the conversation at a width.
func (t *conversation) draw(theme render.Theme, width int, now time.Time) []string {
	var lines []string
	if t.dropped {
		lines = append(lines, theme.Faint("… what came before is not kept here"))
	}
	above := t.above
	for _, p := range t.parts {
		if gap := above != nil && (p.kind == said || p.kind != above.kind && p.kind != noted && p.kind != warned); gap && !t.brief {
			lines = append(lines, "")
		}
		above = p
		if p.width != width || p.live || p.kind == called && p.call == callRuns {
			p.lines, p.width = p.draw(theme, width, t, now), width
		}
		lines = append(lines, p.lines...)
		if p.sub != nil {
			lines = append(lines, p.sub.draw(theme, width, t.below, now)...)
		}
	}
	return lines
}

// draw is what a part looks like.
func (p *part) draw(theme render.Theme, width int, of *conversation, now time.Time) []string {
	text := p.text
	if p.cut {
		text = "…" + text
	}
	switch p.kind {
	case said:
		return painted(theme.Head, wrapped(text, "> ", "  ", width))
	case answered:
		return wrapped(text, "  ", "  ", width)
	case thought:
		return p.drawThought(theme, width, of, now)
	case called:
		sign := map[callState]string{
			callWaits: theme.Warn("?"), callAllowed: theme.Faint("·"), callDenied: theme.Warn("-"), callRuns: theme.Faint("⋯"), callDone: theme.Good("✓"),
			callFailed: theme.Bad("✗"), callUnknown: theme.Bad("?"), callNotRun: theme.Warn("-"),
		}[p.call]
		words := p.words(now)
		joint := " "
		if strings.HasPrefix(words, ":") {
			joint = ""
		}
		words = strings.TrimRight(joint+render.OneLine(words), " ")
		if of.inline && !p.open() { // what came of it is nowhere else to be seen
			return wrapped(render.OneLine(text)+words, "  "+sign+" ", "    ", width)
		}
		room := max(width-4-ansi.StringWidth(words), width/3)
		return []string{fitted("  "+sign+" "+fitted(render.OneLine(text), room)+words, width)}
	case stepped:
		return []string{theme.Faint(fitted(render.OneLine(text), width))}
	case noted:
		return painted(theme.Faint, wrapped(text, "  · ", "    ", width))
	case warned:
		return painted(theme.Warn, wrapped(text, "  ! ", "    ", width))
	case ended:
		paint := theme.Faint
		if p.status == domain.StatusFailed {
			paint = theme.Bad
		}
		return []string{paint(fitted("  ── "+render.OneLine(text), width))}
	}
	return nil
}

func (p *part) drawThought(theme render.Theme, width int, of *conversation, now time.Time) []string {
	words := "thought"
	took := p.took
	if p.live {
		words, took = "thinking", now.Sub(p.began).Truncate(time.Second)
	}
	if took >= time.Second {
		words += " for " + render.Duration(took)
	}
	shown := of.unfolded || of.inline && p.live
	if !shown && !of.inline {
		words += " (Ctrl-R shows it)"
	}
	lines := []string{theme.Faint(fitted("  · "+words, width))}
	if shown {
		lines = append(lines, painted(theme.Faint, wrapped(p.text, "    ", "    ", width))...)
	}
	return lines
}

func painted(paint func(...string) string, lines []string) []string {
	for i, l := range lines {
		lines[i] = paint(l)
	}
	return lines
}

// wrapped is a text as it came, broken into lines of a width; first stands before the first, rest before the others.
func wrapped(text, first, rest string, width int) []string {
	return render.Wrapped(strings.TrimRight(render.Clean(text), "\n"), first, rest, width)
}

// fitted is a line cut to a width.
func fitted(text string, width int) string { return ansi.Truncate(text, width, "…") }
