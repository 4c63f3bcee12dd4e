package host_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/worker/host"
)

func TestLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1:7233": true, "127.9.9.9:1": true, "localhost:7233": true, "[::1]:7233": true, "::1": true,
		"localhost": true, "dns:///localhost:7233": true, "passthrough:///127.0.0.1:7233": true,
		"10.0.0.1:7233": false, "temporal:7233": false, "localhost.example.com:7233": false, "": false,
		"127.0.0.1.example.com:7233": false, "[::]:7233": false, "0.0.0.0:7233": false,
	} {
		require.Equal(t, want, host.Loopback(address), address)
	}
}

func TestDialSaysThatNobodyIsThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, err = host.Dial(t.Context(), host.Connection{Address: address})
	requireUnreachable(t, err, address)
}

// A server that takes connections and says nothing is given up on when the
// caller's patience ends.
func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = host.Dial(ctx, host.Connection{Address: listener.Addr().String()})
	requireUnreachable(t, err, listener.Addr().String())
}

func requireUnreachable(t *testing.T, err error, address string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
	require.Contains(t, err.Error(), address)
	require.Contains(t, err.Error(), "--address (TEMPORAL_ADDRESS)")
}
