package mcp

import (
	"context"
	"encoding/json"
	"errors"
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
)

var errAsksTooMuch = errors.New("it asks more than " + strconv.Itoa(maxAsked) + " things at one time")

// A hearing is the transport to a server, over HTTP or to a program, and its connection, used once. The SDK hears by it what is
// admitted of the server's own requests and notices, and answers to what was asked, as it can decode them.
type hearing struct {
	sdk.Connection
	transport sdk.Transport
	// notices bounds how many of a server's are heard: the SDK keeps all that it reads until it comes to it.
	notices *rate.Limiter
	// version is a text: the version of the protocol that the connection speaks. The SDK tells it to no connection but its own.
	version *atomic.Value
	// asked has the requests of the server that have no answer yet. Many calls share the connection, each of which may rightly
	// ask something at the same time: so one question too many waits, and ends the connection only where no other is answered
	// meanwhile.
	asked chan struct{}

	mu sync.Mutex
	// open are our requests that have no answer yet.
	open map[jsonrpc.ID]openRequest
}

// An openRequest is of a method, and of a sending where somebody looks at it.
type openRequest struct {
	method  string
	sending *sending
}

func newHearing() *hearing {
	return &hearing{
		notices: rate.NewLimiter(maxNotices, maxNotices), version: new(atomic.Value),
		asked: make(chan struct{}, maxAsked), open: map[jsonrpc.ID]openRequest{},
	}
}

// Connect implements the SDK's transport.
func (h *hearing) Connect(ctx context.Context) (_ sdk.Connection, err error) {
	h.Connection, err = h.transport.Connect(ctx)
	return h, err
}

// Read returns the next message that is heard.
func (h *hearing) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		message, err := h.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		if answer, ok := message.(*jsonrpc.Response); ok {
			if answer = h.answered(answer); answer != nil {
				return answer, nil
			}
			continue // it answers nothing that was asked
		}
		request, _ := message.(*jsonrpc.Request) // there is nothing else
		long := len(request.Method)+len(request.Params) > maxAsk
		switch {
		case request.IsCall():
			if long {
				request.Params = json.RawMessage("{}") // nothing so long is ever given
			}
			return request, h.question(ctx)
		case !long && request.Method != "notifications/message" && h.notices.Allow(): // a program's log is its standard error
			return request, nil
		}
	}
}

// question waits until one more question may be open.
func (h *hearing) question(ctx context.Context) error {
	select {
	case h.asked <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Second):
	}
	if p, ok := h.Connection.(*program); ok {
		return p.failed(errAsksTooMuch)
	}
	return errAsksTooMuch
}

// Write sends a message. An answer that a server over HTTP does not take is given up.
func (h *hearing) Write(ctx context.Context, message jsonrpc.Message) error {
	if request, ok := message.(*jsonrpc.Request); ok {
		h.sent(ctx, request)
		made := onWire(ctx, request)
		return h.Connection.Write(context.WithValue(ctx, requestKey{}, made), made)
	}
	if _, ok := h.Connection.(*program); !ok { // a program that is busy reads it later
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
	}
	defer func() {
		select {
		case <-h.asked:
		default: // to what was never asked
		}
	}()
	return h.Connection.Write(ctx, message)
}

// requestKey is under which a context has the request that is written, also where the stream of its answer is resumed.
type requestKey struct{}

// sent notes a request, and forgets one that is taken back.
func (h *hearing) sent(ctx context.Context, request *jsonrpc.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var taken struct {
		ID any `json:"requestId"`
	}
	switch {
	case request.IsCall():
		h.open[request.ID] = openRequest{request.Method, sendingOf(ctx)}
	case request.Method == "notifications/cancelled" && json.Unmarshal(request.Params, &taken) == nil:
		id, _ := jsonrpc.MakeID(taken.ID)
		delete(h.open, id)
	}
}

// answered is an answer as the SDK can decode it. nil: it answers nothing that was asked.
func (h *hearing) answered(answer *jsonrpc.Response) *jsonrpc.Response {
	h.mu.Lock()
	defer h.mu.Unlock()
	answer = &jsonrpc.Response{ID: numbered(answer.ID), Result: answer.Result, Error: answer.Error} // the transport still looks at what came
	if !answer.ID.IsValid() && len(h.open) == 1 {
		for only := range h.open {
			answer.ID = only // a server that could not read a request answers it without an id
		}
	}
	asked, ok := h.open[answer.ID]
	if !ok {
		return nil
	}
	delete(h.open, answer.ID)
	return h.decodable(asked, answer)
}

// decodable is the answer to a request as the SDK can decode it. Its type of a call's result drops what an answer says of tasks,
// and is too strict: so the sending has what came, and the SDK gets an empty one.
func (h *hearing) decodable(asked openRequest, answer *jsonrpc.Response) *jsonrpc.Response {
	if said, ok := errors.AsType[*jsonrpc.Error](answer.Error); ok && !absent(answer.Result) && said.Code == 0 && said.Message == "" {
		answer.Error = nil // a field that is filled in
	}
	if answer.Error == nil && len(answer.Result) == 0 {
		answer.Error = unread("it has neither a result nor an error")
	}
	if answer.Error != nil {
		return answer
	}
	switch asked.method {
	case "ping":
		answer.Result = json.RawMessage("{}")
	case "initialize":
		var version string
		if answer.Result, version, answer.Error = greetingIn(answer.Result); answer.Error == nil {
			h.version.CompareAndSwap(nil, version)
		}
	case methodList:
		answer.Result, answer.Error = listIn(answer.Result)
	}
	if nesting(answer.Result) > maxNesting+3 { // a list has its tools so deep in it
		answer.Error = tooDeep()
		return answer
	}
	result := answer.Result
	asked.sending.note(func(s *sending) { s.result = result })
	if asked.method == methodCall {
		answer.Result = json.RawMessage(`{"content":[]}`)
	}
	return answer
}
