package main

import (
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
