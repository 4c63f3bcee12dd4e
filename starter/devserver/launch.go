package devserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"everstep/starter/process"
	"everstep/worker/host/door"
	"everstep/worker/host/statefile"
)

// What a supervisor inherits, in the order of exec.Cmd.ExtraFiles.
const (
	lockFD     = 3
	listenerFD = 4
	peersFD    = 5 // where the server is to have a network of its own
)

func lockPath(stateFile string) string { return stateFile + ".lock" }
func logPath(stateFile string) string  { return stateFile + ".log" }

// A spec is what a supervisor is told, as JSON in its argument.
type spec struct {
	Config
	// Version is that of the server in the Binary.
	Version string
	// Known says that the ports that everybody knows are preferred.
	Known bool
	// Shared says why the server can have no network of its own; empty: it can.
	Shared string
}

// launch starts the supervisor of a state file, or returns statefile.ErrLocked where
// another one, or its server, is alive. The lock and a listening socket are
// handed on, so that two can never start and this caller can connect at once. The
// channel tells how it ended: nil where that was in good order, or by a kill.
func launch(cfg Config, binary Binary) (<-chan error, error) {
	lock, err := statefile.LockFile(lockPath(cfg.StateFile))
	if err != nil {
		return nil, fmt.Errorf("lock the state file: %w", err)
	}
	defer lock.Close()
	log, err := os.OpenFile(logPath(cfg.StateFile), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the dev server's log: %w", err)
	}
	defer log.Close()
	listener, err := listenForUsers(cfg.StateFile)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	attributes := ownSession()
	peers, shared := confine(attributes)
	cmd, err := supervisorCommand(cfg, binary, shared)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = attributes
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock, listener}
	if shared == nil {
		defer func() { _ = peers.Close() }() // the supervisor has its own
		cmd.ExtraFiles = append(cmd.ExtraFiles, peers.File())
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the supervisor of the dev server: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok && !killed(exit.ProcessState) {
			ended <- fmt.Errorf("%s: %w", cmd.Path, exit)
		}
	}()
	return ended, nil
}

// confine has a supervisor that is started with these attributes be able to give the server a network of its own, and
// opens what tells it whose connections from outside are. The error says why it could not.
func confine(attributes *syscall.SysProcAttr) (*door.Peers, error) {
	peers, err := door.OpenPeers()
	if err != nil {
		return nil, err
	}
	if err := rights(attributes); err != nil {
		_ = peers.Close() // it was not asked
		return nil, err
	}
	return peers, nil
}

// supervisorCommand is the command of a supervisor; shared says why its server is to have no network of its own.
func supervisorCommand(cfg Config, binary Binary, shared error) (*exec.Cmd, error) {
	own, err := statefile.Default()
	s := spec{Config: cfg, Version: binary.Version, Known: err == nil && cfg.StateFile == own}
	if s.Binary = binary.Path; shared != nil {
		s.Shared = shared.Error()
	}
	argument, _ := json.Marshal(s) // all of it is text and numbers
	path, err := exec.LookPath(cfg.Supervisor[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fmt.Errorf("find the supervisor of the dev server: %w", err)
	}
	cmd := exec.Command(path, append(slices.Clone(cfg.Supervisor[1:]), string(argument))...)
	cmd.Dir = filepath.Dir(cfg.StateFile) // not the caller's, which may go
	cmd.Env = supervisorEnvironment()
	return cmd, nil
}

// listenForUsers makes the socket. The caller holds the lock, so one that is
// there already belongs to nobody.
func listenForUsers(stateFile string) (*os.File, error) {
	path, err := statefile.SocketPath(stateFile)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("remove a stale socket: %w", err)
	}
	config := net.ListenConfig{Control: socketOfOne}
	socket, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for users of the dev server: %w", err)
	}
	defer socket.Close()
	listener := socket.(*net.UnixListener)
	listener.SetUnlinkOnClose(false) // it lives on in the supervisor
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, fmt.Errorf("protect the socket of the dev server: %w", err)
	}
	return listener.File()
}

// waitLock takes a lock as soon as it is free. It tells waiting at once that it
// has to wait, and then every few seconds for how long it has.
func waitLock(ctx context.Context, path string, waiting func(waited time.Duration)) (*os.File, error) {
	began := time.Now()
	for said := -progressEvery; ; {
		file, err := statefile.LockFile(path)
		if !errors.Is(err, statefile.ErrLocked) {
			return file, err
		}
		if waited := time.Since(began); waited >= said+progressEvery {
			waiting(waited.Round(time.Second))
			said = waited
		}
		if err := process.Pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
