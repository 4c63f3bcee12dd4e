package main

import (
	"strings"

	"everstep/domain"
	"everstep/starter/client"
)

// A view shows events as they happen.
type view interface {
	// Show shows one event.
	Show(client.Event)
	// Close leaves the terminal as a view should. It may be called twice.
	Close()
}

// newView chooses the view for whoever reads: nothing when quiet, a live one on
// a terminal, else plain lines.
func (p *program) newView(id, ui string) view {
	s := newStory(id, ui)
	switch {
	case p.flags.quiet:
		return blindView{}
	case p.err.animated:
		return &liveView{out: p.err, story: s}
	}
	return &plainView{out: p.err, story: s}
}

// blindView shows nothing.
type blindView struct{}

func (blindView) Show(client.Event) {}
func (blindView) Close()            {}

// jsonView writes each event as a line of JSON.
type jsonView struct {
	p   *program
	err error
}

func (v *jsonView) Show(e client.Event) {
	if v.err == nil {
		v.err = v.p.json(e)
	}
}
func (v *jsonView) Close() {}

// plainView writes lines that also make sense in a file, each with its step.
type plainView struct {
	out   *output
	story *story
}

func (v *plainView) Show(e client.Event) {
	for _, l := range v.story.Tell(e) {
		for _, text := range strings.Split(l.text, "\n") {
			v.out.printf("%s\n", v.paint(l, text))
		}
	}
}

func (v *plainView) Close() {}

// paint is a line of a terminal that cannot take anything back, or of a file.
func (v *plainView) paint(l line, text string) string {
	prefix := ""
	if l.step > 0 && l.mark != markStep {
		prefix = "step " + grouped(int64(l.step)) + ": "
	}
	switch l.mark {
	case markCall:
		return prefix + "calls " + text
	case markDone:
		return prefix + "done " + text
	case markFailed:
		return prefix + "failed " + text
	case markWarning, markNotice:
		return prefix + "-- " + text
	case markBegan, markLink, markStep, markText, markEnd:
	}
	return prefix + text
}

// glyph is the sign of an execution's end.
func (t theme) glyph(status domain.ExecutionStatus) string {
	switch status {
	case domain.StatusCompleted:
		return t.good("✓")
	case domain.StatusFailed:
		return t.bad("✗")
	case domain.StatusStopped:
		return t.warn("■")
	case domain.StatusPending, domain.StatusInProgress:
	}
	return t.faint("·")
}
