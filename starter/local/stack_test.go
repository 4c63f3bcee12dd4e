package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/starter/devserver"
)

// TestPollerIsGone tells workers that go on when this process ends from those that do not.
func TestPollerIsGone(t *testing.T) {
	t.Parallel()
	machine, err := os.Hostname()
	require.NoError(t, err)
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	own := &workerKeeper{}
	own.pid.Store(int64(os.Getpid()))
	identity := func(pid int, machine string) poller { return poller{identity: fmt.Sprintf("%d@%s@", pid, machine)} }
	require.True(t, identity(ended.Process.Pid, machine).gone(nil))
	require.False(t, identity(os.Getpid(), machine).gone(nil))
	require.False(t, identity(os.Getppid(), machine).gone(own), "one of the user's own goes on")
	require.True(t, identity(os.Getpid(), machine).gone(own))
	require.False(t, identity(ended.Process.Pid, machine+"-2").gone(own), "nobody knows")
	require.False(t, poller{identity: "billing"}.gone(own), "nobody knows")
}

// TestAFullDisk is named where the dev server keeps its state.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := Stack{local: &devserver.Server{StateFile: filepath.Join(folder, "dev.db")}}
	require.Empty(t, s.Full())
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
	s.local.StateFile = filepath.Join(folder, "gone", "dev.db") // as on a disk that takes no more
	require.Contains(t, s.Full(), "the dev server cannot write its state in "+filepath.Join(folder, "gone")+": ")
	require.Empty(t, new(Stack).Full(), "a server elsewhere has a disk elsewhere")
}
