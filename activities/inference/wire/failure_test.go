package wire_test

import (
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

// hang serves a beginning and then nothing, or breaks the connection.
func hang(t *testing.T, beginning string, breaks bool) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if beginning != "" {
			_, _ = io.WriteString(w, beginning)
			_ = http.NewResponseController(w).Flush()
		}
		if breaks {
			panic(http.ErrAbortHandler)
		}
		<-r.Context().Done()
	})
}

// TestFailures: each names what went wrong, and says whether it may be billed.
func TestFailures(t *testing.T) {
	t.Parallel()
	const piece, whole = "data: {\"text\":\"hel\"}\n\n", "data: {\"text\":\"hello\",\"end\":true}\n\n"
	soon := wire.Timeouts{FirstByte: 30 * time.Millisecond, Idle: 30 * time.Millisecond}
	for name, test := range map[string]struct {
		url      string
		timeouts wire.Timeouts
		code     domain.Code
		says     string
		billed   bool
	}{
		"nobody there":       {url: "http://127.0.0.1:1", says: "cannot reach 127.0.0.1:1: "},
		"nothing is said":    {url: hang(t, "", false), timeouts: soon, code: domain.CodeTimeout, says: " sent nothing of an answer for too long", billed: true},
		"nothing more":       {url: hang(t, piece, false), timeouts: soon, code: domain.CodeTimeout, says: " sent nothing of an answer for too long", billed: true},
		"broken, unanswered": {url: hang(t, "", true), says: "broke before an answer came: ", billed: true},
		"broken, in between": {url: hang(t, piece, true), says: "the answer was cut off: ", billed: true},
		"nothing, but whole": {url: hang(t, whole, false), timeouts: soon},
		"broken, but whole":  {url: hang(t, whole, true)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, failed := attempt(t, wire.Config{BaseURL: test.url, Timeouts: test.timeouts})
			if test.says == "" {
				require.Nil(t, failed)
				require.Equal(t, "hello", answer.Message.Text())
				return
			}
			require.NotNil(t, failed)
			require.Equal(t, domain.Unavailable, failed.Kind)
			require.Equal(t, test.code, failed.Code, failed.Message)
			require.Contains(t, failed.Message, test.says)
			require.Equal(t, test.billed, failed.Billed)
			require.Equal(t, apiName, failed.Source)
			require.True(t, answer.Partial)
		})
	}
}

// TestTimeoutsOfTheAgent stand over those of the worker.
func TestTimeoutsOfTheAgent(t *testing.T) {
	t.Parallel()
	client := newClient(t, wire.Config{BaseURL: hang(t, "", false), Timeouts: wire.Timeouts{FirstByte: time.Hour}})
	call := question()
	call.Config.Timeouts.FirstByte = 20 * time.Millisecond
	_, err := client.Infer(t.Context(), call, nil)
	require.Equal(t, domain.CodeTimeout, failure(t, err).Code)
}

// TestNothingIsSentInVain: what is wrong from the start makes no request.
func TestNothingIsSentInVain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*inference.Call)
		kind   domain.Kind
		says   string
	}{
		"another URL":       {func(c *inference.Call) { c.Config.BaseURL = "http://elsewhere" }, domain.Denied, "base_url: "},
		"a reserved option": {func(c *inference.Call) { c.Config.Options = domain.Metadata{"model": []byte("1")} }, domain.Invalid, "options: model"},
		"an empty image":    {func(c *inference.Call) { c.Messages[0].Parts = []domain.Part{{Type: domain.PartImage}} }, domain.Invalid, "message 0: part 0: has neither data nor a URL"},
		"another's thought": {func(c *inference.Call) { c.Messages[0].Parts = []domain.Part{{Type: domain.PartReasoning}} }, domain.Invalid, "message 0: part 0: is of type reasoning, which only a model can send"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.Sent = func() { t.Error("it was sent") }
			test.change(&call)
			answer, err := newClient(t, wire.Config{BaseURL: "http://127.0.0.1:1"}).Infer(t.Context(), call, nil)
			failed := failure(t, err)
			require.Equal(t, test.kind, failed.Kind)
			require.Contains(t, failed.Message, test.says)
			require.Equal(t, apiName, failed.Source)
			require.Equal(t, inference.Answer{}, answer)
		})
	}
	a := api(says)
	a.Prepare = func(*wire.Attempt, inference.Call) (wire.Request, wire.Decoder, error) {
		return wire.Request{}, nil, errors.New("unwritable")
	}
	client, err := wire.New(a, wire.Config{BaseURL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	_, err = client.Infer(t.Context(), question(), nil)
	require.ErrorContains(t, err, "test: the request cannot be encoded: unwritable")
	require.Equal(t, apiName, failure(t, err).Source)
	for _, format := range []domain.ResponseFormat{{Type: domain.FormatSchema, Schema: []byte("{}")}, {Type: domain.FormatJSON}} {
		call := question()
		call.OutputMode, call.Format = domain.OutputNative, format
		_, err = newClient(t, wire.Config{BaseURL: "http://127.0.0.1:1"}).Infer(t.Context(), call, nil)
		require.ErrorContains(t, err, "cannot reach", "the format is no fault")
	}
}

// TestStatuses: what is neither an answer nor a plain refusal.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for status, test := range map[int]struct {
		kind   domain.Kind
		code   domain.Code
		says   string
		billed bool
	}{
		201: {domain.Unavailable, domain.CodeMalformed, "the answer has no events", true},
		299: {domain.Unavailable, domain.CodeMalformed, "the answer has no events", true},
		300: {domain.Invalid, "", "answers with a redirect (HTTP 300), which is not followed", false},
		399: {domain.Invalid, "", "answers with a redirect (HTTP 399), which is not followed", false},
		400: {domain.Invalid, "", "refused the request (HTTP 400): no", false},
		429: {domain.Throttled, "", "too many requests (HTTP 429): no", false},
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "no")
		})
		_, failed := attempt(t, wire.Config{BaseURL: server})
		require.Equal(t, test.kind, failed.Kind, status)
		require.Equal(t, test.code, failed.Code, status)
		require.Contains(t, failed.Message, test.says)
		require.Equal(t, test.billed, failed.Billed, status)
		if status >= 400 {
			require.Equal(t, 3*time.Second, failed.RetryAfter)
		}
	}
}

// TestDetail is for operators: the id and the beginning of what came.
func TestDetail(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ id, body, want string }{
		{"", "no", "no"}, {"id-1", "no", "request id-1: no"}, {"id-1", "", "request id-1"}, {"", "", ""},
		{"", strings.Repeat("é", 1024), strings.Repeat("é", 512)}, {"", "x" + strings.Repeat("é", 1024), "x" + strings.Repeat("é", 511)},
		{strings.Repeat("i", 128), "", "request " + strings.Repeat("i", 128)}, {strings.Repeat("i", 129), "", ""},
		{"~!", "", "request ~!"}, {"a b", "", ""}, {"a\x7f", "", ""},
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if test.id != "" {
				w.Header().Set("Apim-Request-Id", test.id)
			}
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, test.body)
		})
		_, failed := attempt(t, wire.Config{BaseURL: server})
		require.Equal(t, test.want, failed.Detail)
	}
}

// TestNoModelSaysWhere: the error names the base URL, without what may be a key in it.
func TestNoModelSaysWhere(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	_, failed := attempt(t, wire.Config{BaseURL: server + "/v1?key=canary"})
	require.Equal(t, domain.CodeModelNotFound, failed.Code)
	require.Contains(t, failed.Message, "no model m at "+server+"/v1;")
	require.NotContains(t, failed.Message+failed.Detail, "canary")
}

// TestWordsAreBounded: what is looked through of an error's body is some KiB of its beginning and of its end, however long it
// is, and no part of a word is left.
func TestWordsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("token ", 1<<17) + "\xff"
	for _, body := range []string{
		long, `{"error":{"message":"` + long + `","code":"` + long + `","type":"` + long + `","param":"` + long + `"},"n_ctx":"` + long + `"}`,
		`{"errors":[` + strings.Repeat(`{"code":"token ","message":"token "},`, 1<<16) + `{}]}`,
	} {
		r := wire.ParseRejection([]byte(body))
		for _, text := range []string{r.Message, r.Code, r.Type, r.Param, r.Hint} {
			require.Less(t, len(text), 20<<10)
		}
		for word := range strings.FieldsSeq(strings.ToValidUTF8(r.Message, "")) {
			require.Contains(t, []string{"token", "\uFFFD"}, word, "no word is cut")
		}
	}
}

// TestTheEndOfAnErrorIsRead, however much of the request it repeats before.
func TestTheEndOfAnErrorIsRead(t *testing.T) {
	t.Parallel()
	const end = "This model's maximum context length is 8192 tokens"
	for _, body := range []string{
		strings.Repeat("word ", 2000) + end, `{"error":{"message":"` + strings.Repeat("word ", 2000) + end + `"}}`, `{"input":"` + strings.Repeat("x", 100_000) + `","message":"` + end + `"}`,
		"{\"error\": {\"message\": \"" + end + "\"}, \"last\":\n{\"message\": \"x\"}\n}",
		"[{'input': ['" + strings.Repeat("it is unpaid ", 5000) + `', "` + strings.Repeat("it's unpaid ", 5000) + `"], 'msg': "` + end + `"}]`,
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body)
		})
		_, failed := attempt(t, wire.Config{BaseURL: server})
		require.Equal(t, domain.CodeContextOverflow, failed.Code)
		require.Equal(t, int64(8192), failed.Window)
	}
}
