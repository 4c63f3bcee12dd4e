package whole_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/gemini"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/starter/client"
)

// breaksOff closes the connection instead of answering; reset says that it is
// not even closed in good order.
func breaksOff(reset bool) play {
	return counted(play{serve: func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}})
}

// sentTo sends a case's requests to a base URL, with two attempts.
func sentTo(baseURL string) func(*client.Start) {
	return func(s *client.Start) {
		s.Definition.Attempts, s.Definition.Model.BaseURL = 2, baseURL
		s.Definition.Model.Timeouts.Connect = 300 * time.Millisecond
	}
}

// unreachable: what surely was not sent cost nothing, and is tried again.
func unreachable() []failureCase {
	never := failing(domain.Unavailable, "", "cannot reach ", "check the base URL")
	never.failed = new(2)
	silent := never
	silent.code, silent.says = domain.CodeTimeout, []string{"no connection in 300ms"}
	twiceTried := func(t *testing.T, p *part) {
		t.Helper()
		require.Equal(t, 2, p.view.Steps[0].Retries[0].Attempts+p.view.Steps[0].Retries[1].Attempts, "each with its reason")
		require.Zero(t, p.view.Totals.Usage.TotalTokens())
	}
	all := []failureCase{
		{name: "nothing listens", define: sentTo("http://127.0.0.1:1/v1"), want: never, check: twiceTried},
		{name: "no such host", define: func(s *client.Start) {
			sentTo("http://nosuch.invalid/v1")(s)
			s.Definition.Model.Timeouts.Connect = 30 * time.Second
		}, want: never, check: twiceTried},
		{name: "TLS is not what it speaks", alone: func(t *testing.T) {
			elsewhere := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(elsewhere.Close)
			aloneAt(t, "https://"+elsewhere.Listener.Addr().String(), never, twiceTried)
		}},
		{name: "a certificate that nobody knows", alone: func(t *testing.T) {
			elsewhere := httptest.NewTLSServer(http.NotFoundHandler())
			elsewhere.Config.ErrorLog = quietLog()
			t.Cleanup(elsewhere.Close)
			aloneAt(t, elsewhere.URL, never, twiceTried)
		}},
		{name: "a handshake that never ends", alone: func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { _ = listener.Close() })
			aloneAt(t, "https://"+listener.Addr().String(), silent, twiceTried)
		}},
		{name: "closed again and again", plays: []play{breaksOff(false), breaksOff(true)}, define: twice,
			want: failing(domain.Unavailable, "", "the connection to ", "broke before an answer came")},
	}
	for _, api := range failureAPIs() {
		all = append(all,
			failureCase{name: api + ", closed before a header", api: api, plays: []play{breaksOff(false), fine(api)}},
			failureCase{name: api + ", reset before a header", api: api, plays: []play{breaksOff(true), fine(api)}})
	}
	return all
}

// stall sends a part of an answer and no more, until the other side has closed
// the connection. Without a part there is not even a header.
func stall(part string) (play, <-chan struct{}) {
	gone := make(chan struct{})
	return counted(play{serve: func(w http.ResponseWriter, r *http.Request) {
		if part != "" {
			streams(part)(w, r)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		close(gone)
	}}), gone
}

// stalls: the idle time-out ends the attempt and closes the connection. What had
// come is no answer, and counts.
func stalls() []failureCase {
	impatient := func(s *client.Start) { s.Definition.Model.Timeouts.Idle = 80 * time.Millisecond }
	var all []failureCase
	for _, api := range failureAPIs() {
		table := apiTables()[api]
		silent, gone := stall(table.open("half an ans"))
		silent = toldly(silent)
		all = append(all, failureCase{
			name: api + ", in the middle", api: api, define: impatient, plays: []play{silent, fine(api)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				isClosed(t, gone)
				require.Equal(t, domain.CodeTimeout, p.lostTo())
			},
		})
		if api == gemini.Name {
			continue // a call is its last event
		}
		call, _ := splitEnd(api, callBody(api, toolWord(api), echoes("c1", "stalled "+api)))
		later, closed := stall(call)
		all = append(all, failureCase{
			name: api + ", after a call", api: api, define: impatient, plays: []play{later, fine(api)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				isClosed(t, closed)
				require.Zero(t, p.ran("stalled "+api))
				require.Zero(t, p.view.Totals.ToolCalls)
			},
		})
	}
	first, _ := stall(chatText("a"))
	second, _ := stall(chatText("b"))
	return append(all, failureCase{
		name: "each time", plays: []play{first, second},
		define: func(s *client.Start) { impatient(s); twice(s) },
		want:   failing(domain.Unavailable, domain.CodeTimeout, "sent nothing of an answer for too long"),
	})
}

func isClosed(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(patience):
		require.Fail(t, "the connection stays open")
	}
}

// lostAnswers: what was sent may have been billed, and counts.
func lostAnswers() []failureCase {
	var all []failureCase
	for _, api := range failureAPIs() {
		silent, gone := stall("")
		all = append(all, failureCase{
			name: api + ", no first byte", api: api, plays: []play{silent, fine(api)},
			define: func(s *client.Start) { s.Definition.Model.Timeouts.FirstByte = time.Second },
			check: func(t *testing.T, p *part) {
				t.Helper()
				isClosed(t, gone)
				require.Equal(t, domain.CodeTimeout, p.lostTo())
				require.Contains(t, p.view.Steps[0].Retries[0].Reason, "sent nothing of an answer for too long")
			},
		}, failureCase{
			name: api + ", reset in the middle", api: api,
			plays: []play{toldly(aborts(apiTables()[api].open("half an ans"))), fine(api)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Equal(t, domain.CodeMalformed, p.lostTo())
				require.Contains(t, p.view.Steps[0].Retries[0].Reason, "cut off")
			},
		})
	}
	endlessly, over := dribbles()
	all = append(all, failureCase{
		name: "no end in the time of one inference", plays: []play{endlessly, fine(openaichat.Name)},
		define: func(s *client.Start) { s.Definition.InferenceTimeout = 5 * time.Second }, // the next one has to answer in it
		check: func(t *testing.T, p *part) {
			t.Helper()
			isClosed(t, over)
			require.Equal(t, domain.CodeTimeout, p.lostTo())
			require.Less(t, p.gap(), patience)
		},
	})
	tokens := stopping(domain.TokenLimitReached, "max_tokens is 500")
	var lost []play
	for range 4 {
		lost = append(lost, aborts(chatText("a")))
	}
	return append(all, failureCase{
		name: "no attempt is made that the budget does not cover", plays: lost[:budgetedAttempts], want: tokens,
		define: func(s *client.Start) {
			s.Prompt = strings.Repeat("word ", 150)
			s.Budget = domain.ExecutionBudget{MaxTokens: new(int64(500))}
		},
	})
}

// budgetedAttempts is how many attempts of some 200 tokens 500 pay for.
const budgetedAttempts = 2

// dribbles sends comments without end, so that no time-out between pieces comes.
func dribbles() (play, <-chan struct{}) {
	gone := make(chan struct{})
	return counted(play{serve: func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				streams(": still here\n\n")(w, r)
				_ = http.NewResponseController(w).Flush()
			}
		}
	}}), gone
}

// aborts sends a part of an answer and breaks the connection.
func aborts(part string) play {
	return counted(play{serve: func(w http.ResponseWriter, r *http.Request) {
		streams(part)(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}})
}

// endless: what has no end is cut off, and not asked for again.
func endless() []failureCase {
	without := func(begin string) (play, <-chan struct{}) {
		gone := make(chan struct{})
		return counted(play{serve: func(w http.ResponseWriter, r *http.Request) {
			defer close(gone)
			streams(begin)(w, r)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil {
					return
				}
			}
		}}), gone
	}
	line, lineGone := without("data: ")
	body, bodyGone := without("{")
	lines := map[string]struct {
		play play
		gone <-chan struct{}
	}{"a line": {line, lineGone}, "a body": {body, bodyGone}}
	var all []failureCase
	for name, test := range lines {
		all = append(all, failureCase{
			name: name + " without an end", plays: []play{test.play}, want: failing(domain.TooLarge, "", " has more than ", " bytes"),
			check: func(t *testing.T, _ *part) { t.Helper(); isClosed(t, test.gone) },
		})
	}
	text := strings.Repeat("x", domain.MaxMessage)
	return append(all, failureCase{
		name: "an answer that no message may hold", plays: []play{toldly(breaks(chatText(text) + chatStop + chatUsage + chatDone))},
		want: failing(domain.TooLarge, "", "the model's answer has ", fmt.Sprintf("at most %d are allowed", domain.MaxMessage)),
	})
}

// redirects: none is followed, so the key goes nowhere else.
func redirects() []failureCase {
	var all []failureCase
	add := func(name, api string, status int) {
		var elsewhere *httptest.Server
		asked := make(chan string, 1)
		moved := play{serve: func(w http.ResponseWriter, _ *http.Request) {
			elsewhere = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Header.Get("Authorization")
				fine(api).serve(w, r)
			}))
			w.Header().Set("Location", elsewhere.URL+"/v1/chat/completions")
			w.WriteHeader(status)
		}}
		all = append(all, failureCase{
			name: name, api: api, plays: []play{moved},
			want: failing(domain.Invalid, "", "answers with a redirect", fmt.Sprintf("HTTP %d", status), "base URL"),
			check: func(t *testing.T, _ *part) {
				t.Helper()
				elsewhere.Close()
				require.Empty(t, asked, "it was asked")
			},
		})
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		add(fmt.Sprint(status), openaichat.Name, status)
	}
	for _, api := range failureAPIs()[:3] {
		add(api+", 307", api, 307)
	}
	return all
}
