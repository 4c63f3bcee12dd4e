package client

import (
	"context"
	"slices"
	"sync"
)

// A standing is how far a watcher has read, and what it knows by then.
type standing struct {
	reducer *watchReducer
	link    *link
	// left is what was read and not looked at.
	left []delivery
}

// standings are those of sessions at the ends of the executions that were followed last: whoever follows the next execution
// goes on there, and does not read all that the session's run has recorded. It is safe for concurrent use.
type standings struct {
	mu  sync.Mutex
	all []leftStanding
}

type leftStanding struct {
	standing
	// session is the first run of the session, and number that of the execution that has ended.
	session string
	number  int
}

// mostStandings bounds them: each is some KB, and a program that follows more sessions at once reads on for the newest.
const mostStandings = 16

// take takes that of a session out, where it stands before an execution.
func (s *standings) take(session string, number int) (standing, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(l leftStanding) bool { return l.session == session && l.number < number })
	if i < 0 {
		return standing{}, false
	}
	taken := s.all[i].standing
	s.all = slices.Delete(s.all, i, i+1)
	return taken, true
}

// leave puts one in place of that of the same session, and of the oldest where there are too many.
func (s *standings) leave(l leftStanding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(other leftStanding) bool { return other.session == l.session })
	if s.all = append(s.all, l); len(s.all) > mostStandings {
		s.all = slices.Delete(s.all, 0, 1)
	}
}

// resume goes on where the session's execution before was left. It reports false where that is not known, or can no longer be
// gone on from, and nothing was given: then all is read from the beginning.
func (w *watcher) resume(ctx context.Context) (resumed bool, err error) {
	if w.name == "" || w.below {
		return false, nil
	}
	if w.standing, resumed = w.client.standings.take(w.firstRunID(), w.asked); !resumed {
		return false, nil
	}
	err = w.run(ctx)
	if err != nil && !w.given && ctx.Err() == nil {
		w.finished, w.ended = false, false
		return false, nil
	}
	return true, err
}

// remember leaves where it stands, once the execution has ended of a session that may go on.
func (w *watcher) remember() {
	if !w.ended || w.name == "" || w.below {
		return
	}
	w.left = slices.DeleteFunc(w.left, func(d delivery) bool { return d.err != nil }) // the reader was told to end
	w.client.standings.leave(leftStanding{w.standing, w.firstRunID(), w.asked})
}
