package web

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"everstep/domain"
)

// inside are URLs that lead, or try to lead, to where tools may not go. PORT is where
// something listens on all addresses of this machine.
func inside() map[string]string {
	return map[string]string{
		"loopback":                     "http://127.0.0.1:PORT/",
		"another of loopback":          "http://127.1.2.3:PORT/",
		"the end of loopback":          "http://127.255.255.254:PORT/",
		"two numbers":                  "http://127.1:PORT/",
		"three numbers":                "http://127.0.1:PORT/",
		"decimal":                      "http://2130706433:PORT/",
		"decimal beyond 32 bits":       "http://6425673729:PORT/",
		"octal":                        "http://0177.0.0.1:PORT/",
		"octal, long":                  "http://0000000177.0000000.0.01:PORT/",
		"octal, whole":                 "http://017700000001:PORT/",
		"hexadecimal":                  "http://0x7f000001:PORT/",
		"hexadecimal, dotted":          "http://0x7f.0x0.0x0.0x1:PORT/",
		"hexadecimal, capital":         "http://0X7F000001:PORT/",
		"mixed":                        "http://0x7f.0.1:PORT/",
		"last hexadecimal and empty":   "http://127.0.0.0x:PORT/",
		"full stop":                    "http://127.0.0.1.:PORT/",
		"zero":                         "http://0:PORT/",
		"unspecified":                  "http://0.0.0.0:PORT/",
		"this network":                 "http://0.1.2.3:PORT/",
		"a name":                       "http://localhost:PORT/",
		"a name in capitals":           "http://LOCALHOST:PORT/",
		"a name with its full stop":    "http://localhost.:PORT/",
		"wide digits":                  "http://１２７.０.０.１:PORT/",
		"digits in circles":            "http://①②⑦.⓪.⓪.①:PORT/",
		"an ideographic full stop":     "http://127。0。0。1:PORT/",
		"wide letters":                 "http://ｌｏｃａｌｈｏｓｔ:PORT/",
		"encoded":                      "http://%31%32%37.0.0.1:PORT/",
		"a soft hyphen":                "http://local\u00adhost:PORT/",
		"IPv6":                         "http://[::1]:PORT/",
		"IPv6, long":                   "http://[0:0:0:0:0:0:0:1]:PORT/",
		"IPv6, padded":                 "http://[0000::0001]:PORT/",
		"IPv6 unspecified":             "http://[::]:PORT/",
		"mapped":                       "http://[::ffff:127.0.0.1]:PORT/",
		"mapped, hexadecimal":          "http://[::ffff:7f00:1]:PORT/",
		"mapped, long":                 "http://[0:0:0:0:0:ffff:7f00:0001]:PORT/",
		"mapped, private":              "http://[::ffff:10.0.0.1]:PORT/",
		"mapped, metadata":             "http://[::ffff:169.254.169.254]/",
		"compatible":                   "http://[::127.0.0.1]:PORT/",
		"translated":                   "http://[::ffff:0:127.0.0.1]:PORT/",
		"NAT64":                        "http://[64:ff9b::7f00:1]:PORT/",
		"NAT64, local":                 "http://[64:ff9b:1::7f00:1]:PORT/",
		"6to4":                         "http://[2002:7f00:1::]:PORT/",
		"Teredo":                       "http://[2001:0:7f00:1::80ff:fffe]:PORT/",
		"ISATAP":                       "http://[2600::5efe:127.0.0.1]:PORT/",
		"a zone":                       "http://[fe80::1%25lo]:PORT/",
		"a zone of loopback":           "http://[::1%25lo]:PORT/",
		"link-local":                   "http://169.254.1.1:PORT/",
		"link-local, IPv6":             "http://[fe80::1]:PORT/",
		"site-local, IPv6":             "http://[fec0::1]:PORT/",
		"unique local, IPv6":           "http://[fd12:3456::1]:PORT/",
		"metadata":                     "http://169.254.169.254/latest/meta-data/",
		"metadata, decimal":            "http://2852039166/latest/meta-data/",
		"metadata, IPv6":               "http://[fd00:ec2::254]/latest/meta-data/",
		"metadata of another cloud":    "http://100.100.100.200/latest/meta-data/",
		"metadata at a public address": "http://168.63.129.16/machine",
		"private 10":                   "http://10.0.0.1:PORT/",
		"private 172":                  "http://172.31.255.255:PORT/",
		"private 192":                  "http://192.168.1.1:PORT/",
		"a carrier's":                  "http://100.64.0.1:PORT/",
		"tests":                        "http://198.18.0.1:PORT/",
		"documentation":                "http://192.0.2.1:PORT/",
		"documentation, IPv6":          "http://[2001:db8::1]:PORT/",
		"protocols":                    "http://192.0.0.1:PORT/",
		"multicast":                    "http://224.0.0.1:PORT/",
		"multicast, IPv6":              "http://[ff02::1]:PORT/",
		"broadcast":                    "http://255.255.255.255:PORT/",
		"reserved":                     "http://240.0.0.1:PORT/",
		"credentials":                  "http://user:sesame@127.0.0.1:PORT/",
		"credentials to the allowed":   "http://user:sesame@" + first + ":PORT/",
		"a host as a user":             "http://example.com@127.0.0.1:PORT/",
		"an empty user":                "http://@127.0.0.1:PORT/",
		"a backslash":                  `http://example.com\@127.0.0.1:PORT/`,
		"backslashes":                  `http:\\127.0.0.1:PORT\`,
		"a fragment":                   "http://127.0.0.1:PORT#@example.com/",
		"a line end":                   "http://127.0.0.1:PORT/\r\nHost: example.com",
		"a tab":                        "http://127.0.0.1:PO\tRT/",
		"a zero byte":                  "http://127.0.0.1\x00.example.com:PORT/",
		"a blank":                      " http://127.0.0.1:PORT/",
		"no scheme":                    "//127.0.0.1:PORT/",
		"only a host":                  "127.0.0.1:PORT",
		"opaque":                       "http:127.0.0.1:PORT",
		"no host":                      "http:///127.0.0.1:PORT/",
		"file":                         "file:///etc/passwd",
		"file of a host":               "file://127.0.0.1/etc/passwd",
		"gopher":                       "gopher://127.0.0.1:PORT/_GET%20/",
		"ftp":                          "ftp://127.0.0.1:PORT/",
		"data":                         "data:text/plain,inside",
		"a socket":                     "unix:///var/run/docker.sock",
		"a socket under HTTP":          "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
		"javascript":                   "javascript:alert(1)",
		"a port of none":               "http://127.0.0.1:99999/",
		"port 0":                       "http://127.0.0.1:0/",
		"an empty port":                "http://" + first + ":/",
		"the port of another protocol": "http://" + "example.com:25/",
	}
}

func TestNothingInsideIsReached(t *testing.T) {
	t.Parallel()
	l := listen(t)
	c := client(t, first)
	answered, err := get(t, c, "http://"+first+":"+l.port+"/")
	require.NoError(t, err)
	require.Contains(t, answered, "the inside", "what is allowed is reached, so the rest could be")

	refused := func(t *testing.T, tool, address string) {
		t.Helper()
		args := fields{"url": address}
		if tool == "http_post" {
			args["body"] = "{}"
		}
		text, err := call(t.Context(), t, c, tool, args)
		require.Error(t, err, "answered %q", text)
		require.Contains(t, []domain.Kind{domain.Denied, domain.Invalid}, domain.AsError(err).Kind, "%s: %s", err, domain.AsError(err).Detail)
		require.NotContains(t, err.Error(), "sesame")
	}
	rows := inside()
	require.GreaterOrEqual(t, len(rows), 60)
	for name, address := range rows {
		address = strings.ReplaceAll(address, "PORT", l.port)
		t.Run(name, func(t *testing.T) {
			refused(t, "http_get", address)
			refused(t, "http_post", address)
			if strings.ContainsAny(address, "\r\n\x00") {
				return // no server can send such a header
			}
			for _, status := range []int{301, 302, 303, 307, 308} {
				refusedAfter(t, c, l.redirect(status, address), address)
			}
		})
	}
	own, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Zone() == "" && !p.Addr().IsLinkLocalUnicast() {
			refused(t, "http_get", "http://"+netip.AddrPortFrom(p.Addr(), 0).Addr().String()+":"+l.port+"/")
		}
	}
	require.Zero(t, l.escapes.Load(), l.seen)
}

// refusedAfter is a redirect: some of them are relative, and so lead to the server that
// they come from, which is allowed.
func refusedAfter(t *testing.T, c *Client, from, to string) {
	t.Helper()
	text, err := get(t, c, from)
	if err == nil {
		require.NotContains(t, text, "redirected from", "followed to %q", to)
		return
	}
	require.NotEqual(t, domain.Internal, domain.AsError(err).Kind)
}

// A names answers questions about names, each time with the next of its answers.
type names struct {
	mu      sync.Mutex
	asked   int
	answers [][]string
}

// to are the addresses of the kind that is asked for. Each lookup asks for IPv4 once.
func (n *names) to(kind dnsmessage.Type) (addrs []netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := min(n.asked, len(n.answers)-1)
	if kind == dnsmessage.TypeA {
		n.asked++
	}
	for _, text := range n.answers[i] {
		if addr := netip.MustParseAddr(text); addr.Is4() == (kind == dnsmessage.TypeA) {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// resolver is one that asks a server of its own, which answers questions for addresses of either kind.
func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		packet := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(packet[:size]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			for _, addr := range n.to(m.Questions[0].Type) {
				answer := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: m.Questions[0].Class}, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}}
				if addr.Is4() {
					answer.Body = &dnsmessage.AResource{A: addr.As4()}
				}
				m.Answers = append(m.Answers, answer)
			}
			if reply, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// TestNamesThatLeadInside: it is the address that is dialled which decides, so nothing
// can change between the check and the use.
func TestNamesThatLeadInside(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string][][]string{
		"loopback":                     {{"127.0.0.1"}},
		"metadata":                     {{"169.254.169.254"}},
		"two of loopback":              {{"127.0.0.1", "127.0.0.3"}},
		"metadata at a public address": {{"168.63.129.16"}},
		"IPv6 loopback":                {{"::1"}},
		"IPv6 ISATAP":                  {{"2600::5efe:127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(answers[0][0], ":") {
				if _, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]:0"); err != nil {
					t.Skip("SKIPPED: this machine has no IPv6, so no name leads to it")
				}
			}
			l, c := listen(t), client(t, first)
			c.resolver = (&names{answers: answers}).resolver(t)
			_, err := get(t, c, "http://rebind.example:"+l.port+"/")
			require.Equal(t, domain.Denied, domain.AsError(err).Kind, "%s", err)
			told := netip.MustParseAddr(answers[0][0]).String()
			require.NotContains(t, err.Error(), told, "what is inside is not told")
			require.Contains(t, domain.AsError(err).Detail, told)
			require.Zero(t, l.escapes.Load())
		})
	}
	t.Run("changes from call to call", func(t *testing.T) {
		t.Parallel()
		l, c := listen(t), client(t, first)
		c.resolver = (&names{answers: [][]string{{first}, {"127.0.0.1"}, {first}, {"127.0.0.1", first}}}).resolver(t)
		for i, good := range []bool{true, false, true, true} {
			_, err := get(t, c, "http://rebind.example:"+l.port+"/")
			require.Equal(t, good, err == nil, "%d: %v", i, err)
		}
		require.Zero(t, l.escapes.Load(), "of two addresses the one that is allowed is taken")
		require.EqualValues(t, 3, l.allowed.Load())
	})
	t.Run("changes on the way of a redirect", func(t *testing.T) {
		t.Parallel()
		l, c := listen(t), client(t, first)
		c.resolver = (&names{answers: [][]string{{first}, {"127.0.0.1"}}}).resolver(t)
		to := "http://rebind.example:" + l.port
		_, err := call(t.Context(), t, c, "http_get", fields{"url": strings.Replace(l.redirect(302, to+"/"), first, "rebind.example", 1)})
		require.Equal(t, domain.Denied, domain.AsError(err).Kind, "%s", err)
		require.Zero(t, l.escapes.Load())
	})
}

// TestAllowed: what the configuration names is reached, and nothing beside it.
func TestAllowed(t *testing.T) {
	t.Parallel()
	l := listen(t)
	for name, test := range map[string]struct {
		allow  []string
		answer string
		good   bool
	}{
		"an address":               {[]string{"127.0.0.2"}, "127.0.0.2", true},
		"another address":          {[]string{"127.0.0.2"}, "127.0.0.1", false},
		"an address and its port":  {[]string{"127.0.0.2:" + l.port}, "127.0.0.2", true},
		"an address, another port": {[]string{"127.0.0.2:1"}, "127.0.0.2", false},
		"a prefix":                 {[]string{"127.0.0.0/30"}, "127.0.0.2", true},
		"a prefix beside it":       {[]string{"127.0.0.4/30"}, "127.0.0.2", false},
		"a mapped address":         {[]string{"::ffff:127.0.0.2"}, "127.0.0.2", true},
		"a name":                   {[]string{"Intranet.Example."}, "127.0.0.2", true},
		"a name and its port":      {[]string{"intranet.example:" + l.port}, "127.0.0.2", true},
		"a name, another port":     {[]string{"intranet.example:1"}, "127.0.0.2", false},
		"another name":             {[]string{"example"}, "127.0.0.2", false},
		"a name for metadata":      {[]string{"intranet.example"}, "169.254.169.254", false},
		"a name for multicast":     {[]string{"intranet.example"}, "224.0.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, test.allow...)
			c.resolver = (&names{answers: [][]string{{test.answer}}}).resolver(t)
			_, err := get(t, c, "http://intranet.example:"+l.port+"/")
			require.Equal(t, test.good, err == nil, "%v", err)
		})
	}
	for _, entry := range []string{"", "*", "10.0.0.0/99", "http://a", "a b", "host:0", "host:99999", "127.0.0.1:0", "[::1]:99999", "fe80::1%lo", "user@host", "127.1", "0x7f000001", "*.example.com"} {
		_, err := ParseAllow([]string{entry})
		require.Error(t, err, entry)
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	n := newNetwork(Allow{})
	n.own = func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("8.8.4.4")} }
	for text, want := range map[string]reach{
		"8.8.8.8": public, "1.1.1.1": public, "172.15.0.1": public, "172.32.0.1": public, "100.63.0.1": public, "100.128.0.1": public,
		"2606:4700::1": public, "2a00::1": public, "223.255.255.255": public,
		"8.8.4.4": inner, "10.1.2.3": inner, "fc00::1": inner, "fdff::1": inner, "::1": inner,
		"::": never, "ff0e::1": never, "4000::1": never, "64:ff9b::808:808": never, "2001:1::1": never, "2002::1": never, "5f00::1": never, "fe80::1%eth0": never,
	} {
		require.Equal(t, want, n.reach(netip.MustParseAddr(text)), text)
	}
}
