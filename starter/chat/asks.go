package chat

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
)

// A decision is a person's word about a call.
type decision struct {
	word   client.Word
	denied bool
}

// asks are the calls that wait for a person's word.
type asks struct {
	pending []domain.PendingApproval
	// aside are those that are decided later.
	aside map[domain.ToolExecutionID]bool
	// shown is since when the first of them can be read.
	shown time.Time
	on    domain.ToolExecutionID
	// deciding is the call about which a word is under way.
	deciding domain.ToolExecutionID
}

// tooSoon is within what time nobody has read a call: what comes then was typed for something else.
const tooSoon = 500 * time.Millisecond

// told takes what waits now.
func (a *asks) told(pending []domain.PendingApproval, now time.Time) {
	a.pending = pending
	a.show(now)
}

// show notes since when the call is shown that is asked about.
func (a *asks) show(now time.Time) {
	if call, ok := a.first(); ok && call.ToolExecutionID != a.on {
		a.on, a.shown = call.ToolExecutionID, now
	} else if !ok {
		a.on = domain.ToolExecutionID{}
	}
}

// drop forgets a call that was decided.
func (a *asks) drop(id domain.ToolExecutionID, now time.Time) {
	a.pending = slices.DeleteFunc(slices.Clone(a.pending), func(p domain.PendingApproval) bool { return p.ToolExecutionID == id })
	if a.deciding == id {
		a.deciding = domain.ToolExecutionID{}
	}
	a.show(now)
}

// first is the call that is asked about.
func (a *asks) first() (domain.PendingApproval, bool) {
	for _, p := range a.pending {
		if !a.aside[p.ToolExecutionID] && p.ToolExecutionID != a.deciding {
			return p, true
		}
	}
	return domain.PendingApproval{}, false
}

// later puts the call aside that is asked about, and again asks about all.
func (a *asks) later(id domain.ToolExecutionID, now time.Time) {
	if a.aside == nil {
		a.aside = map[domain.ToolExecutionID]bool{}
	}
	a.aside[id] = true
	a.show(now)
}

func (a *asks) again(now time.Time) {
	a.aside = nil
	a.show(now)
}

// panel shows the call that is asked about, in at most so many lines. whole: all of what would run is there.
func (a *asks) panel(id string, theme render.Theme, now time.Time, width, most int) (lines []string, whole bool) {
	call, ok := a.first()
	if !ok {
		return nil, false
	}
	text := render.Waiting([]client.WaitingCall{{ID: id, PendingApproval: call}}, now)
	lines = wrapped(text, "  ", "  ", width)
	whole = call.Known() && call.Bytes == 0
	if len(lines) > most-1 {
		lines, whole = append(lines[:max(most-2, 0)], theme.Warn(fitted("  … not all of it fits here", width))), false
	}
	keys := "y runs it · a always · e edits it · n does not · d later"
	if !whole {
		keys = "only a part is shown, so y and a do not count · e edits it · n does not · d later"
	}
	return append(lines, theme.Warn(fitted("  "+keys, width))), whole
}
