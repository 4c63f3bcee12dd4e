package devserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/worker/host/statefile"
)

// holdCommand makes the test binary a user of a server: it acquires one, prints
// it, and holds it until its standard input ends or it is killed.
const holdCommand = "hold-dev-server"

// refusedCommand is holdCommand in a namespace of users that gets no network namespaces.
const refusedCommand = "hold-dev-server-without-namespaces"

// sharedCommand is SupervisorCommand where the system lets the server have no network of its own.
const sharedCommand = "shared-supervisor"

// The test binary is its own supervisor, and the other processes that share a
// server with a test.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	var err error
	switch os.Args[1] {
	case SupervisorCommand:
		err = Supervise(context.Background(), os.Args[2:])
	case sharedCommand:
		err = superviseShared(os.Args[2])
	case holdCommand:
		err = hold(os.Args[2], os.Args[3])
	case refusedCommand:
		if err = os.WriteFile("/proc/sys/user/max_net_namespaces", []byte("0"), 0); err == nil {
			err = hold(os.Args[2], os.Args[3])
		}
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func superviseShared(argument string) error {
	var s spec
	if err := json.Unmarshal([]byte(argument), &s); err != nil {
		return err
	}
	s.Shared = "the test says so"
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return Supervise(context.Background(), []string{string(text)})
}

// sharedConfig is realConfig for a server that other users reach.
func sharedConfig(t *testing.T) Config {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cfg := realConfig(t)
	cfg.Supervisor = []string{self, sharedCommand}
	return cfg
}

func hold(stateFile, binary string) error {
	lease, err := Acquire(context.Background(), Config{StateFile: stateFile, Binary: binary})
	if err != nil {
		return err
	}
	conn, err := statefile.Dial(context.Background(), stateFile)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := json.NewEncoder(os.Stdout).Encode(lease.Server); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// realConfig is a server of the test's own. Without a binary and without Go to
// build one there is nothing to test.
func realConfig(t *testing.T) Config {
	t.Helper()
	binary, err := Find(t.Context(), Config{Progress: func(line string) { t.Log(line) }})
	if err != nil {
		if _, lookErr := exec.LookPath("go"); lookErr != nil {
			t.Skipf("NOT TESTED, no temporal CLI and no Go: %v", err)
		}
	}
	require.NoError(t, err)
	return Config{StateFile: filepath.Join(t.TempDir(), "state", "dev.db"), Binary: binary.Path}
}

// testPatience bounds what surely comes, however slow the machine.
const testPatience = 2 * time.Minute

// acquire holds a server until the test ends, and then waits for its end, so
// that the test's directory can be removed.
func acquire(t *testing.T, cfg Config) *Lease {
	t.Helper()
	lease, err := Acquire(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, lease.Close())
		requireGone(t, cfg.StateFile)
	})
	return lease
}

// requireGone waits until neither supervisor nor server of a state file is
// alive: both hold its lock.
func requireGone(t *testing.T, stateFile string) {
	t.Helper()
	require.Eventually(t, func() bool {
		lock, err := statefile.LockFile(lockPath(stateFile))
		if err != nil {
			return false
		}
		return lock.Close() == nil
	}, testPatience, 10*time.Millisecond, "the lock of %s is still held", stateFile)
}

func requireDone(t *testing.T, lease *Lease) {
	t.Helper()
	select {
	case <-lease.Done:
	case <-time.After(testPatience):
		require.Fail(t, "the lease goes on though its server is gone")
	}
}

// startUser starts another process that holds the server.
func startUser(t *testing.T, cfg Config) (*exec.Cmd, Server) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return startCommand(t, exec.Command(self, holdCommand, cfg.StateFile, cfg.Binary), cfg.StateFile)
}

// startCommand starts a process that runs holdCommand.
func startCommand(t *testing.T, cmd *exec.Cmd, stateFile string) (*exec.Cmd, Server) {
	t.Helper()
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		requireGone(t, stateFile)
	})
	var server Server
	require.NoError(t, json.NewDecoder(stdout).Decode(&server))
	return cmd, server
}

// script writes an executable that says it is a temporal CLI and does what body
// says for any other command.
func script(t *testing.T, version, body string) string {
	t.Helper()
	return executable(t, "temporal", "if [ \"$1\" = --version ]; then echo '"+version+"'; exit 0; fi\n"+body)
}

// executable has another process write a shell script: a child that this one
// forks meanwhile for another test would hold the file open, and what is open
// for writing cannot be run.
func executable(t *testing.T, name, body string) string {
	t.Helper()
	dir := t.TempDir()
	text, path := filepath.Join(dir, "text"), filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(text, []byte("#!/bin/sh\n"+body+"\n"), 0o600))
	output, err := exec.Command("install", "-m", "755", text, path).CombinedOutput()
	require.NoError(t, err, string(output))
	return path
}
