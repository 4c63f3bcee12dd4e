package providers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// stalls answers with some bytes and no more, and tells when the other side has
// closed the connection. Without a body there is not even a status.
func stalls(t *testing.T, body string, arrived func()) (s *server, closed <-chan struct{}) {
	t.Helper()
	gone := make(chan struct{})
	return serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if body != "" {
			write(w, http.StatusOK, body)
			_ = http.NewResponseController(w).Flush()
		}
		arrived()
		<-r.Context().Done()
		close(gone)
	}), gone
}

func (c Case) testSilence(t *testing.T) {
	t.Helper()
	const short = 100 * time.Millisecond
	for name, test := range map[string]struct {
		body, text string
		timeouts   wire.Timeouts
	}{
		"no byte":                {timeouts: wire.Timeouts{FirstByte: short}},
		"a comment and no event": {body: ": ping\n\n", timeouts: wire.Timeouts{Idle: short}},
		"half an answer":         {body: c.Text("hel", "lo").Open, text: "hello", timeouts: wire.Timeouts{Idle: short}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, closed := stalls(t, test.body, func() {})
			o := c.attempt(t.Context(), t, s, c.provider(t, s, test.timeouts))
			require.NotNil(t, o.Err)
			require.Equal(t, domain.Unavailable, o.Err.Kind)
			require.Equal(t, domain.CodeTimeout, o.Err.Code)
			require.True(t, o.Err.Billed)
			require.Equal(t, test.text, o.Answer.Message.Text())
			await(t, closed)
		})
	}
	t.Run("after a whole answer", func(t *testing.T) {
		t.Parallel()
		stream := c.Text("hel", "lo")
		s, closed := stalls(t, stream.Open+stream.End, func() {})
		o := c.attempt(t.Context(), t, s, c.provider(t, s, wire.Timeouts{Idle: short}))
		require.Nil(t, o.Err, "what is whole is not lost")
		hello(t, o)
		await(t, closed)
	})
}

// drips sends a body and then a piece over and over, until the other side hangs up.
func drips(t *testing.T, body, piece string) *server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		write(w, http.StatusOK, body)
		for tick := time.Tick(5 * time.Millisecond); r.Context().Err() == nil; <-tick {
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	})
}

// testNoProgress: what is no content does not keep an attempt alive.
func (c Case) testNoProgress(t *testing.T) {
	t.Helper()
	short := wire.Timeouts{Idle: 200 * time.Millisecond}
	begun := c.Text("hel", "lo")
	for name, test := range map[string]struct{ body, piece, text string }{
		"comments":                   {body: ": hi\n\n", piece: ": keep-alive\n\n"},
		"comments in the middle":     {body: begun.Open, piece: ": keep-alive\n\n", text: "hello"},
		"empty lines in the middle":  {body: begun.Open, piece: "\n", text: "hello"},
		"pings in the middle":        {body: begun.Open, piece: "event: ping\ndata: {\"type\":\"ping\"}\n\n", text: "hello"},
		"an event, byte by byte":     {body: begun.Open + "data: {", piece: " ", text: "hello"},
		"an answer of spaces":        {body: " ", piece: " "},
		"a whole body, byte by byte": {body: "{", piece: " "},
		"a page, byte by byte":       {body: "<html>", piece: " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := drips(t, test.body, test.piece)
			o := c.attempt(t.Context(), t, s, c.provider(t, s, short))
			require.NotNil(t, o.Err)
			require.Equal(t, domain.CodeTimeout, o.Err.Code, o.Err.Message)
			require.True(t, o.Err.Kind.Retryable())
			require.True(t, o.Err.Billed)
			require.Equal(t, test.text, o.Answer.Message.Text())
		})
	}
	for name, body := range map[string]string{"after the mark of the end": begun.Open + begun.End, "after all of it": begun.whole()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := drips(t, body, ": keep-alive\n\n")
			o := c.attempt(t.Context(), t, s, c.provider(t, s, short))
			require.Nil(t, o.Err, "what is whole is not lost")
			hello(t, o)
		})
	}
}

// testSlowProgress: an answer may take longer than the pauses inside it may.
func (c Case) testSlowProgress(t *testing.T) {
	t.Helper()
	beforeCall, pieceOfCall := split(c.Calls, "city")
	const pause, idle = 200 * time.Millisecond, time.Second
	for name, body := range map[string]string{
		"text":      c.Text(strings.Split("abcdefgh", "")...).whole(),
		"arguments": beforeCall + strings.Repeat(pieceOfCall, 8),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Slowly(t, pause, strings.SplitAfter(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n")...)
			p := c.opened(t, wire.Config{BaseURL: s.URL, Timeouts: wire.Timeouts{Idle: idle}})
			o := Attempt(t.Context(), t, p, c.call("hello"), nil)
			if name == "text" {
				require.Nil(t, o.Err)
			} else if o.Err != nil {
				require.NotEqual(t, domain.CodeTimeout, o.Err.Code, "arguments are content")
			}
		})
	}
}

func (c Case) testCancelled(t *testing.T) {
	t.Helper()
	stop := errors.New("stop")
	for name, body := range map[string]string{"before the status": "", "before an event": ": ping\n\n", "in the middle": c.Text("hel", "lo").Open} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			arrived := func() { cancel(stop) }
			var then func(inference.Delta)
			if name == "in the middle" {
				arrived, then = func() {}, func(inference.Delta) { cancel(stop) }
			}
			s, closed := stalls(t, body, arrived)
			// All waits of the provider are longer than the test's.
			p, returned := c.provider(t, s, wire.Timeouts{}), make(chan Outcome, 1)
			go func() { returned <- c.silent(ctx, t, p, then) }()
			select {
			case o := <-returned:
				require.NotNil(t, o.Err)
				require.True(t, o.Err.Billed)
				require.True(t, o.Answer.Partial)
				require.Equal(t, o.Text(), o.Answer.Message.Text(), "what came is kept")
				require.Empty(t, o.Answer.Message.ToolCalls)
				require.Equal(t, 1, o.Sent)
			case <-time.After(patience):
				require.Fail(t, "Infer goes on though its context has ended")
			}
			await(t, closed)
			require.Len(t, s.asked(), 1)
		})
	}
	t.Run("before it began", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		s := serveBody(t, http.StatusOK, nil, c.Text("hello").whole())
		o := c.attempt(ctx, t, s, c.provider(t, s, wire.Timeouts{}))
		require.NotNil(t, o.Err)
		require.Zero(t, o.Sent)
		require.False(t, o.Err.Billed)
	})
}

// silent makes an attempt from a goroutine that may not end the test.
func (c Case) silent(ctx context.Context, t *testing.T, p inference.Provider, then func(inference.Delta)) Outcome {
	t.Helper()
	w, call := &witness{t: t, then: then}, c.call("hello")
	call.Sent = func() { w.sent.Add(1) }
	answer, err := p.Infer(ctx, call, w.emit)
	w.over.Store(true)
	o := Outcome{Answer: answer, Deltas: w.deltas, Sent: int(w.sent.Load())}
	if err != nil {
		o.Err = domain.AsError(err)
	}
	return o
}

func (c Case) testNothingListens(t *testing.T) {
	t.Helper()
	s := serveBody(t, http.StatusOK, nil, "")
	s.Close()
	o := c.ask(t, s)
	require.NotNil(t, o.Err)
	require.Equal(t, domain.Unavailable, o.Err.Kind)
	require.Zero(t, o.Sent, "no byte could leave")
	require.False(t, o.Err.Billed)
}

// testBrokenConnection breaks a connection at each stage of an answer, a new one
// and one that has served before. The request is not made again.
func (c Case) testBrokenConnection(t *testing.T) {
	t.Helper()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	for name, test := range map[string]struct {
		sends string
		text  string
	}{
		"before the header":     {},
		"in the header":         {sends: head[:20]},
		"after the header":      {sends: head + "Content-Length: 99999\r\n\r\n"},
		"in the body":           {sends: head + "Content-Length: 99999\r\n\r\n" + c.Text("hel", "lo").Open, text: "hello"},
		"in a chunk":            {sends: head + "Transfer-Encoding: chunked\r\n\r\nffff\r\n" + c.Text("hel", "lo").Open, text: "hello"},
		"with no chunk at all":  {sends: head + "Transfer-Encoding: chunked\r\n\r\nno\r\n"},
		"with what is no HTTP":  {sends: "220 mail.example ESMTP\r\n"},
		"with what is no end":   {sends: head + "Transfer-Encoding: chunked\r\n\r\n"},
		"with an odd status":    {sends: "HTTP/1.1 -1 OK\r\n\r\n"},
		"with a length of none": {sends: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, served := range []bool{false, true} {
				requests := 0
				s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
					if requests++; served && requests == 1 {
						write(w, http.StatusOK, c.Text("hello").whole())
						return
					}
					if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
						_, _ = io.WriteString(conn, test.sends)
						_ = conn.Close()
					}
				})
				p := c.provider(t, s, wire.Timeouts{})
				if served {
					require.Nil(t, c.attempt(t.Context(), t, s, p).Err)
				}
				o := c.attempt(t.Context(), t, s, p)
				require.NotNil(t, o.Err)
				require.Equal(t, domain.Unavailable, o.Err.Kind)
				require.Empty(t, o.Err.Code, o.Err.Message)
				require.Equal(t, test.text, o.Answer.Message.Text())
				require.True(t, o.Err.Billed, "the request had left")
			}
		})
	}
}
