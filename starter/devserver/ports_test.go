package devserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKnownPorts: only the server of the default state file takes the ports that
// everybody knows; those of others are out of the way of outgoing connections.
func TestKnownPorts(t *testing.T) {
	t.Parallel()
	for range 20 {
		other, err := choosePorts(spec{})
		require.NoError(t, err)
		for _, port := range []int{other.server, other.ui} {
			require.GreaterOrEqual(t, port, firstPort)
			require.Less(t, port, lastPort)
		}
		require.NotEqual(t, other.server, other.ui)
	}
	known, err := choosePorts(spec{Known: true})
	require.NoError(t, err)
	if known.server != preferredPort {
		_, err := listen(preferredPort)
		require.Error(t, err, "it is left only where another program has it")
	}
	asked, err := choosePorts(spec{Port: known.server, Known: true})
	require.NoError(t, err)
	require.Equal(t, known.server, asked.server)
}
