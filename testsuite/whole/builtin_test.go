package whole_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCLIHTTP: an agent reads a page and posts to a server that the worker's
// configuration names; another server of this machine is never asked.
func TestCLIHTTP(t *testing.T) {
	t.Parallel()
	var posted, inside atomic.Int64
	named := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posted.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>Page</title><script>no</script><p>Read me.</p>"))
	}))
	t.Cleanup(named.Close)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	t.Cleanup(other.Close)

	c := newCLI(t)
	model := c.script("http.yaml", `turns:
  - tool_calls:
      - {name: http_get, arguments: {url: "`+named.URL+`/page"}}
      - {name: http_get, arguments: {url: "`+other.URL+`/"}}
      - {name: http_post, arguments: {url: "`+named.URL+`/post", body: "{}"}}
  - text: Done.
`)
	run := []string{"run", "--id", "web", "--model", model, "--tool", "http_get,http_post", "go"}
	got := c.do(run...)
	require.Equal(t, 2, got.code, got.err)
	require.Contains(t, got.err, "http_get is off on the worker that this command starts")

	on := c.on("EVERSTEP_BUILTIN_TOOLS=http_get,http_post", "EVERSTEP_HTTP_ALLOW="+strings.TrimPrefix(named.URL, "http://"))
	got = on.do(run...)
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "Done.\n", got.out)
	require.EqualValues(t, 1, posted.Load())
	require.Zero(t, inside.Load())
	dev := on.dev()
	said := c.ok("messages", "web", "--json")
	require.Contains(t, said, "its readable text")
	require.Contains(t, said, `Page\n\nRead me.`)
	require.Contains(t, said, "where the tools may not go")
	require.Equal(t, 0, dev.interrupt().wait().code)
}
