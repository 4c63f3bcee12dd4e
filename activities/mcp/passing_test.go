package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestAServerThatHasForgottenIsListedAgain, as after its restart: a listing that it does not know the session of is not refused for good.
func TestAServerThatHasForgottenIsListedAgain(t *testing.T) {
	t.Parallel()
	var forgets atomic.Bool
	server, _ := intercepted(t, honestly(), func(w http.ResponseWriter, r *http.Request, body string) bool {
		if strings.Contains(body, `"server/discover"`) {
			http.Error(w, "", http.StatusBadRequest)
			return true
		}
		now := strings.Contains(body, `"tools/list"`) && r.Header.Get("Mcp-Session-Id") != "" && forgets.CompareAndSwap(true, false)
		if now {
			http.Error(w, "who?", http.StatusNotFound)
		}
		return now
	})
	s := openServers(t, Options{fresh: time.Nanosecond}, server)
	require.Equal(t, "one", said(t, s, "s__echo", args{Text: "one"}))
	forgets.Store(true)
	_, err := s.Find(t.Context(), "s__echo")
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "%v", err)
	_, err = s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
}

// TestATokenThatIsLateIsWaitedFor is waited for, before the first call and after one.
func TestATokenThatIsLateIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusBadGateway} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			server := guarded(t, i)
			var down atomic.Bool
			inside := i.web.Config.Handler
			i.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/token" && down.Load() {
					w.WriteHeader(status)
					return
				}
				inside.ServeHTTP(w, r)
			})
			down.Store(true)
			s := openServers(t, Options{Secret: func(string) (string, error) { return "sesame", nil }}, server)
			_, err := s.Find(t.Context(), "s__echo")
			require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "%v", err)
			down.Store(false)
			require.Eventually(t, func() bool { _, err := s.Find(t.Context(), "s__echo"); return err == nil }, 20*time.Second, 50*time.Millisecond)
			found, err := s.Find(t.Context(), "s__echo")
			require.NoError(t, err)
			i.revoke()
			down.Store(true)
			_, err = found.Call(t.Context(), `{"text":"a"}`)
			require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "%v", err)
		})
	}
}

// TestAProgramThatItsLikeKeepsOut, which still holds its port, is not given up: it starts a little later.
func TestAProgramThatItsLikeKeepsOut(t *testing.T) {
	t.Parallel()
	s := openServers(t, Options{}, programOf(t, "holds", func(s *Server) { s.Args = append(s.Args, filepath.Join(t.TempDir(), "port")) }))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := callIn(ctx, t, s, "s__echo", args{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Eventually(t, func() bool {
		_, err := s.Find(t.Context(), "s__echo")
		if err != nil {
			require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "%v", err)
		}
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
}

// holds answers no call, and nothing while another of its kind has the file.
func holds(file string) {
	own, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bind: address already in use")
		os.Exit(1)
	}
	_ = own.Close()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		_ = os.Remove(file)
		os.Exit(0)
	}()
	answering("", func(method string, _ json.RawMessage) string { return usual(method, func() string { select {} }) })
	_ = os.Remove(file)
}

// TestWhatAToolDoesNotNeedCostsNoTool: whatever stands beside the list, and in a tool beside what it is called by.
func TestWhatAToolDoesNotNeedCostsNoTool(t *testing.T) {
	t.Parallel()
	const echo = `"name":"echo","inputSchema":{"type":"object"}`
	for _, page := range []string{
		`{"tools":[{` + echo + `}],"ttlMs":"soon"}`, `{"tools":[{` + echo + `}],"_meta":[]}`, `{"tools":[{` + echo + `}],"cacheScope":7}`,
		`{"tools":[{` + echo + `,"icons":[{"src":"x","sizes":"48x48"}]}]}`,
		`{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}}]}`,
	} {
		s := openServers(t, Options{}, listing(t, "2025-06-18", page))
		_, err := s.Find(t.Context(), "s__echo")
		require.NoError(t, err, page)
	}
}
