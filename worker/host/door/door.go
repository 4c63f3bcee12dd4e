// Package door keeps foreign web pages, and programs of other users of this machine,
// out of endpoints that ask nobody who they are: Temporal's server and UI, and the
// codec. A browser on the same machine carries any page's requests to them.
//
// [Door] is for pages: who comes from a browser is let in only if the browser says
// that one of our own pages asks. It is no authentication: any program that reaches
// the endpoint may use it. [Peers] is for programs: a listener on loopback takes
// connections of this user and of root alone, as the kernel tells whose they are.
package door

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A Door says whose requests an endpoint takes. The zero value takes those that
// reach it as localhost or by an address, from its own pages and from programs
// that are no browser.
type Door struct {
	// Hosts are further names under which it is reached, without a port. A name
	// that anybody may bind to this machine's address must not be one: its pages
	// would count as the endpoint's own.
	Hosts []string
	// Origins are those whose pages may use it beside its own, such as
	// http://localhost:8233.
	Origins []string
}

// Refusal says why a request is to be refused; empty: it is not.
func (d Door) Refusal(r *http.Request) string {
	if !d.knows(r.Host) {
		return fmt.Sprintf("it is not reached as %q: take localhost, or name the host where it is started", r.Host)
	}
	// A page of another origin that loads this as an image, a script or the like sends no Origin. A link to the endpoint is none.
	foreign := !slices.Contains([]string{"", "none", "same-origin"}, r.Header.Get("Sec-Fetch-Site")) && r.Header.Get("Sec-Fetch-Mode") != "navigate"
	switch origin := r.Header.Get("Origin"); {
	case origin == "" && foreign:
		return "pages of others may not use it"
	case origin == "", origin == "http://"+r.Host, origin == "https://"+r.Host, slices.Contains(d.Origins, origin):
		return ""
	default:
		return "pages of " + origin + " may not use it"
	}
}

// knows reports whether a Host header names the endpoint. Whoever owns a name
// can bind it to any address once its page is loaded, but nobody owns an
// address, and browsers keep localhost to themselves.
func (d Door) knows(host string) bool {
	name := host
	if cut, _, err := net.SplitHostPort(host); err == nil {
		name = cut
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || slices.Contains(d.Hosts, name)
}

// Handler passes on what the door lets in, and answers 403 for the rest.
func (d Door) Handler(inside http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := d.Refusal(r); reason != "" {
			http.Error(w, "Everstep: "+reason, http.StatusForbidden)
			return
		}
		inside.ServeHTTP(w, r)
	})
}

// Before is the door before another server: a proxy. The target is its URL,
// without a path; dial connects to it, nil as usual.
func (d Door) Before(target *url.URL, dial func(ctx context.Context, network, address string) (net.Conn, error)) http.Handler {
	return d.Handler(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // the server compares it with the origin too
		},
		// No proxy of the environment: the target is near.
		Transport:     &http.Transport{MaxIdleConnsPerHost: 16, DialContext: dial},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "Everstep: what is behind this does not answer: "+err.Error(), http.StatusBadGateway)
		},
	})
}
