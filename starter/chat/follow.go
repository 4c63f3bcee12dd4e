package chat

import (
	"fmt"
	"slices"
	"time"

	"everstep/starter/client"
	"everstep/starter/render"
)

// A follower draws an execution below the lines of a terminal, as a conversation looks on a screen. What is settled stays; below
// it, what is going on is drawn anew with each event.
type follower struct {
	out          *render.Output
	id, ui       string
	headed       bool
	turn         turn
	conversation conversation
	subagents    subagents
}

// goingLines bounds how many lines are drawn anew, the newest ones: a terminal can take back no more than it shows.
const goingLines = 12

// Follow is a view of an execution for a terminal. ui is where its runs can be looked at, by their ids.
func Follow(out *render.Output, id, ui string) render.View {
	f := &follower{out: out, id: id, ui: ui, conversation: conversation{inline: true, below: true}}
	return render.View{Show: f.show, Close: f.close}
}

func (f *follower) show(e client.Event) {
	var settled []string
	if !e.AgentID.IsZero() {
		f.subagents.heard(e)
	} else {
		settled = f.heading(e)
		f.turn.heard(e)
		f.conversation.heard(e)
		f.subagents.told(&f.conversation, e)
	}
	theme, width := f.out.Theme, f.out.Width()-1
	f.out.Draw(append(settled, f.conversation.settled(theme, width, e.Time)...), f.going(theme, width, e.Time))
}

// heading names the execution, and says where its run can be looked at, each once it is known.
func (f *follower) heading(e client.Event) (lines []string) {
	if !f.headed && e.Number > 0 {
		f.headed = true
		lines = append(lines, f.out.Theme.Head(fmt.Sprintf("◆ %s · execution %d", render.OneLine(f.id), e.Number)))
	}
	if f.ui != "" && e.RunID != "" {
		lines = append(lines, "  "+f.out.Theme.Faint(f.ui+e.RunID))
		f.ui = ""
	}
	if len(lines) > 0 {
		f.conversation.above = nil
		lines = append(lines, "")
	}
	return lines
}

func (f *follower) going(theme render.Theme, width int, now time.Time) []string {
	lines := f.conversation.draw(theme, width, now)
	if above := len(lines) - goingLines; above > 0 {
		lines = append([]string{theme.Faint("  …")}, lines[above+1:]...)
	}
	if f.turn.busy() {
		waits := 0
		for _, p := range f.conversation.parts {
			if p.kind == called && p.call == callWaits {
				waits++
			}
		}
		lines = append(lines, theme.Faint("  ⋯ "+render.Joined(" · ", f.turn.words(f.turn.began, waits), f.turn.used())))
	}
	for i, l := range lines { // what is wrapped is wider still where the terminal is narrower than a word
		lines[i] = fitted(l, width)
	}
	return lines
}

// settled takes out the first parts that stay as they are, and returns what they look like. The newest part may still change.
func (t *conversation) settled(theme render.Theme, width int, now time.Time) []string {
	n := max(slices.IndexFunc(t.parts, func(p *part) bool { return p.open() || p == t.answer || p == t.parts[len(t.parts)-1] }), 0)
	stay := *t
	if stay.parts = t.parts[:n]; n > 0 {
		t.above, t.parts = t.parts[n-1], t.parts[n:]
	}
	return stay.draw(theme, width, now)
}

// close leaves what is settled, and takes away what was going on. It may be called twice.
func (f *follower) close() {
	t := &f.conversation
	t.parts = slices.DeleteFunc(t.parts, func(p *part) bool { return p.open() || p == t.answer })
	f.out.Draw(t.draw(f.out.Theme, f.out.Width()-1, time.Time{}), nil)
	t.parts = nil
}
