package host

import (
	"net"
	"net/netip"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"everstep/domain"
)

// Connection names a Temporal server. The zero value is the local one.
type Connection struct {
	// Address is host:port. Empty: 127.0.0.1:7233.
	Address string
	// Namespace is Temporal's. Empty: default.
	Namespace string
	// Profile is a profile of Temporal's configuration file; it counts only
	// when the configuration is read with FromEnvironment.
	Profile string
	// Configured says that a flag, a variable or a profile named the server.
	// FromEnvironment sets it.
	Configured bool
	// Logger gets what the SDK has to say. Nil: nobody.
	Logger log.Logger

	// base has what a profile says beyond address and namespace: TLS, keys,
	// headers.
	base client.Options
}

const (
	defaultAddress   = "127.0.0.1:7233"
	defaultNamespace = "default"
)

func (c Connection) withDefaults() Connection {
	if c.Address == "" {
		c.Address = defaultAddress
	}
	if c.Namespace == "" {
		c.Namespace = defaultNamespace
	}
	return c
}

// Loopback reports whether an address is on this machine, so that short
// time-outs and many small messages cost nothing.
func Loopback(address string) bool {
	if scheme, rest, ok := strings.Cut(address, ":///"); ok && scheme != "" {
		address = rest
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// Timing is how soon lost work should be noticed, for agents that start on the
// server at that address.
func Timing(address string) domain.Timing {
	if Loopback(address) {
		return domain.Timing{Heartbeat: 3 * time.Second, FirstRetry: 100 * time.Millisecond}
	}
	return domain.Timing{Heartbeat: 30 * time.Second, FirstRetry: time.Second}
}

// TaskTimeout is the workflow task time-out for agents that start on the server
// at that address: how long a killed worker's decision is waited for.
func TaskTimeout(address string) time.Duration {
	if Loopback(address) {
		return 2 * time.Second
	}
	return 10 * time.Second
}

// stickyTimeout is how long a workflow task waits for the worker that has the
// workflow in memory before any other may take it.
func stickyTimeout(address string) time.Duration {
	if Loopback(address) {
		return 500 * time.Millisecond
	}
	return time.Second
}

// heartbeatThrottle is how often a heartbeat reaches the server, and so how
// soon a cancellation reaches an activity. Temporal Cloud bills heartbeats.
func heartbeatThrottle(address string) time.Duration {
	if Loopback(address) {
		return 200 * time.Millisecond
	}
	return 5 * time.Second
}
