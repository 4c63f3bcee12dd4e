package host

import (
	"encoding/json"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/worker/host/statefile"
)

// TestStateNamesTheServer, as it does for the commands of starter, where nothing else does.
func TestStateNamesTheServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dev.db")
	config := configured(t, Config{}, variableMap{"EVERSTEP_STATE": file})
	_, err := Dial(t.Context(), config.Connection)
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
	require.ErrorContains(t, err, "EVERSTEP_STATE: no dev server is up on "+config.Connection.State)

	answering(t, config.Connection.State, "127.0.0.1:7999")
	found, err := config.Connection.located(t.Context())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7999", found.Address)
	require.Equal(t, "default", found.Namespace)
	served, err := config.located(t.Context())
	require.NoError(t, err)
	require.Equal(t, found, served.Connection)
	require.Equal(t, statefile.StorageDir(config.Connection.State), served.Storage, "what its own workers have")
	config.Storage = "mem://elsewhere"
	served, err = config.located(t.Context())
	require.NoError(t, err)
	require.Equal(t, "mem://elsewhere", served.Storage)

	config = configured(t, Config{}, variableMap{"EVERSTEP_STATE": file, "TEMPORAL_ADDRESS": "far:7233"})
	found, err = config.Connection.located(t.Context())
	require.NoError(t, err)
	require.Equal(t, "far:7233", found.Address)
	served, err = config.located(t.Context())
	require.NoError(t, err)
	require.Empty(t, served.Storage)

	_, err = FromEnvironment(Config{}, variableMap{"EVERSTEP_STATE": t.TempDir()})
	require.ErrorContains(t, err, "EVERSTEP_STATE: ")
	require.ErrorContains(t, err, "is not a file")
}

// answering is a dev server's supervisor that names an address.
func answering(t *testing.T, stateFile, address string) {
	t.Helper()
	socket, err := statefile.SocketPath(stateFile)
	require.NoError(t, err)
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = json.NewEncoder(conn).Encode(statefile.Reply{Server: statefile.Server{Address: address, Namespace: "default"}})
			_ = conn.Close()
		}
	}()
}

// Whoever answers on a state file cannot send a worker, with what it has, to a machine of theirs.
func TestStateNamesNoServerElsewhere(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"203.0.113.1:7233", "temporal.example.com:7233", "dns:///203.0.113.1:7233", "unix:///tmp/x", "127.0.0.1", "0.0.0.0:7233", "", "\x1b[2J:1"} {
		file := filepath.Join(t.TempDir(), "dev.db")
		answering(t, file, address)
		_, err := Connection{State: file}.located(t.Context())
		require.ErrorContains(t, err, "no address of a dev server on this machine", address)
		require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
		require.NotContains(t, err.Error(), "\x1b")
	}
}
