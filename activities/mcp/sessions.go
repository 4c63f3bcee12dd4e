package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/activities/tool"
	"everstep/domain"
)

// MostSessions bounds the sessions of a worker with stateful servers: each may be a program of its own.
const MostSessions = 64

// sessions are those that agents have with stateful servers, each for itself.
type sessions struct {
	mu   sync.Mutex
	open map[string]*session
	// ending are those on their way out.
	ending sync.WaitGroup
	closed bool
	// most is MostSessions, but in tests, idle how long a session may be without a call before it is ended.
	most int
	idle time.Duration
}

// A session is a server with one connection, which is of one agent and is never made anew.
type session struct {
	*server
	agent string
	timer *time.Timer
}

// Bind opens a session with a stateful server for an agent, in the place of one that it may have there, and names it. Its
// error is of a kind that another worker may not meet.
func (s *Servers) Bind(ctx context.Context, name, agent string) (id string, err error) {
	server := s.all[name]
	if server == nil || !server.config.Stateful {
		return "", domain.CodedErrorf(domain.Unavailable, domain.CodeUnknownTool, "this worker has no stateful MCP server %q", domain.Shorten(name, maxToolName))
	}
	made := &session{server: newServer(server.config, server.options), agent: agent}
	made.single = true
	defer made.works()() // it is not idle
	if id, err = s.sessions.add(made); err != nil {
		return "", err
	}
	l, err := made.link(ctx)
	if err != nil {
		s.Unbind(id, agent)
		return "", err
	}
	if l.program != nil {
		go func() { // a call that comes later is then surely not made
			<-l.program.process.Done()
			made.lost(l)
		}()
	}
	return id, nil
}

// add makes room for a session that is to be opened, and names it. An earlier one of the agent with the same server is ended,
// unless calls are under way in it: whoever takes it for lost is wrong.
func (s *sessions) add(made *session) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, old := range s.open {
		switch own, over := old.agent == made.agent && old.config.Name == made.config.Name, old.lostFor() != nil; {
		case own && !over && old.unused() == 0:
			return "", domain.Errorf(domain.Throttled, "calls of the agent's session before are still under way on this worker; wait for their end")
		case own || over:
			s.drop(id)
		}
	}
	switch {
	case s.closed:
		return "", domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "the worker is stopping")
	case len(s.open) >= s.most:
		return "", domain.Errorf(domain.Throttled, "this worker has as many sessions with stateful MCP servers as it may, %d; "+
			"close agents that have one and need it no more, wait until one has been idle for %s, or start another worker", s.most, s.idle)
	}
	id = uuid.NewString()
	made.timer = time.AfterFunc(s.idle, func() { s.expire(id) })
	s.open[id] = made
	return id, nil
}

// expire ends a session that has been idle, or comes back when it may have been.
func (s *sessions) expire(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.open[id]
	if one == nil {
		return
	}
	if left := s.idle - one.unused(); left > 0 {
		one.timer.Reset(left)
	} else {
		s.drop(id)
	}
}

// drop ends a session while others go on. The lock is held.
func (s *sessions) drop(id string) {
	one := s.open[id]
	delete(s.open, id)
	one.timer.Stop()
	s.ending.Go(one.close)
}

// find is the session of an agent; nil: it has none of that name.
func (s *sessions) find(id, agent string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[id]; one != nil && one.agent == agent {
		return one
	}
	return nil
}

// close ends all, and returns when they are gone.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	for id := range s.open {
		s.drop(id)
	}
	s.mu.Unlock()
	s.ending.Wait()
}

// In returns a tool as it is in an agent's session. Its error, and that of a call of the tool, is marked by
// tool.SessionLost where the session is gone, and else as Find's.
func (s *Servers) In(ctx context.Context, id, agent, name string) (tool.Tool, error) {
	own := s.sessions.find(id, agent)
	if own == nil {
		return tool.Tool{}, tool.SessionLost(domain.Errorf(domain.Unavailable,
			"its worker does not have it any more; one that is not used for %s is ended", s.sessions.idle))
	}
	found, err := own.find(ctx, name)
	return found, tool.NotStarted(err)
}

// Unbind ends a session of an agent, if it has it.
func (s *Servers) Unbind(id, agent string) {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	if one := s.sessions.open[id]; one != nil && one.agent == agent {
		s.sessions.drop(id)
	}
}

// Stateful reports whether a server, or any where the name is empty, keeps state for each agent.
func (s *Servers) Stateful(name string) bool {
	for _, one := range s.all {
		if one.config.Stateful && (name == "" || one.config.Name == name) {
			return true
		}
	}
	return false
}

// breaks reports whether a connection is given up for an error that is no answer: an agent's session over HTTP only where
// it is gone.
func (s *server) breaks(l *link, err error) bool {
	switch {
	case l.program != nil:
		return l.lost()
	case s.single:
		return errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, sdk.ErrConnectionClosed)
	}
	return !answered(err)
}

// lostFor is why an agent's session was lost; nil: it was not, or it is none.
func (s *server) lostFor() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// works notes that a call is under way until the function that it returns is called.
func (s *server) works() (ended func()) {
	note := func(calls int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls, s.used = s.calls+calls, time.Now()
	}
	note(1)
	return func() { note(-1) }
}

// unused is for how long no call has been under way; zero: one is.
func (s *server) unused() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls > 0 {
		return 0
	}
	return time.Since(s.used)
}
