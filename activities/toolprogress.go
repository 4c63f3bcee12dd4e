package activities

import (
	"cmp"
	"strings"
	"sync/atomic"

	"everstep/domain"
	"everstep/domain/contract"
)

// A toolProgress is what a tool has told of its progress in a call.
type toolProgress struct {
	tool string
	hide func(string) string
	// heard has a value when something was told since it was last read.
	heard chan struct{}

	text atomic.Pointer[string]
}

// tell takes what may be too long, of many lines or secret.
func (p *toolProgress) tell(text string) {
	text = domain.Shorten(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "), 4*contract.MaxProgress)
	p.text.Store(&text)
	select {
	case p.heard <- struct{}{}:
	default:
	}
}

// newest is what was told last; nil: nothing was.
func (p *toolProgress) newest() *contract.Progress {
	text := *cmp.Or(p.text.Load(), new(string))
	if text == "" {
		return nil
	}
	// Hidden before it is cut, which could leave half of a secret.
	return &contract.Progress{Tool: domain.Shorten(p.tool, 64), Text: domain.Shorten(p.hide(text), contract.MaxProgress)}
}
