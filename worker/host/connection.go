package host

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"everstep/domain"
	"everstep/worker/host/codec"
	"everstep/worker/host/startid"
	"everstep/worker/host/statefile"
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
	// State is the state file of a dev server of starter. Where no server is named, the one
	// that is up on that file is meant. Where its own address is named, the server's supervisor hands out the
	// connections, so that nothing goes through the relay that listens at the address. Empty: none is looked for.
	State string
	// Seat is a file that a worker holds while it serves. The next worker that takes the seat of one that was killed tells
	// the server so, whose agents then go on at once and not after up to 3 s on loopback, 5 s elsewhere. Where another
	// worker holds it, the file's name with .2, .3 and so on is the seat. Empty: a file beside State, or where that is
	// empty beside the state file of starter's own dev server, named by server, namespace and task queue; none where that
	// folder does not exist or cannot be written. NoSeat: none.
	Seat string
	// Logger gets what the SDK has to say, in words of ours where it tells of a kill, an
	// outage or a shutdown. Nil: nobody.
	Logger log.Logger

	// base has what a profile says beyond address and namespace: TLS, keys,
	// headers.
	base client.Options
	// credentials are what those keys are, and where they stand.
	credentials credentials
	// handed says that the dev server on State is the one at Address.
	handed bool
}

func (c Connection) withDefaults() Connection {
	c.Address = cmp.Or(c.Address, "127.0.0.1:7233")
	c.Namespace = cmp.Or(c.Namespace, "default")
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

// A pace is how soon things are noticed, which costs nothing on one machine.
type pace struct {
	// throttle is how often a heartbeat reaches the server that tells what a model says,
	// and every how often another does, and so how soon a cancellation reaches an
	// activity. Temporal Cloud bills heartbeats.
	throttle, every time.Duration
	// deadlock is how long a workflow may compute without waiting for anything.
	// The SDK's second is too short for a busy machine, where it fails a task that
	// only had no processor. It is shorter than a workflow task may take, so that what blocks one is
	// reported and not just timed out.
	deadlock time.Duration
	// sticky is how long a workflow task waits for the worker that has the workflow in
	// memory before any other may take it, which replays it: a busy worker that loses its
	// tasks to replays only gets busier. After a kill a lost heartbeat takes as long; a
	// question, for which a server has 5 s, waits as well.
	sticky time.Duration
}

func paceOf(address string) pace {
	if Loopback(address) {
		return pace{
			throttle: 200 * time.Millisecond, deadlock: 1500 * time.Millisecond, sticky: 3 * time.Second,
		}
	}
	return pace{
		throttle: 600 * time.Millisecond, every: 5 * time.Second, deadlock: 5 * time.Second, sticky: 5 * time.Second,
	}
}

// dialPatience bounds how long a server is waited for.
const dialPatience = 8 * time.Second

// Dial connects to the server and checks that it answers, within 8 seconds. The
// client converts payloads as Everstep's workers do, large ones compressed; whoever
// talks to agents needs one made here, and client.New reads what it writes. A server that does not answer is a *domain.Error of kind
// Unavailable that says what to do.
func Dial(ctx context.Context, connection Connection) (client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	connection, err := connection.located(ctx)
	if err != nil {
		return nil, err
	}
	connection = connection.withDefaults()
	if connection.State != "" && Loopback(connection.Address) {
		found, up, err := statefile.Running(ctx, connection.State)
		connection.handed = err == nil && up && found.Address == connection.Address
	}
	c, err := client.DialContext(ctx, connection.options())
	if err != nil {
		return nil, unreachable(connection.Address, err)
	}
	return c, nil
}

// toDev reports whether the dev server on a state file is meant.
func (c Connection) toDev() bool { return c.Address == "" && !c.Configured && c.State != "" }

// located has the address of the dev server that is meant, where that is one, and its storage
// where none is named: what that server's own workers put there all workers need.
func (c Config) located(ctx context.Context) (Config, error) {
	if c.Connection.toDev() && c.Storage == "" {
		c.Storage = statefile.StorageDir(c.Connection.State)
	}
	var err error
	c.Connection, err = c.Connection.located(ctx)
	return c, err
}

// located has the address of the dev server that is meant, where that is one.
func (c Connection) located(ctx context.Context) (Connection, error) {
	if !c.toDev() {
		return c, nil
	}
	found, up, err := statefile.Running(ctx, c.State)
	switch {
	case err != nil:
		return c, domain.Errorf(domain.Unavailable, "EVERSTEP_STATE: %s", err)
	case !up:
		return c, domain.Errorf(domain.Unavailable,
			"EVERSTEP_STATE: no dev server is up on %s; start one there, or name a server with --address (TEMPORAL_ADDRESS)", c.State).From("server")
	}
	if err := checkAddress(found.Address); err != nil || strings.Contains(found.Address, "://") || !Loopback(found.Address) {
		return c, domain.Errorf(domain.Unavailable, "EVERSTEP_STATE: what answers for %s names %q, which is no address of a dev server on this machine", c.State, domain.Shorten(found.Address, 100)).From("server")
	}
	c.Address, c.Namespace = found.Address, cmp.Or(c.Namespace, found.Namespace)
	return c, nil
}

func (c Connection) options() client.Options {
	options := c.base
	options.HostPort, options.Namespace = c.Address, c.Namespace
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	if c.Logger != nil {
		options.Logger = newSDKLogger(c.Logger)
	}
	options.DataConverter = codec.New().DataConverter()
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          options.DataConverter,
		EncodeCommonAttributes: true,
	})
	options.Interceptors = []interceptor.ClientInterceptor{&plain{}}
	options.ConnectionOptions.GetSystemInfoTimeout = dialPatience
	if Loopback(c.Address) {
		options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	between := []grpc.UnaryClientInterceptor{
		(&lostAttributes{}).leaveOut, startid.Intercept, (&seats{connection: c, taken: map[string]*os.File{}}).intercept,
	}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(between...))
	if c.handed {
		options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions,
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return statefile.Dial(ctx, c.State) }))
	}
	return options
}

func unreachable(address string, err error) error {
	said := strings.Split(strings.Trim(err.Error(), `"`), ": ") // of what gRPC says the last part tells
	own := domain.Errorf(domain.Unavailable,
		"address: no Temporal server answers at %s (%s); start one there, or name another with --address (TEMPORAL_ADDRESS)",
		address, domain.Shorten(said[len(said)-1], 200))
	if denied, ok := errors.AsType[*serviceerror.PermissionDenied](err); ok {
		own = domain.CodedErrorf(domain.Denied, domain.CodeAuth,
			"address: the Temporal server at %s refuses these credentials: %s; see TEMPORAL_API_KEY and the TLS settings of the profile",
			address, denied.Message)
	}
	own.Detail = err.Error()
	return own.From("server")
}
