package providers

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// testInStream fails after a part of the answer, and in place of all of it.
func (c Case) testInStream(t *testing.T) {
	t.Helper()
	require.Contains(t, c.InStream, Key, "else the test does not show that it is hidden")
	for text, body := range map[string]string{"hello": c.Text("hel", "lo").Open + c.InStream, "": c.InStream} {
		t.Run("after "+text, func(t *testing.T) {
			t.Parallel()
			o := c.ask(t, serveBody(t, http.StatusOK, nil, body))
			require.NotNil(t, o.Err)
			require.True(t, o.Err.Kind.Retryable(), o.Err.Message)
			require.True(t, o.Err.Billed, "the provider had begun")
			require.Equal(t, text, o.Answer.Message.Text())
		})
	}
}

// end finds the mark behind which a stream has nothing more of the answer. Gemini's has none.
var end = regexp.MustCompile(`\[DONE\]|"message_stop"|"response\.completed"`)

// testMixed sends two answers as one, as proxies do: neither is taken, unless the end of the first was seen.
func (c Case) testMixed(t *testing.T) {
	t.Helper()
	another := strings.NewReplacer("chatcmpl-1", "chatcmpl-2", "msg_1", "msg_2", "resp_1", "resp_2", "WQuqavG5KbfUjMcP", "WQuq").Replace
	one, two := c.Text("hel", "lo"), c.Text("no").whole()
	for name, bodies := range map[string][2]string{
		"in the middle":        {one.Open, two},
		"behind the end":       {one.whole(), two},
		"behind its mark":      {one.Open + one.End, two},
		"calls in the middle":  {one.Open, c.Calls},
		"calls behind the end": {one.whole(), c.Calls},
		"calls behind calls":   {c.Calls, c.Calls},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.ask(t, serveBody(t, http.StatusOK, nil, bodies[0]+another(bodies[1])))
			if end.MatchString(bodies[0]) {
				require.Nil(t, o.Err)
				require.Equal(t, c.ask(t, serveBody(t, http.StatusOK, nil, bodies[0])).Answer, o.Answer)
				return
			}
			require.NotNil(t, o.Err)
			require.Equal(t, domain.Unavailable, o.Err.Kind, o.Err.Message)
			require.Equal(t, domain.CodeMalformed, o.Err.Code, o.Err.Message)
			require.Contains(t, o.Err.Message, "two answers")
			require.True(t, o.Err.Billed)
		})
	}
}

// testNoAnswers: what is no answer of the API, with a status that says it is.
func (c Case) testNoAnswers(t *testing.T) {
	t.Helper()
	for name, test := range map[string]struct {
		status int
		body   string
	}{
		"empty":          {http.StatusOK, ""},
		"no content":     {http.StatusNoContent, ""},
		"white space":    {http.StatusOK, "\n \n"},
		"a page":         {http.StatusOK, "<!DOCTYPE html><html><body>Sign in " + Key + "</body></html>"},
		"words":          {http.StatusOK, "service temporarily unavailable " + Key},
		"an object":      {http.StatusOK, "{}"},
		"a list":         {http.StatusOK, "[]"},
		"a text":         {http.StatusOK, `"hello ` + Key + `"`},
		"half an object": {http.StatusOK, `{"id":"x","choices":[{`},
		"comments alone": {http.StatusOK, ": ping\n\n: ping\n\n"},
		"no JSON":        {http.StatusOK, "data: " + Key + "\n\n"},
		"done at once":   {http.StatusOK, "data: [DONE]\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.ask(t, serveBody(t, test.status, nil, test.body))
			require.NotNil(t, o.Err)
			require.Equal(t, domain.Unavailable, o.Err.Kind, o.Err.Message)
			require.Equal(t, domain.CodeMalformed, o.Err.Code, o.Err.Message)
			require.True(t, o.Err.Billed, "nobody knows what was done for it")
		})
	}
}

// testKeysInErrors: a server that repeats the key in all that it says.
func (c Case) testKeysInErrors(t *testing.T) {
	t.Helper()
	for name, body := range map[string]string{
		"an error":  `{"error":{"message":"no ` + Key + ` here","type":"` + Key + `","code":"` + Key + `","param":"` + Key + `","status":"` + Key + `"}}`,
		"words":     "no " + Key + " here",
		"a page":    "<html>" + Key + "</html>",
		"a message": `{"message":"no ` + Key + ` here"}`,
		"a list":    `[{"error":{"message":"no ` + Key + ` here"}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusInternalServerError} {
				require.NotNil(t, c.ask(t, serveBody(t, status, nil, body)).Err, "Attempt looks for the key")
			}
		})
	}
	t.Run("the id of the request", func(t *testing.T) {
		t.Parallel()
		header := http.Header{"X-Request-Id": {Key}, "Request-Id": {Key}}
		for _, body := range []string{"", `{"error":{"message":"not now"},"request_id":"` + Key + `"}`} {
			require.NotNil(t, c.ask(t, serveBody(t, http.StatusInternalServerError, header, body)).Err, "Attempt looks for the key")
			require.NotNil(t, c.ask(t, serveBody(t, http.StatusInternalServerError, nil, body)).Err, "Attempt looks for the key")
		}
		o := c.ask(t, serveBody(t, http.StatusOK, header, c.Text("hello").whole()))
		require.Nil(t, o.Err)
		require.NotContains(t, o.Answer.Response.RequestID, Key, "it is recorded")
	})
}

// testRedirect: the request, its key above all, goes nowhere else.
func (c Case) testRedirect(t *testing.T) {
	t.Helper()
	elsewhere := serveBody(t, http.StatusOK, nil, c.Text("hello").whole())
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		o := c.ask(t, serveBody(t, status, http.Header{"Location": {elsewhere.URL + "/" + Key}}, ""))
		require.NotNil(t, o.Err)
		require.Equal(t, domain.Invalid, o.Err.Kind)
		require.Contains(t, o.Err.Message, "redirect")
	}
	require.Empty(t, elsewhere.asked())
}
