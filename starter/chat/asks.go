package chat

import (
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
	waiting[domain.PendingApproval]
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
	keys := "Enter after y runs it · a always · e edits it · n [WHY] does not · d later"
	if !whole {
		keys = "only a part is shown, so y and a do not count · e edits it · n [WHY] does not · d later"
	}
	return append(lines, theme.Warn(fitted("  "+keys, width))), whole
}
