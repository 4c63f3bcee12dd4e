package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// What a page names once must not be written for each of its links.
func TestLinksTakeNoMoreThanInProportionToTheirPage(t *testing.T) {
	t.Parallel()
	long, links := strings.Repeat("b", 100_000), strings.Repeat(`<a href=x>y</a> `, 400)
	c, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		page := links
		if r.URL.Path == "/base" {
			page = "<base href=\"http://a.example/" + long + "/\">" + `<a href="http://b.example/whole">z</a> ` + links
		}
		if r.URL.Path == "/bases" {
			page = strings.Repeat("<base href=\""+long[:1500]+"/\">", 100) + links
		}
		says("text/html", page)(w, r)
	})
	for _, path := range []string{"/base", "/bases", "/" + long[:6000] + "/"} {
		text := answered(t, c, base+path)
		require.Less(t, len(text), 60_000, path[:5])
		require.NotContains(t, text, "read on with", path[:5])
		require.Contains(t, text, "y y y")
		require.Equal(t, path == "/base", strings.Contains(text, "z (http://b.example/whole)"))
	}
	text := answered(t, c, base+"/?q="+long[:6000])
	require.Contains(t, text, "y ("+base+"/x)", "what is asked is no part of links")
}

func TestReadableTextEndsInTime(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("http://a.example/" + strings.Repeat("b", 1000) + "/")
	require.NoError(t, err)
	page := strings.Repeat(`<a href=x>y</a> `, 1000)
	text, err := readable(t.Context(), page, base, 10_000)
	require.NoError(t, err)
	require.Less(t, len(text), 12_000)
	require.Contains(t, text, "[what follows is left out")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = readable(ctx, page, base, 10_000)
	require.ErrorIs(t, err, context.Canceled)
}

func TestRedirectsToLongURLsAreRefused(t *testing.T) {
	t.Parallel()
	c, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/"+strings.Repeat("b", 20_000), http.StatusFound)
		}
	})
	_, err := get(t, c, base)
	require.Error(t, err)
	require.Equal(t, domain.TooLarge, domain.AsError(err).Kind)
	require.Less(t, len(err.Error()), 500)
}
