package providers

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

func (c Case) testAnswers(t *testing.T) {
	t.Helper()
	for name, test := range map[string]struct {
		body   string
		finish domain.FinishReason
		check  func(t *testing.T, o Outcome)
	}{
		"text": {c.Text("hel", "lo", " there").whole(), domain.FinishStop, func(t *testing.T, o Outcome) {
			require.Equal(t, "hello there", o.Answer.Message.Text())
			require.GreaterOrEqual(t, len(o.Deltas), 3, "the text is told as it comes")
			require.Empty(t, o.Answer.Message.ToolCalls)
			require.Equal(t, domain.Usage{InputTokens: 30, OutputTokens: 7}, o.Answer.Response.Usage)
			require.NotEmpty(t, o.Answer.Response.Model)
		}},
		"parallel calls": {c.Calls, domain.FinishToolCalls, func(t *testing.T, o Outcome) {
			calls := o.Answer.Message.ToolCalls
			require.Len(t, calls, 2)
			require.Equal(t, "call_1 weather, call_2 clock", fmt.Sprintf("%s %s, %s %s", calls[0].ID, calls[0].Name, calls[1].ID, calls[1].Name))
			require.JSONEq(t, `{"city":"Paris"}`, calls[0].Arguments)
			require.JSONEq(t, `{"zone":"UTC"}`, calls[1].Arguments)
		}},
		"a call cut by length": {c.CutCall, domain.FinishLength, hello},
		"refusal": {c.Refusal, domain.FinishRefusal, func(t *testing.T, o Outcome) {
			require.Equal(t, "I will not", o.Answer.Message.Text())
			require.Empty(t, o.Answer.Message.ToolCalls)
		}},
		"filtered": {c.Filtered, domain.FinishContentFilter, hello},
		"usage": {c.Counted, domain.FinishStop, func(t *testing.T, o Outcome) {
			hello(t, o)
			require.Equal(t, c.CountedUsage, o.Answer.Response.Usage)
			require.Equal(t, int64(150), o.Answer.Response.Usage.TotalTokens(), "no token counts twice")
		}},
	} {
		if test.body == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.ask(t, serveBody(t, http.StatusOK, nil, test.body))
			require.Nil(t, o.Err)
			require.Equal(t, test.finish, o.Answer.Response.Finish)
			test.check(t, o)
		})
	}
}

func hello(t *testing.T, o Outcome) {
	t.Helper()
	require.Equal(t, "hello", o.Answer.Message.Text())
}

// testRequest looks at what is sent: the conversation, and the key in a header
// alone.
func (c Case) testRequest(t *testing.T) {
	t.Helper()
	s := serveBody(t, http.StatusOK, nil, c.Text("hello").whole())
	require.Nil(t, c.ask(t, s).Err)
	sent := s.asked()[0]
	for _, said := range []string{`"hello"`, `"be brief"`, `"weather"`, `"clock"`} {
		require.Contains(t, sent.body, said)
	}
	require.NotContains(t, sent.body+sent.url, Key)
	require.Contains(t, fmt.Sprint(sent.header), Key)
	require.Empty(t, sent.header.Values("Idempotency-Key"), "it would let the request be sent again")
}

// testRequestID: the provider's id of the request is kept, of a failure too.
func (c Case) testRequestID(t *testing.T) {
	t.Helper()
	header := http.Header{"X-Request-Id": {"req_1"}}
	stream := c.Text("hello")
	o := c.ask(t, serveBody(t, http.StatusOK, header, stream.whole()))
	require.Nil(t, o.Err)
	require.Equal(t, "req_1", o.Answer.Response.RequestID)
	o = c.ask(t, serveBody(t, http.StatusOK, header, stream.Open))
	require.NotNil(t, o.Err)
	require.Equal(t, "req_1", o.Answer.Response.RequestID)
	require.Contains(t, o.Err.Detail, "request req_1")
	o = c.ask(t, serveBody(t, http.StatusInternalServerError, header, ""))
	require.NotNil(t, o.Err)
	require.Contains(t, o.Err.Detail, "request req_1")
}

func (c Case) testByteByByte(t *testing.T) {
	t.Helper()
	for name, body := range map[string]string{"text": c.Text("hel", "lo").whole(), "calls": c.Calls} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := c.ask(t, serveBody(t, http.StatusOK, nil, body))
			require.Nil(t, whole.Err)
			slow := c.ask(t, serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
				w.Header().Set("Content-Type", mediaType(body))
				flush := http.NewResponseController(w).Flush
				for k := range len(body) {
					_, _ = io.WriteString(w, body[k:k+1])
					_ = flush()
				}
			}))
			require.Nil(t, slow.Err)
			require.Equal(t, whole.Answer, slow.Answer)
		})
	}
}

// boundary is where an event ends.
var boundary = regexp.MustCompile(`\r?\n\r?\n`)

// testCut ends the stream early: at each boundary of its events, and within
// them. Whatever lacks the API's own mark of the end is not whole.
func (c Case) testCut(t *testing.T) {
	t.Helper()
	stream := c.Text("hel", "lo")
	body := stream.Open + stream.End
	var cut int
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) { write(w, http.StatusOK, body[:cut]) })
	p := c.provider(t, s, wire.Timeouts{})
	notWhole := func(at int) {
		cut = at
		o := c.attempt(t.Context(), t, s, p)
		require.NotNil(t, o.Err, "whole at byte %d: %s", at, body[:at])
		require.Equal(t, domain.Unavailable, o.Err.Kind)
		require.Equal(t, domain.CodeMalformed, o.Err.Code)
		require.True(t, o.Err.Billed)
		_, prefixed := strings.CutPrefix("hello", o.Answer.Message.Text())
		require.True(t, prefixed, o.Answer.Message.Text())
	}
	for _, at := range boundary.FindAllStringIndex(body, -1) {
		if at[1] < len(body) {
			notWhole(at[1])
		}
	}
	for at := 0; at <= len(stream.Open); at += 7 {
		notWhole(at)
	}
	notWhole(len(stream.Open))
	for _, all := range []string{body, body + stream.Tail} {
		body, cut = all, len(all)
		o := c.attempt(t.Context(), t, s, p)
		require.Nil(t, o.Err)
		hello(t, o)
	}
}

// testAtOnce asks one provider many times at once: each gets its own answer.
func (c Case) testAtOnce(t *testing.T) {
	t.Helper()
	number := regexp.MustCompile(`question [0-9]+`)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, body string) {
		write(w, http.StatusOK, c.Text("answer to ", number.FindString(body)).whole())
	})
	p := c.provider(t, s, wire.Timeouts{})
	for k := range 16 {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			question := fmt.Sprintf("question %d", k)
			o := Attempt(t.Context(), t, p, c.call(question), nil)
			require.Nil(t, o.Err)
			require.Equal(t, "answer to "+question, o.Answer.Message.Text())
		})
	}
}
