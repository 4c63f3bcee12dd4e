package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A sending is how far a request got. The transports note it: the SDK's
// errors do not say whether a request may have reached its server, nor whether they are of this request, of one that
// resumes the stream of its answer, or of another call on the same connection.
type sending struct {
	// ofCall says that it is of an agent's call, and has what headers say of that agent.
	ofCall bool
	// asTask says that it asks for a task in which the server goes on with the call.
	asTask bool

	mu sync.Mutex
	progressed
	// read is what was read of its answer.
	read atomic.Int64
}

// progressed is what is known of it by now.
type progressed struct {
	// begun says that a byte of it may have left.
	begun bool
	// status is of the HTTP response to the request itself; zero: there was none. wait is what it asks to wait, hint what it
	// says of what would be right.
	status int
	wait   time.Duration
	hint   string
	// tokenLater says that an authorization server failed in a way that passes, of which the SDK's error does not tell.
	tokenLater bool
	// result is what came of the newest request.
	result json.RawMessage
}

type sendingKey struct{}

func withSending(ctx context.Context, ofCall bool) (context.Context, *sending) {
	s := &sending{ofCall: ofCall}
	return context.WithValue(ctx, sendingKey{}, s), s
}

// sendingOf is the request that a context is of, nil where nobody looks at it.
func sendingOf(ctx context.Context) *sending {
	s, _ := ctx.Value(sendingKey{}).(*sending)
	return s
}

func (s *sending) note(change func(*sending)) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		change(s)
	}
}

func (s *sending) sofar() progressed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progressed
}

// words are a status that refuses, with its hint.
func (p progressed) words() string {
	return fmt.Sprintf("%d %s%s", p.status, http.StatusText(p.status), p.hint)
}

// keepsOut reports whether the server does not let in who asks.
func (p progressed) keepsOut() bool {
	return p.status == http.StatusUnauthorized || p.status == http.StatusForbidden
}

// forgotten reports whether the request itself was answered with the word that its session is gone.
func (p progressed) forgotten(err error) bool {
	return p.status == http.StatusNotFound && errors.Is(err, sdk.ErrSessionMissing)
}

// refusal is the server's own error as the answer to the request itself; nil: err is no such answer.
func (s *sending) refusal(err error) *jsonrpc.Error {
	status := s.sofar().status
	own, _ := errors.AsType[*jsonrpc.Error](err)
	// What an HTTP status rejects is another request, unless this one got such a status: one that resumes a stream.
	another := status < 300 && errors.Is(err, &jsonrpc.Error{Code: rejectedByTransport})
	if !answered(err) || another {
		return nil
	}
	return own
}
