package chat

import (
	"cmp"
	"time"

	"everstep/starter/client"
	"everstep/starter/render"
)

// A decision is a person's word about a call.
type decision struct {
	word client.Word
	// of is the sub-agent whose call it is; empty: it is the agent's own.
	of string
}

// asks are the calls that wait for a person's word.
type asks struct {
	waiting
}

// panel shows the call of an agent, or of the sub-agent that waiter names, that is asked about, in at most so many lines.
// whole: all of what would run is there.
func (a *asks) panel(id, waiter string, theme render.Theme, now time.Time, width, most int) (lines []string, whole bool) {
	call, ok := a.first()
	if !ok {
		return nil, false
	}
	call.ID = cmp.Or(waiter, id)
	lines = wrapped(render.Waiting([]client.WaitingCall{call}, now), "  ", "  ", width)
	whole = call.Whole()
	if len(lines) > most-1 {
		lines, whole = append(lines[:max(most-2, 0)], theme.Warn(fitted("  … not all of it fits here", width))), false
	}
	return lines, whole
}

// keys are what can be said about it.
func (a *asks) keys(theme render.Theme, whole bool, width int) []string {
	text := "Enter after y runs it · a always · e edits it · n [WHY] does not · d later"
	if !whole {
		text = "only a part is shown, so y and a do not count · e edits it · n [WHY] does not · d later"
	}
	return painted(theme.Warn, wrapped(text, "  ", "  ", width))
}

// of is the sub-agent whose call is asked about; empty: it is the agent's own, or none is.
func (a *asks) of() string {
	call, _ := a.first()
	return call.ID
}
