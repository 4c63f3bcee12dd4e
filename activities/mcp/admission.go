package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

const (
	// maxAsked bounds what a server may ask at one time, maxNotices how many of its
	// notices are read in a second. More of those are left out.
	maxAsked   = 64
	maxNotices = 200
	// maxAsk bounds one of them in bytes: of a longer request its contents are left out, and so is a longer notice.
	maxAsk = 64 << 10
	// answerPatience bounds the request over HTTP by which one is answered, askPatience how long the next
	// waits for one of so many to end.
	answerPatience = 30 * time.Second
	askPatience    = 5 * time.Second
)

var errAsksTooMuch = errors.New("it asks more than " + strconv.Itoa(maxAsked) + " things at one time")

// An admission decides what of a server's own notices is heard: the SDK keeps all that
// it reads until it comes to it.
type admission struct{ notices *rate.Limiter }

func newAdmission() admission { return admission{rate.NewLimiter(maxNotices, maxNotices)} }

// admit reports whether a notice is heard.
func (a admission) admit(notice *jsonrpc.Request, size int) bool {
	return notice.Method != "notifications/message" && size <= maxAsk && a.notices.Allow() // a program's log is its standard error
}

// flooded reports whether no more notices are heard just now.
func (a admission) flooded() bool { return a.notices.Tokens() < 1 }

// shorten leaves out the contents of a request that is too long: nothing so long is ever given.
func shorten(request *jsonrpc.Request, size int) {
	if size > maxAsk {
		request.Params = json.RawMessage("{}")
	}
}

// admitting is the SDK's transport over HTTP, whose connection hears of a server what is admitted.
type admitting struct {
	*sdk.StreamableClientTransport
	version *version
}

// Connect implements the SDK's transport.
func (t admitting) Connect(ctx context.Context) (sdk.Connection, error) {
	made, err := t.StreamableClientTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &hearing{Connection: made, admission: newAdmission(), version: t.version, asked: make(chan struct{}, maxAsked), closed: make(chan struct{})}, nil
}

// A hearing is a connection over HTTP. Many calls share it, each of which may rightly ask something at the same
// time: so one question too many waits, and ends the connection only where no other is answered meanwhile.
type hearing struct {
	sdk.Connection
	admission
	pending
	version *version

	// asked has the requests of the server that have no answer yet.
	asked   chan struct{}
	closing sync.Once
	closed  chan struct{}
}

// Read returns the next message that is heard.
func (h *hearing) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		message, err := h.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		request, ok := message.(*jsonrpc.Request)
		switch {
		case !ok:
			answer, _ := message.(*jsonrpc.Response) // there is nothing else
			if answer = h.answered(answer); answer != nil {
				h.version.learn(answer)
				return answer, nil
			}
		case request.IsCall():
			shorten(request, len(request.Params))
			return request, h.question(ctx)
		case h.admit(request, len(request.Params)):
			return request, nil
		}
	}
}

// question waits until one more question may be open.
func (h *hearing) question(ctx context.Context) error {
	select {
	case h.asked <- struct{}{}:
		return nil
	case <-time.After(askPatience):
		return errAsksTooMuch
	case <-h.closed:
		return errors.New("the connection is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Write sends a message. An answer that the server does not take is given up.
func (h *hearing) Write(ctx context.Context, message jsonrpc.Message) error {
	if _, ok := message.(*jsonrpc.Response); !ok {
		h.sent(message)
		return h.Connection.Write(ctx, message)
	}
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	defer func() {
		select {
		case <-h.asked:
		default: // to what was never asked
		}
	}()
	return h.Connection.Write(ctx, message)
}

// Close implements the SDK's connection.
func (h *hearing) Close() error {
	h.closing.Do(func() { close(h.closed) })
	return h.Connection.Close()
}

// A version is that of the protocol which a connection speaks. The SDK tells it to no connection but its own.
type version struct{ said atomic.Value }

const versionHeader = "Mcp-Protocol-Version"

// learn takes it from the answer to the first request.
func (v *version) learn(message jsonrpc.Message) {
	answer, ok := message.(*jsonrpc.Response)
	if !ok || v.said.Load() != nil || answer.Error != nil {
		return
	}
	var first struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(answer.Result, &first) == nil && first.Version != "" {
		v.is(first.Version)
	}
}

func (v *version) is(said string) { v.said.CompareAndSwap(nil, said) }

// add puts it on a request that has none.
func (v *version) add(request *http.Request) {
	if said, ok := v.said.Load().(string); ok && request.Header.Get(versionHeader) == "" {
		request.Header.Set(versionHeader, said)
	}
}
