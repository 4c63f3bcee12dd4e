package devserver

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKnownPorts: only the server of the default state file takes the ports that
// everybody knows; those of others are out of the way of outgoing connections.
func TestKnownPorts(t *testing.T) {
	t.Parallel()
	for range 20 {
		other := choose(t, spec{})
		for _, port := range []int{other.server, number(other.ui), other.hidden.Port} {
			require.GreaterOrEqual(t, port, firstPort)
			require.Less(t, port, lastPort)
		}
		require.NotEqual(t, other.server, number(other.ui))
	}
	known := choose(t, spec{Known: true})
	if known.server != preferredPort {
		_, err := listen(preferredPort)
		require.Error(t, err, "it is left only where another program has it")
	}
	asked := choose(t, spec{Port: known.server, Known: true})
	require.Equal(t, known.server, asked.server)
}

func choose(t *testing.T, s spec) places {
	t.Helper()
	chosen, err := choosePlaces(s)
	require.NoError(t, err)
	require.NoError(t, chosen.ui.Close())
	return chosen
}

// TestHiddenPlaces: nobody finds the UI itself by trying addresses, or meets two
// servers that answer to the same Host.
func TestHiddenPlaces(t *testing.T) {
	t.Parallel()
	one, other := choose(t, spec{}), choose(t, spec{})
	require.NotEqual(t, one.hidden.String(), other.hidden.String())
	require.NotEqual(t, one.secret, other.secret)
	require.GreaterOrEqual(t, len(one.secret), 26)
	if runtime.GOOS == "linux" {
		require.NotEqual(t, one.hidden.IP.String(), other.hidden.IP.String())
	}
}
