package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/worker/host/codec"
)

// dialPatience bounds how long a server is waited for.
const dialPatience = 8 * time.Second

// Dial connects to the server and checks that it answers, within 8 seconds. The
// client converts payloads as Everstep's workers do; whoever talks to agents
// needs one made here. A server that does not answer is a *domain.Error of kind
// Unavailable that says what to do.
func Dial(ctx context.Context, connection Connection) (client.Client, error) {
	connection = connection.withDefaults()
	options, err := connection.options()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, unreachable(connection, err)
	}
	return c, nil
}

func (c Connection) options() (client.Options, error) {
	compress, err := codec.New()
	if err != nil {
		return client.Options{}, err
	}
	options := c.base
	options.HostPort, options.Namespace = c.Address, c.Namespace
	options.Logger = c.Logger
	if options.Logger == nil {
		options.Logger = silence{}
	}
	options.DataConverter = compress.DataConverter()
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          options.DataConverter,
		EncodeCommonAttributes: true,
	})
	options.Interceptors = []interceptor.ClientInterceptor{&plain{}}
	options.ConnectionOptions.GetSystemInfoTimeout = dialPatience
	if Loopback(c.Address) {
		options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	return options, nil
}

func unreachable(connection Connection, err error) error {
	own := domain.Errorf(domain.Unavailable,
		"address: no Temporal server answers at %s (%s); start one there, or name another with --address (TEMPORAL_ADDRESS)",
		connection.Address, reason(err))
	if denied, ok := errors.AsType[*serviceerror.PermissionDenied](err); ok {
		own = domain.CodedErrorf(domain.Denied, domain.CodeAuth,
			"address: the Temporal server at %s refuses these credentials: %s; see TEMPORAL_API_KEY and the TLS settings of the profile",
			connection.Address, denied.Message)
	}
	own.Detail = err.Error()
	return own.From("server")
}

// reason is the end of what gRPC says, which is the part that tells.
func reason(err error) string {
	text := strings.Trim(err.Error(), `"`)
	if at := strings.LastIndex(text, ": "); at >= 0 {
		text = text[at+2:]
	}
	return domain.Shorten(text, 200)
}

// silence is a logger for processes whose stderr is not for the SDK.
type silence struct{}

var _ log.Logger = silence{}

func (silence) Debug(string, ...any) {}
func (silence) Info(string, ...any)  {}
func (silence) Warn(string, ...any)  {}
func (silence) Error(string, ...any) {}
