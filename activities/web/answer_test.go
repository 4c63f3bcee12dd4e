package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

func TestAnswerSaysWhereItIsFrom(t *testing.T) {
	t.Parallel()
	c, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "/b?q=1", http.StatusFound)
		case "/b":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, "<title>T</title><p>Referer %q, agent %q, %q</p>", r.Referer(), r.UserAgent(), r.Header.Get("Accept"))
		}
	})
	text, err := call(t.Context(), t, c, "http_get", fields{"url": base + "/a#part", "headers": map[string]string{"accept": "text/html"}})
	require.NoError(t, err)
	require.Equal(t, "[GET "+base+"/b?q=1, redirected from "+base+"/a: 200 OK; text/html; 64 bytes; its readable text; fetched 2026-11-22T12:00:00Z]\n"+
		"T\n\nReferer \"\", agent \"everstep\", \"text/html\"", text)
	text, err = call(t.Context(), t, c, "http_get", fields{"url": base + "/b", "raw": true})
	require.NoError(t, err)
	require.Contains(t, text, "<title>T</title>")
}

// TestTheSameAnswerIsKnownAgain though it was fetched at another time, also where it is an error.
func TestTheSameAnswerIsKnownAgain(t *testing.T) {
	t.Parallel()
	c, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.Error(w, "no such page", http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprint(w, "as it was")
	})
	at := c.now()
	c.now = func() time.Time { at = at.Add(time.Hour); return at }
	get := func(path string) (tool.Result, error) { return c.get(t.Context(), getArgs{URL: base + path}) }
	first, err := get("/")
	require.NoError(t, err)
	second, err := get("/")
	require.NoError(t, err)
	require.NotEqual(t, first.Content, second.Content)
	require.Equal(t, first.Compared, second.Compared)
	require.Contains(t, first.Compared, "200 OK")
	require.Contains(t, first.Compared, "as it was")
	_, err = get("/gone")
	_, again := get("/gone")
	require.ErrorContains(t, err, "404 Not Found")
	require.Equal(t, err.Error(), again.Error())
}

func TestPostIsSentOnceAndNotLedOn(t *testing.T) {
	t.Parallel()
	var bodies atomic.Int64
	c, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		bodies.Add(1)
		var got bytes.Buffer
		_, _ = got.ReadFrom(r.Body)
		if r.URL.Path == "/on" {
			http.Redirect(w, r, "http://127.0.0.1:1/inside", http.StatusTemporaryRedirect)
			return
		}
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("Content-Type"), got.String())
	})
	text, err := post(t, c, base, `{"a":1}`)
	require.NoError(t, err)
	require.Contains(t, text, `POST application/json {"a":1}`)
	text, err = call(t.Context(), t, c, "http_post", fields{"url": base, "body": "a=1", "content_type": "application/x-www-form-urlencoded"})
	require.NoError(t, err)
	require.Contains(t, text, "POST application/x-www-form-urlencoded a=1")
	text, err = post(t, c, base+"/on", "")
	require.NoError(t, err)
	require.Contains(t, text, "307 Temporary Redirect; leads to http://127.0.0.1:1/inside")
	require.EqualValues(t, 3, bodies.Load())
}

// TestPostThatBroke: before a connection it was surely not sent; after that nobody knows.
func TestPostThatBroke(t *testing.T) {
	t.Parallel()
	c, base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	_, err := post(t, c, base, "{}")
	require.Equal(t, domain.CodeOutcomeUnknown, domain.AsError(err).Code, "%v", err)
	require.False(t, tool.IsNotStarted(err))

	closed, err := net.Listen("tcp", first+":0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	_, err = post(t, c, "http://"+closed.Addr().String(), "{}")
	require.True(t, tool.IsNotStarted(err), "%v", err)
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)

	untrusted := httptest.NewUnstartedServer(says("text/plain", ""))
	untrusted.Listener, err = net.Listen("tcp", first+":0")
	require.NoError(t, err)
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	_, err = post(t, c, untrusted.URL, "{}")
	require.ErrorContains(t, err, "its certificate is not valid")
	require.True(t, tool.IsNotStarted(err))
}

// TestWhatBecameOfAPost: a server that fails may have done what it was asked; one that has said how it went has, also where
// the rest of its answer is lost.
func TestWhatBecameOfAPost(t *testing.T) {
	t.Parallel()
	c, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(path.Base(r.URL.Path))
		if err != nil {
			status = http.StatusOK
		}
		w.Header().Set("Content-Type", "text/plain")
		switch {
		case strings.HasPrefix(r.URL.Path, "/cut"):
			w.Header().Set("Content-Length", "100")
		case strings.HasPrefix(r.URL.Path, "/pack"):
			w.Header().Set("Content-Encoding", "br")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "why")
	})
	for path, want := range map[string]string{
		"/500": "outcome unknown: the server failed, and may have done before what it was asked; the request was not repeated: [POST " + base + "/500: 500 Internal Server Error; ",
		"/502": "outcome unknown: ", "/503": "outcome unknown: ", "/504": "outcome unknown: ", "/cut/502": "outcome unknown: ",
		"/cut":     "[POST " + base + "/cut: 200 OK; its body broke off or cannot be unpacked; fetched ",
		"/cut/201": "201 Created; its body broke off",
		"/pack":    "200 OK; its body is packed as \"br\", which was not asked for; fetched ",
		"/cut/409": "409 Conflict; its body broke off",
		"/400":     "400 Bad Request; text/plain; 3 bytes]",
	} {
		text, err := post(t, c, base+path, "{}")
		switch {
		case strings.HasPrefix(want, "outcome unknown"):
			require.Equal(t, domain.CodeOutcomeUnknown, domain.AsError(err).Code, path)
			require.ErrorContains(t, err, want)
		case strings.HasPrefix(want, "4"):
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind, path)
			require.Empty(t, domain.AsError(err).Code, path)
			require.ErrorContains(t, err, want)
		default:
			require.NoError(t, err, path)
			require.Contains(t, text, want)
		}
	}
	_, err := get(t, c, base+"/502")
	require.Empty(t, domain.AsError(err).Code, "what is only read has no outcome")
	_, err = get(t, c, base+"/cut")
	require.ErrorContains(t, err, "its body broke off")
}

func TestStatusesAreErrorsFrom400(t *testing.T) {
	t.Parallel()
	c, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		if wait := r.FormValue("wait"); wait != "" {
			w.Header().Set("Retry-After", wait)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"why":"field x"}`))
	})
	for path, want := range map[string]*domain.Error{
		"/400": {Kind: domain.Invalid}, "/404": {Kind: domain.Invalid}, "/422": {Kind: domain.Invalid}, "/401": {Kind: domain.Denied}, "/403": {Kind: domain.Denied},
		"/429": {Kind: domain.Throttled}, "/429?wait=7": {Kind: domain.Throttled, RetryAfter: 7 * time.Second}, "/429?wait=86400": {Kind: domain.Denied},
		"/500": {Kind: domain.Invalid}, "/503": {Kind: domain.Unavailable}, "/599": {Kind: domain.Invalid},
	} {
		_, err := get(t, c, base+path)
		got := domain.AsError(err)
		require.Equal(t, want.Kind, got.Kind, path)
		require.Equal(t, want.RetryAfter, got.RetryAfter, path)
		require.Contains(t, got.Message, `{"why":"field x"}`, "the model reads what the server says")
		require.Contains(t, got.Message, ": "+strings.TrimPrefix(path, "/")[:3]+" ")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	packed := func(n int) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(bytes.Repeat([]byte("a"), n))
		_ = w.Close()
		return b.Bytes()
	}
	bomb, nothing := packed(32<<20), bytes.Repeat(packed(0), 400_000)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	c, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/long":
			for range 40 {
				_, _ = w.Write(bytes.Repeat([]byte("b"), 1<<20))
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		case "/empty-members":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(nothing)
		case "/broken":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("not packed at all"))
		case "/br":
			w.Header().Set("Content-Encoding", "br")
		case "/header":
			for i := range 2000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("h", 100))
			}
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/slow":
			w.(http.Flusher).Flush()
			<-release
		case "/short":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("short"))
		}
	})
	c.bounds.whole = 2 * time.Minute
	for path, want := range map[string]string{
		"/long":          "only the first 4194304 bytes are read; bytes 0 to 60000 of 4194304 of the text; read on with from 60000",
		"/bomb":          "only the first 4194304 bytes are read",
		"/empty-members": "only the first 0 bytes are read",
	} {
		text := answered(t, c, base+path)
		require.Contains(t, text, want, path)
		require.Less(t, len(text), 61_000)
	}
	for path, want := range map[string]string{
		"/broken": "cannot be unpacked", "/br": "packed as \"br\", which was not asked for", "/header": "cannot be reached",
		"/loop": "more than 5 redirects", "/short": "broke off",
	} {
		_, err := get(t, c, base+path)
		require.ErrorContains(t, err, want, path)
	}
	c.bounds.whole = 200 * time.Millisecond
	_, err := get(t, c, base+"/slow")
	require.Equal(t, domain.CodeTimeout, domain.AsError(err).Code, "%v", err)
}

func TestLongTextIsReadInParts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 50_000)
	c, base := serve(t, says("text/plain; charset=utf-8", long))
	got, from := "", 0
	for _, want := range []string{"bytes 0 to 60000 of 100000 of the text; read on with from 60000", "bytes 60000 to 100000, the end of the text"} {
		text, err := call(t.Context(), t, c, "http_get", fields{"url": base, "from": from})
		require.NoError(t, err)
		head, part, _ := strings.Cut(text, "\n")
		require.Contains(t, head, want)
		got, from = got+part, 60_000
	}
	require.Equal(t, long, got)
	_, err := call(t.Context(), t, c, "http_get", fields{"url": base, "from": 100_000})
	require.ErrorContains(t, err, "from: 100000 is past the end: the text has 100000 bytes")
	_, err = call(t.Context(), t, c, "http_get", fields{"url": base, "from": -1})
	require.ErrorContains(t, err, "from: is below 0")
}

func TestOnlyTextIsShown(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct{ body, want string }{
		"application/pdf":                {"%PDF-1.7 secret", "application/pdf; 15 bytes; no text, so not shown; fetched"},
		"image/png":                      {"\x89PNG", "image/png; 4 bytes; no text"},
		"application/octet-stream":       {"abc", "no text"},
		"nonsense; x":                    {"\x00\x01\x02", "application/octet-stream; 3 bytes; no text"},
		"":                               {"plain words", "text/plain; 11 bytes"},
		"TEXT/HTML":                      {"<p>hello", "its readable text"},
		"application/problem+json":       {`{"a":1}`, `{"a":1}`},
		"image/svg+xml":                  {"<svg/>", "<svg/>"},
		"text/plain; charset=iso-8859-1": {"caf\xe9", "café"},
		"text/html; charset=shift_jis":   {"<p>\x93\xfa\x96\x7b", "日本"},
		"text/html":                      {`<meta charset="windows-1252"><p>` + "\x80 5", "€ 5"},
		"text/plain; charset=utf-8":      {"a\xffb", "a\uFFFDb"},
		`text/plain; x="a]\n[GET http://bank: 200`: {"x", "text/plain; 1 bytes"},
	} {
		c, base := serve(t, says(kind, test.body))
		text := answered(t, c, base)
		require.Contains(t, text, test.want, kind)
		require.NotContains(t, text, "secret")
		require.NotContains(t, strings.SplitN(text, "\n", 2)[0], "bank")
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	c, base := serve(t, says("text/plain", "fine"))
	refused := func(tool string, args fields, says string) {
		if args["url"] == nil {
			args["url"] = base
		}
		_, err := call(t.Context(), t, c, tool, args)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "lookup", "resolvers are not named")
	}
	for _, header := range []string{"Authorization", "cookie", "Host", "Range", "Accept-Encoding", "X-Forwarded-For"} {
		refused("http_get", fields{"headers": map[string]string{header: "x"}}, "may not be set; allowed are Accept,")
	}
	for value, says := range map[string]string{"x\r\nHost: bank": "holds what may not stand there", strings.Repeat("x", 1001): "too long"} {
		refused("http_get", fields{"headers": map[string]string{"Accept": value}}, says)
	}
	refused("http_get", fields{"url": "http://a/" + strings.Repeat("x", 9000)}, "at most 8192")
	refused("http_get", fields{"method": "DELETE"}, "the schema has no such property")
	refused("http_get", fields{"url": "http://nowhere.invalid/"}, "")
	refused("http_post", fields{"body": "x", "headers": map[string]string{"Content-Length": "9"}}, "may not be set")
	refused("http_post", fields{"body": "x", "content_type": "json\r\nX: y"}, "is no media type")
	refused("http_post", fields{"body": strings.Repeat("x", 1<<20+1)}, "at most 1048576")
}

// TestProxy: requests go through a proxy only where one is configured, and then all do.
func TestProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	c, base := serve(t, says("text/plain", "direct"))
	text := answered(t, c, base)
	require.Contains(t, text, "direct")

	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.String())
		_, _ = w.Write([]byte("by proxy"))
	}))
	t.Cleanup(proxy.Close)
	c, err := New(Config{Proxy: proxy.URL})
	require.NoError(t, err)
	text = answered(t, c, "http://example.com/x")
	require.Contains(t, text, "by proxy")
	require.Equal(t, "http://example.com/x", asked.Load())
	for _, address := range []string{"http://127.0.0.1:9/", "http://169.254.169.254/", "http://2130706433/", "http://[::1]:8080/"} {
		_, err = get(t, c, address)
		require.Equal(t, domain.Denied, domain.AsError(err).Kind, address)
	}
	_, err = New(Config{Proxy: "ftp://x"})
	require.Error(t, err)
}

func TestReadablePages(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("https://example.com/docs/page")
	require.NoError(t, err)
	for name, test := range map[string]struct{ page, want string }{
		"words and spaces":           {"<p>One\n  <b>two</b> <i>th</i>ree&nbsp;&amp; four</p><p>five", "One two three & four\n\nfive"},
		"no space that is not there": {"a<b>b</b>c <i> d </i>e", "abc d e"},
		"headings and lists":         {"<h1>A</h1>text<ul><li>one<li>two</ul><h2> B </h2>", "# A\n\ntext\n\n- one\n- two\n\n## B"},
		"links":                      {`<a href="/x?a=1&amp;b=2">x</a> <a href="#top">top</a> <a href="javascript:alert(1)">j</a> <a href="https://u:p@h/">c</a> <a href="y"></a>`, "x (https://example.com/x?a=1&b=2) top j c"},
		"a base":                     {`<base href="https://other.example/"><a href="x">x</a>`, "x (https://other.example/x)"},
		"scripts and styles":         {"<head><title>T</title><style>p{}</style><script>if (a<b) {'</p>'}</script></head><p>seen<template>no</template><svg><text>no</text></svg>", "T\n\nseen"},
		"a table":                    {"<table><tr><th>k<th>v</tr><tr><td>1</td><td>2</td></tr></table>", "k | v\n1 | 2"},
		"code":                       {"<pre>  a\n    b</pre>after", "a\n    b\n\nafter"},
		"breaks and images":          {`a<br>b<img alt="a chart" src=x><img src=y>`, "a\nb[image: a chart]"},
		"not closed":                 {"<script>never", ""},
		"closed too often":           {"</p></div></svg></pre>text", "text"},
		"nested hidden":              {"<svg><svg></svg>no</svg>yes", "yes"},
	} {
		text, err := readable(t.Context(), test.page, base, 1<<20)
		require.NoError(t, err, name)
		require.Equal(t, test.want, text, name)
	}
}

// TestHostilePages: no page takes long, whatever it holds: one whose time grew with the square of its length would.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("https://example.com/")
	require.NoError(t, err)
	for _, unit := range []string{"<div>", "<b><i>", "<a href=x>", "<table><tr><td>x", "<script>var x;</script>text ", "<", "<p a=\"", "<svg>", "</svg>", "&amp", "<pre>\n", "<!--", "<li>", "<base href=x>", " \t"} {
		began := time.Now()
		_, err := readable(t.Context(), strings.Repeat(unit, (1<<20)/len(unit)), base, 8<<20)
		require.NoError(t, err)
		require.Less(t, time.Since(began), 2*time.Minute, unit)
	}
}
