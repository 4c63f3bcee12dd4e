package web

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"everstep/domain"
)

// A rule is what the configuration allows beyond the public network: the addresses
// of a prefix, or a host by its name, on one port or all of them.
type rule struct {
	prefix netip.Prefix
	host   string
	port   uint16
}

// Allow is what the tools may reach beyond the public network. The zero value is nothing.
type Allow []rule

// ParseAllow reads what the tools may reach: addresses, prefixes and names of
// hosts, each of the first and the last with a port if it is to be one alone. A name
// allows what it stands for where that is private, this machine's or a carrier's; what is
// link-local, such as the metadata of clouds, wants its address.
func ParseAllow(entries []string) (allow Allow, err error) {
	for _, entry := range entries {
		r, err := parseRule(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		allow = append(allow, r)
	}
	return allow, nil
}

// holds reports whether an address is one of those allowed.
func (a Allow) holds(addr netip.Addr, port uint16) bool {
	return slices.ContainsFunc(a, func(r rule) bool { return r.prefix.Contains(addr) && r.at(port) })
}

// names reports whether a host is allowed by its name.
func (a Allow) names(host string, port uint16) bool {
	return slices.ContainsFunc(a, func(r rule) bool { return r.host != "" && r.host == plainHost(host) && r.at(port) })
}

func (r rule) at(port uint16) bool { return r.port == 0 || r.port == port }

func parseRule(entry string) (rule, error) {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		return rule{prefix: prefix.Masked()}, nil
	}
	r := rule{host: entry}
	if host, port, err := net.SplitHostPort(entry); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
			r.host, r.port = host, uint16(n)
		}
	}
	if addr, err := netip.ParseAddr(strings.Trim(r.host, "[]")); err == nil && addr.Zone() == "" {
		return rule{prefix: netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), port: r.port}, nil
	}
	r.host = plainHost(r.host)
	if r.host == "" || strings.ContainsAny(r.host, " /@:*%[]\\") || endsInNumber(r.host) {
		return rule{}, fmt.Errorf("%q is no address, prefix or host with or without a port, as in 10.1.0.0/16, 127.0.0.1:8080 or intranet.example.com", entry)
	}
	return r, nil
}

// plainHost is a name of a host as names are compared.
func plainHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// endsInNumber reports whether a host is meant as an IPv4 address, in whatever
// spelling: resolvers of some systems take 2130706433, 0x7f.1 and 0177.1 for one.
func endsInNumber(host string) bool {
	last := plainHost(host)
	last = last[strings.LastIndexByte(last, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// A reach says what an address is part of.
type reach int

const (
	// public: anybody's.
	public reach = iota
	// inner: this machine's, a private network's or a carrier's.
	inner
	// never: link-local, metadata, multicast, reserved, or another address in disguise.
	never
)

// prefixes are those of the registries of special addresses, and what clouds serve
// their metadata at. Of IPv6 all that is outside of 2000::/3 is never public.
func prefixes() map[reach][]string {
	return map[reach][]string{
		inner: {
			"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // private
			"127.0.0.0/8", "::1/128", // this machine
			"100.64.0.0/10", // a carrier's
			"fc00::/7",      // private
		},
		never: {
			"169.254.0.0/16",                                                                  // link-local, metadata
			"100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128", // metadata elsewhere
			"0.0.0.0/8", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4", // this network, protocols, 6to4, tests, reserved
			"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20", // documentation
			"224.0.0.0/4", // multicast
			"2001::/23",   // protocols: Teredo, ORCHID
			"2002::/16",   // 6to4
		},
	}
}

// A network judges addresses. It is made once and not changed.
type network struct {
	allow   Allow
	special map[reach][]netip.Prefix
	// own are the addresses of this machine, which may be public ones.
	own func() []netip.Addr
}

func newNetwork(allow Allow) *network {
	n := &network{allow: allow, special: map[reach][]netip.Prefix{}, own: ownAddresses}
	for where, all := range prefixes() {
		for _, p := range all {
			n.special[where] = append(n.special[where], netip.MustParsePrefix(p))
		}
	}
	return n
}

func ownAddresses() []netip.Addr {
	found, _ := net.InterfaceAddrs() // without them there is one check less
	var own []netip.Addr
	for _, a := range found {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap())
		}
	}
	return own
}

// reach classifies an address, mapped ones as what they stand for.
func (n *network) reach(addr netip.Addr) reach {
	holds := func(p netip.Prefix) bool { return p.Contains(addr) }
	b := addr.As16()
	switch {
	case addr.Zone() != "", slices.ContainsFunc(n.special[never], holds):
		return never
	case slices.ContainsFunc(n.special[inner], holds), slices.Contains(n.own(), addr):
		return inner
	case addr.Is6() && b[0]>>5 != 1: // outside of 2000::/3
		return never
	case addr.Is6() && (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP: it holds one of IPv4
		return never
	}
	return public
}

// check refuses an address that may not be dialled for a host.
func (n *network) check(host string, to netip.AddrPort) error {
	addr := to.Addr().Unmap()
	if n.allow.holds(addr, to.Port()) {
		return nil
	}
	switch where := n.reach(addr); {
	case where == public, where == inner && n.allow.names(host, to.Port()):
		return nil
	}
	err := domain.Deniedf("url: %s is, or leads to, an address of the worker's own machine or network or a reserved one, where the tools may not go", shorten(host))
	err.Detail = "refused to dial " + to.String()
	return err
}

func shorten(text string) string { return domain.Shorten(strconv.Quote(text), 200) }
