package chat

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/starter/client"
)

// waiting is what waits for the person here, of one kind: calls for their word, or questions for their answer. The first is
// shown, those that were put aside are not.
type waiting struct {
	pending []client.WaitingCall
	// aside are those about which the person says something later, and under is the one about which a word is under way.
	aside map[domain.ToolExecutionID]bool
	under domain.ToolExecutionID
	// shown is since when the first of them, on, can be read.
	shown time.Time
	on    domain.ToolExecutionID
}

// tooSoon is within what time nobody has read what waits: what comes then was typed for something else.
const tooSoon = 500 * time.Millisecond

// told takes what waits now.
func (w *waiting) told(pending []client.WaitingCall, now time.Time) {
	w.pending = pending
	w.show(now)
}

// show notes since when the first is shown.
func (w *waiting) show(now time.Time) {
	if one, ok := w.first(); ok && one.ToolExecutionID != w.on {
		w.on, w.shown = one.ToolExecutionID, now
	} else if !ok {
		w.on = domain.ToolExecutionID{}
	}
}

// first is the one that the person is asked about.
func (w *waiting) first() (one client.WaitingCall, ok bool) {
	at := slices.IndexFunc(w.pending, func(one client.WaitingCall) bool {
		return !w.aside[one.ToolExecutionID] && one.ToolExecutionID != w.under
	})
	if at < 0 {
		return one, false
	}
	return w.pending[at], true
}

// begin notes that the person's word about one is under way, and failed that nothing came of it.
func (w *waiting) begin(id domain.ToolExecutionID, now time.Time) {
	w.under = id
	w.show(now)
}

func (w *waiting) failed(now time.Time) { w.begin(domain.ToolExecutionID{}, now) }

// has reports whether one waits still.
func (w *waiting) has(id domain.ToolExecutionID) bool {
	return slices.ContainsFunc(w.pending, func(one client.WaitingCall) bool { return one.ToolExecutionID == id })
}

// drop forgets one that waits no more.
func (w *waiting) drop(id domain.ToolExecutionID, now time.Time) {
	w.pending = slices.DeleteFunc(slices.Clone(w.pending), func(one client.WaitingCall) bool { return one.ToolExecutionID == id })
	if w.under == id {
		w.under = domain.ToolExecutionID{}
	}
	w.show(now)
}

// later puts one aside, and again asks about all.
func (w *waiting) later(id domain.ToolExecutionID, now time.Time) {
	if w.aside == nil {
		w.aside = map[domain.ToolExecutionID]bool{}
	}
	w.aside[id] = true
	w.show(now)
}

func (w *waiting) again(now time.Time) {
	w.aside = nil
	w.show(now)
}

// open counts those that nobody has said anything about.
func (w *waiting) open() int {
	return len(slices.DeleteFunc(slices.Clone(w.pending), func(one client.WaitingCall) bool { return one.ToolExecutionID == w.under }))
}
