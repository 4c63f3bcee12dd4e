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

// memory is an environment of its own.
type memory map[string]string

func (m memory) Environ() []string { return nil }

func (m memory) LookupEnv(name string) (string, bool) {
	value, ok := m[name]
	return value, ok
}

// TestStateNamesTheServer, as it does for the commands of starter, where nothing else does.
func TestStateNamesTheServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dev.db")
	config, err := FromEnvironment(Config{}, memory{"EVERSTEP_STATE": file})
	require.NoError(t, err)
	_, err = Dial(t.Context(), config.Connection)
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
	require.ErrorContains(t, err, "EVERSTEP_STATE: no dev server is up on "+config.Connection.State)

	socket, err := statefile.SocketPath(config.Connection.State)
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
			_ = json.NewEncoder(conn).Encode(statefile.Reply{Server: statefile.Server{Address: "127.0.0.1:7999", Namespace: "default"}})
			_ = conn.Close()
		}
	}()
	found, err := config.Connection.located(t.Context())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7999", found.Address)
	require.Equal(t, "default", found.Namespace)

	config, err = FromEnvironment(Config{}, memory{"EVERSTEP_STATE": file, "TEMPORAL_ADDRESS": "far:7233"})
	require.NoError(t, err)
	found, err = config.Connection.located(t.Context())
	require.NoError(t, err)
	require.Equal(t, "far:7233", found.Address)

	_, err = FromEnvironment(Config{}, memory{"EVERSTEP_STATE": t.TempDir()})
	require.ErrorContains(t, err, "EVERSTEP_STATE: ")
	require.ErrorContains(t, err, "is not a file")
}
