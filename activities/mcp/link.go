package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/domain"
)

const (
	// connectPatience bounds the start of a server: a package manager may fetch it.
	connectPatience = 2 * time.Minute
	// listPatience bounds the listing of its tools.
	listPatience = 20 * time.Second
	// maxTools and maxPages bound what a server may list.
	maxTools = 1000
	maxPages = 100
)

// A link is one connection to a server. It is used until it breaks.
type link struct {
	server  string
	session *sdk.ClientSession
	// program is the one that was started; nil for one over HTTP.
	program *program
	// exited says that the program has ended by itself, before it was connected.
	exited bool
	fresh  time.Duration

	// listing is held by whoever lists.
	listing chan struct{}
	mu      sync.Mutex
	latest  catalog
	// dead says that it is not to be used again.
	dead atomic.Bool
	// version is that of the protocol.
	version string
}

// A catalog is what a server has listed at some time.
type catalog struct {
	tools []*sdk.Tool
	// unread are the tools that no agent has, with why not.
	unread []unreadTool
	at     time.Time
}

// connect starts or reaches a server. A program that ends at its start is started once more: one that does so again will each time.
func (s *server) connect(ctx context.Context) (*link, error) {
	for first := true; ; first = false {
		ctx, sent := withSending(ctx, false)
		began := time.Now()
		l, err := s.connectOnce(ctx)
		if err == nil {
			return l, nil
		}
		if l.exited && time.Since(began) < 10*time.Second && !s.single && !s.reached.Load() {
			if first {
				time.Sleep(firstPause) // whoever waits for the server may leave meanwhile
				continue
			}
			err = mistake{fmt.Errorf("%w, each time that it was started", err)}
		}
		refused := s.refused("cannot be reached", sent, err)
		if l.program != nil {
			refused.Message += s.lastWords(leave)
		}
		return nil, refused
	}
}

// connectOnce is one try of that. The link stays when ctx ends; one with an error is closed.
func (s *server) connectOnce(ctx context.Context) (*link, error) {
	within := connectPatience
	if s.config.URL != "" {
		within = listPatience // nothing has to be fetched
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	l := &link{server: s.config.Name, listing: make(chan struct{}, 1), fresh: s.options.fresh}
	h := newHearing()
	if s.config.URL != "" {
		h.transport = endpoint(s.config, s.options, h.version)
	} else {
		env, err := s.environment()
		if err != nil {
			return l, err
		}
		if l.program, err = startProgram(s.config, env, h.notices, s.complain); err != nil {
			return l, err
		}
		s.newest.Store(l.program)
		h.transport = l.program
	}
	var err error
	if l.session, err = s.client(l).Connect(ctx, h, nil); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it did not say within %s that it is ready", within)
		}
		if l.program == nil || !errors.Is(l.program.ended(), os.ErrClosed) {
			err = l.explain(err)
			l.exited = l.program != nil && !answered(err) && l.program.exited()
		}
		l.close()
		return l, err
	}
	said := l.session.InitializeResult()
	l.version = said.ProtocolVersion
	h.version.CompareAndSwap(nil, l.version)
	if odd := said.Meta[unreadKey]; odd != nil {
		s.warn("MCP server is not as the protocol has it", "problem", odd)
	}
	return l, nil
}

// lastWords says what the server's newest program, if there is one, has written last, until its end or for so long.
func (s *server) lastWords(patience time.Duration) string {
	p := s.newest.Load()
	if p == nil {
		return ""
	}
	select {
	case <-p.heard:
	case <-time.After(patience): // somebody else may have its standard error
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, line := range p.last {
		lines = append(lines, domain.Shorten(s.options.Redact(line), 150))
	}
	if lines == nil {
		return ""
	}
	return "; it last wrote: " + strings.Join(lines, " | ")
}

// client is this program, as a server sees it. It offers no sampling and no
// elicitation: whoever asks for them all the same is refused.
func (s *server) client(l *link) *sdk.Client {
	capabilities := &sdk.ClientCapabilities{}
	capabilities.AddExtension(tasksExtension, nil)
	if s.options.Root != "" {
		capabilities.RootsV2 = &sdk.RootCapabilities{}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "everstep", Version: "1"}, &sdk.ClientOptions{
		Capabilities:   capabilities,
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true}, // see server.supplied
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.latest.at = time.Time{} // so that they are listed anew before the next use
		},
		ProgressNotificationHandler: func(_ context.Context, said *sdk.ProgressNotificationClientRequest) {
			s.progress.heard(said.Params)
		},
	})
	client.AddReceivingMiddleware(s.refusing)
	learn(client)
	client.AddRoots(s.roots()...)
	return client
}

// roots is the worker's folder, where it has one.
func (s *server) roots() []*sdk.Root {
	if s.options.Root == "" {
		return []*sdk.Root{}
	}
	return []*sdk.Root{{URI: (&url.URL{Scheme: "file", Path: s.options.Root}).String(), Name: "root"}}
}

func (l *link) known() catalog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest
}

// list is what the server lists, not long ago. A server need not say when it
// changes, so it is asked again and again.
func (l *link) list(ctx context.Context) ([]*sdk.Tool, error) {
	select {
	case l.listing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.listing }()
	if known := l.known(); time.Since(known.at) < l.fresh {
		return known.tools, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	asked := time.Now()
	all, err := paged("tools", func(cursor string) ([]*sdk.Tool, string, error) {
		page, err := l.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		var whole struct{ Tools []*sdk.Tool }
		_ = json.Unmarshal(sendingOf(ctx).sofar().result, &whole) // the SDK, which has read it too, leaves out some without a word
		taken := map[string]bool{}
		for _, t := range page.Tools {
			taken[t.Name] = true
		}
		for _, t := range whole.Tools {
			if !taken[t.Name] && l.version >= versionOfExtensions {
				t.Meta[unreadKey] = "what its schema says of x-mcp-header is not as the protocol has it"
			}
		}
		return whole.Tools, page.NextCursor, nil
	})
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it has not answered within %s", listPatience)
		}
		return nil, l.explain(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	tools, unread := apart(l.server, all)
	l.latest = catalog{tools, unread, asked}
	return tools, nil
}

// paged is all that a server lists of something, page by page. What is wrong with the list itself is as an answer that cannot be read.
func paged[T any](what string, ask func(cursor string) (page []T, next string, err error)) (all []T, err error) {
	cursor, asked, anew := "", map[string]bool{"": true}, false
	for range maxPages {
		page, next, err := ask(cursor)
		said, refused := errors.AsType[*jsonrpc.Error](err)
		switch expired := refused && said.Code == jsonrpc.CodeInvalidParams && cursor != ""; {
		case expired && anew:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "it goes on with its " + what + " behind no cursor of its own: " + said.Message}
		case expired: // some forget where they were
			anew, cursor, asked, all = true, "", map[string]bool{"": true}, nil
			continue
		case err != nil:
			return nil, err
		}
		if all = append(all, page...); len(all) > maxTools {
			return nil, tooMany(what)
		}
		if asked[next] { // the end, or a page that was there before
			return all, nil
		}
		cursor, asked[next] = next, true
	}
	return nil, unread("it lists its %s on more than %d pages", what, maxPages)
}

func tooMany(what string) *jsonrpc.Error {
	return unread("it lists more than %d %s", maxTools, what)
}

// explain adds how a connection came to its end, where it did.
func (l *link) explain(err error) error {
	if l.lost() && !answered(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s", l.program.why())
	}
	return err
}

// lost reports whether the program's connection has come to its end. An answer that cannot be read is no such end.
func (l *link) lost() bool { return l.program != nil && l.program.ended() != nil }

// ended is why a connection that an agent had for itself is lost.
func (l *link) ended() string {
	if l.program != nil {
		return l.program.why()
	}
	return "its server has forgotten it, or cannot be reached any more"
}

// answered reports whether an error is the server's own answer, of one whose
// connection holds.
func answered(err error) bool {
	own, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && !errors.Is(err, sdk.ErrConnectionClosed) && own.Code != rejectedByTransport
}

// rejectedByTransport is the code that the SDK gives to errors on the way to a server.
const rejectedByTransport = -32005

// responds reports whether the server answers at all.
func (l *link) responds(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := l.session.Ping(ctx, nil)
	return err == nil || answered(err)
}

func (l *link) usable() bool { return !l.dead.Load() }

// close ends the connection and the program, and returns when that is gone. The
// session's own end may hang, and nothing depends on it.
func (l *link) close() {
	l.dead.Store(true)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if l.session != nil {
			_ = l.session.Close() // what is lost with it is nobody's
		}
	}()
	if l.program != nil {
		l.program.end()
		return
	}
	select {
	case <-over:
	case <-time.After(leave):
	}
}
