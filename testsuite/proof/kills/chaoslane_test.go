package kills

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"everstep/starter/client"
	"everstep/starter/local"
)

// TestWithoutItsUndisturbedLaneTheProofEnds: with nothing to hold runs against it would
// wait in vain.
func TestWithoutItsUndisturbedLaneTheProofEnds(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	config, err := ChaosConfig{Address: silent.Addr().String(), Dir: t.TempDir(), Kills: 1, Lanes: 1}.checked()
	require.NoError(t, err)
	temporal, err := sdk.NewLazyClient(sdk.Options{HostPort: config.Address})
	require.NoError(t, err)
	p := &chaos{
		config: config, stage: stage{temporal: temporal, sockets: t.TempDir()}, pool: newPool(1, config.Boundaries, 1),
		baselines: make(map[string]func() (played, error)), uncalm: make(chan error, 1),
	}
	p.calm = &chaosLane{run: p, agents: local.Client(temporal, config.Address, client.Config{}), trials: make(map[string]*trial)}
	gone := errors.New("lane undisturbed: the worker ended by itself")
	p.uncalm <- gone
	require.ErrorIs(t, p.run(t.Context()), gone)
}
