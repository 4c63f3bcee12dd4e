package providers

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
)

// patience bounds the waits of these tests. None of them is about speed.
const patience = 20 * time.Second

// A server speaks the API, and notes what it was asked.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
}

type request struct {
	url, body string
	header    http.Header
}

// serve answers each request, once it has arrived whole.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body string)) *server {
	t.Helper()
	s := &server{}
	s.Server = ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, request{r.URL.String(), string(body), r.Header.Clone()})
		s.mu.Unlock()
		answer(w, r, string(body))
	})
	return s
}

// serveBody answers every request alike.
func serveBody(t *testing.T, status int, header http.Header, body string) *server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		for name, values := range header {
			w.Header()[name] = values
		}
		write(w, status, body)
	})
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *server) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
}

// provider returns the case's provider at the server.
func (c Case) provider(t *testing.T, s *server, timeouts wire.Timeouts) inference.Provider {
	t.Helper()
	return c.opened(t, wire.Config{BaseURL: s.URL, Key: wire.FixedKey(Key), Timeouts: timeouts})
}

// opened returns the provider of a configuration that is right.
func (c Case) opened(t *testing.T, config wire.Config) inference.Provider {
	t.Helper()
	p, err := wire.New(c.API, config)
	require.NoError(t, err)
	return p
}

// attempt asks the server once, and checks that it was just that, and that
// nothing had arrived when the provider said that it sends.
func (c Case) attempt(ctx context.Context, t *testing.T, s *server, p inference.Provider) Outcome {
	t.Helper()
	before := s.count()
	call := c.call("hello")
	call.Sent = func() {
		if s.count() != before {
			t.Error("the request arrived before Sent was called")
		}
	}
	o := Attempt(ctx, t, p, call, nil)
	require.Equal(t, before+o.Sent, s.count(), "an attempt is one request")
	return o
}

// ask asks a new provider once.
func (c Case) ask(t *testing.T, s *server) Outcome {
	t.Helper()
	return c.attempt(t.Context(), t, s, c.provider(t, s, wire.Timeouts{}))
}

// await waits for the other side to hear that the connection was closed.
func await(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		require.Fail(t, "the connection stays open")
	}
}
