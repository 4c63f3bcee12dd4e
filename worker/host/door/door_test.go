package door_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/worker/host/door"
)

func TestWhoIsLetIn(t *testing.T) {
	t.Parallel()
	d := door.Door{Hosts: []string{"temporal.example"}, Origins: []string{"http://localhost:8233"}}
	for name, test := range map[string]struct {
		host, origin, site, mode string
		in                       bool
	}{
		"a program":                     {host: "127.0.0.1:8233", in: true},
		"the CLI, by name":              {host: "localhost:8233", in: true},
		"without a port":                {host: "localhost", in: true},
		"in capitals":                   {host: "LOCALHOST:8233", in: true},
		"by an IPv6 address":            {host: "[::1]:8233", in: true},
		"its bare form":                 {host: "[::1]", in: true},
		"by a container's address":      {host: "172.18.0.3:8080", in: true},
		"by the name that it is given":  {host: "temporal.example", in: true},
		"its own page":                  {host: "127.0.0.1:8233", origin: "http://127.0.0.1:8233", site: "same-origin", mode: "cors", in: true},
		"its own page, behind TLS":      {host: "temporal.example", origin: "https://temporal.example", in: true},
		"a page that is listed":         {host: "127.0.0.1:8234", origin: "http://localhost:8233", site: "same-site", mode: "cors", in: true},
		"typed into the address bar":    {host: "localhost:8233", site: "none", mode: "navigate", in: true},
		"its own image":                 {host: "localhost:8233", site: "same-origin", mode: "no-cors", in: true},
		"a link to it":                  {host: "localhost:8233", site: "cross-site", mode: "navigate", in: true},
		"a rebound name":                {host: "evil.test:8233"},
		"a rebound name, its own page":  {host: "evil.test:8233", origin: "http://evil.test:8233", site: "same-origin"},
		"a name that ends alike":        {host: "evil-localhost:8233"},
		"a name below":                  {host: "localhost.evil.test:8233"},
		"a name with an address in it":  {host: "127.0.0.1.evil.test:8233"},
		"no host":                       {host: ""},
		"another page":                  {host: "localhost:8233", origin: "http://evil.test"},
		"a sandboxed page":              {host: "localhost:8233", origin: "null"},
		"another program's page here":   {host: "localhost:8233", origin: "http://localhost:3000", site: "same-site"},
		"an origin that begins alike":   {host: "localhost:8233", origin: "http://localhost:82333"},
		"an image on another page":      {host: "localhost:8233", site: "cross-site", mode: "no-cors"},
		"an image on another page here": {host: "localhost:8233", site: "same-site", mode: "no-cors"},
		"a form on another page":        {host: "localhost:8233", origin: "http://evil.test", site: "cross-site", mode: "navigate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r.Host = test.host
			for key, value := range map[string]string{"Origin": test.origin, "Sec-Fetch-Site": test.site, "Sec-Fetch-Mode": test.mode} {
				if value != "" {
					r.Header.Set(key, value)
				}
			}
			require.Equal(t, test.in, d.Refusal(r) == "", d.Refusal(r))
		})
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Seen", r.Host+" "+r.URL.EscapedPath()+" "+r.URL.RawQuery)
	}))
	target, err := url.Parse(inner.URL)
	require.NoError(t, err)
	outer := httptest.NewServer(door.Door{}.Before(target, nil))
	t.Cleanup(outer.Close)
	get := func(host string) (*http.Response, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, outer.URL+"/a%2Fb?q=1", nil)
		require.NoError(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response, string(text)
	}

	response, _ := get("localhost:1")
	require.Equal(t, "localhost:1 /a%2Fb q=1", response.Header.Get("Seen"))
	response, text := get("evil.test")
	require.Equal(t, http.StatusForbidden, response.StatusCode)
	require.Contains(t, text, "evil.test")
	require.Empty(t, response.Header.Get("Seen"))

	inner.Close()
	response, _ = get("localhost:1")
	require.Equal(t, http.StatusBadGateway, response.StatusCode)
}
