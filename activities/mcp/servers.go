package mcp

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"everstep/activities/tool"
	"everstep/domain"
)

// Options are what a worker lends to its servers.
type Options struct {
	// Secret looks up what ${NAME} stands for. It is asked each time that a server is
	// started, and for each request over HTTP.
	Secret func(name string) (string, error)
	// Redact takes secrets out of the error of a server that fails.
	Redact func(text string) string
	// Said takes them out of what a server says of itself, but for those that are too short to be keys.
	Said func(text string) string
	// Hide is told each token that a server is given as a secret, Keep what the file of its variables holds: these are so many
	// that they must not take the place of others.
	Hide, Keep func(secret string)
	// Root is the folder that servers are told to work in. Empty: they are told none.
	Root string
	// Log gets what servers write to their standard error, and how they end. Nil: nobody.
	Log Log

	// fresh is how long a list of tools is taken as it is, silence how long a server may say nothing before who waits is told.
	fresh, silence time.Duration
	// most and idle bound the sessions with stateful servers.
	most int
	idle time.Duration
}

// A Log takes messages with keys and values.
type Log interface {
	Debug(message string, keyvals ...any)
	Warn(message string, keyvals ...any)
}

// Servers are the MCP servers of a worker. They are started and reached when they
// are needed first, and again after they broke. It is safe for concurrent use.
type Servers struct {
	all      map[string]*server
	names    []string
	sessions sessions
}

// Open starts nothing. A server with a Problem is not started later either, and the log says so.
func Open(configs []Server, options Options) *Servers {
	options.fresh, options.silence = cmp.Or(options.fresh, 15*time.Second), cmp.Or(options.silence, 5*time.Second)
	s := &Servers{all: map[string]*server{}, sessions: sessions{
		open: map[string]*session{}, most: cmp.Or(options.most, MostSessions), idle: cmp.Or(options.idle, 30*time.Minute),
	}}
	for _, config := range configs {
		one := newServer(config, options)
		if s.all[config.Name], s.names = one, append(s.names, config.Name); config.Problem != "" {
			one.warn("MCP server is not started", "problem", config.Problem)
		}
		for _, note := range config.Notes {
			one.warn("MCP server is used otherwise than its file says", "note", note)
		}
	}
	return s
}

// Names are those of the servers, in the order of their file.
func (s *Servers) Names() []string { return slices.Clone(s.names) }

// Prefixes say how the names of the tools begin, for messages.
func (s *Servers) Prefixes() []string {
	var all []string
	for _, name := range s.names {
		all = append(all, name+separator+"…")
	}
	return all
}

// Has reports whether a name is that of a tool of one of the servers, which may have
// no such tool.
func (s *Servers) Has(name string) bool {
	server, ok := domain.ServerOf(name)
	return ok && s.all[server] != nil
}

// Effect is what the configuration says of a tool, as far as it can be told without
// asking its server.
func (s *Servers) Effect(name string) domain.Effect {
	server, _ := domain.ServerOf(name)
	own := s.all[server]
	if own == nil {
		return domain.AtMostOnce
	}
	configured := ""
	for known := range own.config.Tools {
		if ToolName(server, known) == name {
			configured = known
		}
	}
	config, _ := own.config.allowed(configured)
	return config.Effect
}

// Find asks a server for a tool as it is now. Its error says whether another try
// may help, and is marked by tool.NotStarted.
func (s *Servers) Find(ctx context.Context, name string) (tool.Tool, error) {
	prefix, _ := domain.ServerOf(name)
	server, err := s.named(prefix)
	if err != nil {
		return tool.Tool{}, err
	}
	found, err := server.find(ctx, name)
	return found, tool.NotStarted(err)
}

// named is a server that the worker has.
func (s *Servers) named(name string) (*server, error) {
	if own := s.all[name]; own != nil {
		return own, nil
	}
	return nil, tool.NotStarted(domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "this worker has no MCP server %q", domain.Shorten(name, maxToolName)))
}

// All asks a server for all tools that agents may have of it, as they are now. One that
// is of no use is left out, and named in the log and by Examine.
func (s *Servers) All(ctx context.Context, name string) ([]tool.Tool, error) {
	server, err := s.named(name)
	if err != nil {
		return nil, err
	}
	found, err := server.everything(ctx)
	return found, tool.NotStarted(err)
}

// LastWords are what the program of a server has written last, behind a semicolon; empty: nothing, or it is none.
func (s *Servers) LastWords(name string) string {
	if own := s.all[name]; own != nil {
		return own.lastWords(0)
	}
	return ""
}

// Close ends all servers, and returns when they are gone.
func (s *Servers) Close() {
	var all sync.WaitGroup
	all.Go(s.sessions.close)
	for _, one := range s.all {
		all.Go(one.close)
	}
	all.Wait()
}

// A server is one of them, with its connection.
type server struct {
	config  Server
	options Options
	// progress is heard of calls over all connections, and so is what it asked for.
	progress listeners

	mu sync.Mutex
	// unread and unusable are the tools of the latest lists that no agent has, which the log has named.
	unread, unusable []unreadTool
	// live is the connection; nil: there is none.
	live *link
	// tries is one try to connect, or none.
	tries singleflight.Group
	// failed is why the last try failed, and again when the next may be made.
	failed   error
	failures int
	again    time.Time
	closed   bool
	// reached says that it was there once: what keeps its program from starting now may pass.
	reached atomic.Bool
	// newest is the program that was started last; nil: none was.
	newest atomic.Pointer[program]
	// ending are connections on their way out.
	ending sync.WaitGroup

	// single says that the connection is an agent's session: once lost it is not made anew. over is why it was lost.
	single bool
	over   error
	// calls counts those under way, and used is when the newest of them began or ended.
	calls int
	used  time.Time
}

func newServer(config Server, options Options) *server {
	options.Secret = config.orDefault(options.Secret)
	return &server{config: config, options: options, used: time.Now()}
}

// firstPause is between the first tries to reach a server that failed.
const firstPause = 500 * time.Millisecond

// link returns the connection, and makes one where there is none: one try for all
// who wait, and none for a while after one that failed.
func (s *server) link(ctx context.Context) (*link, error) {
	if l, err := s.current(); l != nil || err != nil {
		return l, err
	}
	select {
	case tried := <-s.try(ctx):
		l, _ := tried.Val.(*link)
		return l, tried.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// try is what comes of one try to connect, or of that which is under way.
func (s *server) try(ctx context.Context) <-chan singleflight.Result {
	return s.tries.DoChan("", func() (any, error) { return s.dial(context.WithoutCancel(ctx)) })
}

// current is the connection that there is, or why none is made now. Neither: one is to be made.
func (s *server) current() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.config.Problem != "" || s.config.Disabled:
		return nil, s.unknown("is not started: %s", cmp.Or(s.config.Problem, "its file says disabled; take that out"))
	case s.closed:
		return nil, s.unavailable("is not started: the worker stops")
	case s.live == nil && s.over == nil && time.Now().Before(s.again):
		return nil, s.failed
	}
	return s.live, s.over
}

func (s *server) dial(ctx context.Context) (*link, error) {
	if l, err := s.current(); l != nil || err != nil { // another try has just ended
		return l, err
	}
	made, err := s.connect(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.failures++
		s.again = time.Now().Add(min(firstPause<<min(s.failures-1, 10), 30*time.Second))
		s.failed = err
		s.warn("MCP server cannot be reached", "error", err.Error())
	case s.closed:
		s.ending.Go(made.close)
		return nil, s.unavailable("is not started: the worker stops")
	default:
		s.failures, s.live = 0, made
		s.reached.Store(true)
	}
	return made, err
}

// drop ends the connection, if there is one, while others go on. The lock is held.
func (s *server) drop() {
	if old := s.live; old != nil {
		s.live = nil
		if s.single {
			s.over = tool.SessionLost(domain.Errorf(domain.Unavailable, "%s", old.ended()))
		}
		old.dead.Store(true)
		s.ending.Go(old.close)
	}
}

// lost drops a connection that has broken, unless it was already replaced.
func (s *server) lost(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == l {
		s.drop()
	}
}

func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	s.drop()
	s.mu.Unlock()
	select {
	case <-s.try(context.Background()): // one that is under way has ended, and another makes nothing
	case <-time.After(leave): // its program ends with the worker
	}
	s.ending.Wait()
}

func (s *server) warn(message string, keyvals ...any) {
	if s.options.Log != nil {
		s.options.Log.Warn(message, append([]any{"server", s.config.Name}, keyvals...)...)
	}
}

func (s *server) complain(line string) {
	if s.options.Log != nil {
		s.options.Log.Debug("MCP server says", "server", s.config.Name, "text", line)
	}
}

func (s *server) errorf(kind domain.Kind, format string, args ...any) *domain.Error {
	return domain.Errorf(kind, "MCP server %s "+format, append([]any{s.config.Name}, args...)...)
}

func (s *server) unavailable(format string, args ...any) *domain.Error {
	return s.errorf(domain.Unavailable, format, args...)
}

// unknown is the error of what the server does not have for agents.
func (s *server) unknown(format string, args ...any) *domain.Error {
	made := s.errorf(domain.Invalid, format, args...)
	made.Code = domain.CodeUnknownTool
	return made
}
