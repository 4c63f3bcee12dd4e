package progress

import (
	"slices"
	"time"

	"everstep/domain/contract"
)

// A Session is one with a stateful server, from its opening to its end.
type Session struct {
	contract.Bound
	// EndedAt is when it was known to be gone, and Why it is. Zero: it is open, as far as is told.
	EndedAt time.Time
	Why     string
}

// Bound are the sessions that are open.
func (a Agent) Bound() (open []contract.Bound) {
	for _, s := range a.Sessions {
		if s.EndedAt.IsZero() {
			open = append(open, s.Bound)
		}
	}
	return open
}

// bound takes a session, in the place of another one with the same server.
func (a Agent) bound(b contract.Bound, at time.Time) Agent {
	if b.ID == "" || slices.ContainsFunc(a.Sessions, func(s Session) bool { return s.ID == b.ID }) {
		return a
	}
	a.Sessions = slices.Clone(a.Sessions)
	for i, s := range a.Sessions {
		if s.Server == b.Server && s.EndedAt.IsZero() {
			a.Sessions[i].EndedAt, a.Sessions[i].Why = at, b.Lost
		}
	}
	a.Sessions = append(a.Sessions, Session{Bound: b})
	return a
}

// calledIn notes what a call tells of the session in which it was to be made.
func (a Agent) calledIn(f ToolReplied, at time.Time) Agent {
	switch b := f.Tool.Bound; {
	case b == nil:
	case f.Reply.SessionLost != "":
		return a.unbound(*b, f.Reply.SessionLost, at)
	case !f.Reply.NotStarted:
		a.Sessions = slices.Clone(a.Sessions)
		for i, s := range a.Sessions {
			if s.ID == b.ID {
				a.Sessions[i].Lost = "" // the model knows
			}
		}
	}
	return a
}

// unbound notes that a session is gone.
func (a Agent) unbound(b contract.Bound, why string, at time.Time) Agent {
	a.Sessions = slices.Clone(a.Sessions)
	for i, s := range a.Sessions {
		if s.ID == b.ID && s.EndedAt.IsZero() {
			a.Sessions[i].EndedAt, a.Sessions[i].Why = at, why
		}
	}
	return a
}

func (a Agent) unboundAll(why string, at time.Time) Agent {
	for _, b := range a.Bound() {
		a = a.unbound(b, why, at)
	}
	return a
}
