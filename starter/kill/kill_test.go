package kill

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/starter/process"
)

// sleeper starts a process that lives until it is killed.
func sleeper() (*process.Process, error) { return process.Start(exec.Command("sleep", "600")) }

// TestKill: a killed worker is gone, another one serves, and its end is not taken for a loss.
func TestKill(t *testing.T) {
	t.Parallel()
	c, err := Start(sleeper, func(*os.ProcessState) { t.Error("a kill is no loss") })
	require.NoError(t, err)
	t.Cleanup(c.Close)
	first := c.worker
	k, err := c.Kill()
	require.NoError(t, err)
	<-first.Done
	require.Equal(t, first.PID, k.PID)
	require.Equal(t, c.PID(), k.TookOver)
	require.NotEqual(t, k.PID, k.TookOver)

	require.Zero(t, k.WentOn)
	require.True(t, k.GoesOn())
	took := k.WentOn
	require.Positive(t, took)
	require.False(t, k.GoesOn(), "it has gone on before")
	require.Equal(t, took, k.WentOn)

	second := c.worker
	c.Close()
	<-second.Done
	require.Zero(t, c.PID())
}

// TestALostWorkerIsTold: one that ends by itself is a loss.
func TestALostWorkerIsTold(t *testing.T) {
	t.Parallel()
	lost := make(chan string, 1)
	c, err := Start(func() (*process.Process, error) { return process.Start(exec.Command("false")) },
		func(state *os.ProcessState) { lost <- state.String() })
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Equal(t, "exit status 1", <-lost)
}

// TestNoOtherWorker: the kill is told all the same.
func TestNoOtherWorker(t *testing.T) {
	t.Parallel()
	none := errors.New("none left")
	started := 0
	c, err := Start(func() (*process.Process, error) {
		if started++; started > 1 {
			return nil, none
		}
		return sleeper()
	}, func(*os.ProcessState) {})
	require.NoError(t, err)
	k, err := c.Kill()
	require.ErrorIs(t, err, none)
	require.Positive(t, k.PID)
	require.Zero(t, k.TookOver)
	require.Zero(t, c.PID())
	c.Close()
	_, err = Start(func() (*process.Process, error) { return nil, none }, nil)
	require.ErrorIs(t, err, none)
}
