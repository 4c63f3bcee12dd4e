package devserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// startPatience is how long a server may take until it answers. It takes 0.2 s.
const startPatience = 30 * time.Second

// startAttempts bounds how often ports are looked for anew.
const startAttempts = 5

// start brings the server up. Servers of a user start one after the other,
// since each looks for free ports first and binds them later.
func (s *supervisor) start(ctx context.Context) (*process, Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("no answer in %s", startPatience))
	defer cancel()
	dir, err := privateDir()
	if err != nil {
		return nil, Server{}, err
	}
	turn, err := waitLock(ctx, filepath.Join(dir, "start.lock"), func(time.Duration) {})
	if err != nil {
		return nil, Server{}, fmt.Errorf("wait for another dev server to start: %w", err)
	}
	defer turn.Close()
	if err := s.setAside(); err != nil {
		return nil, Server{}, err
	}
	for attempt := 1; ; attempt++ {
		p, server, err := s.startOnce(ctx)
		if err == nil {
			if err = s.lock.Truncate(0); err == nil { // see setAside
				return p, server, nil
			}
			p.stop()
			return nil, Server{}, fmt.Errorf("mark the state file as made: %w", err)
		}
		// Another program can still take a port in between, of those above or of
		// those that the server looks for by itself.
		lost := strings.Contains(err.Error(), "address already in use")
		if !lost || attempt == startAttempts || ctx.Err() != nil {
			return nil, Server{}, err
		}
	}
}

func (s *supervisor) startOnce(ctx context.Context) (*process, Server, error) {
	chosen, err := choosePlaces(s.spec)
	if err != nil {
		return nil, Server{}, err
	}
	said := logSize(s.spec.StateFile)
	p, err := startProcess(s.spec.Binary, s.spec.arguments(chosen), filepath.Dir(s.spec.StateFile), s.lock)
	if err != nil {
		_ = chosen.ui.Close()
		return nil, Server{}, fmt.Errorf("run %s: %w", s.spec.Binary, err)
	}
	openDoor(p, chosen)
	address := net.JoinHostPort(loopback, strconv.Itoa(chosen.server))
	if err := answers(ctx, address, p); err != nil {
		p.stop()
		return nil, Server{}, fmt.Errorf("%s server start-dev: %w%s", s.spec.Binary, err, logTail(s.spec.StateFile, said))
	}
	return p, Server{
		Address:   address,
		UIURL:     "http://" + chosen.ui.Addr().String(),
		Namespace: namespace,
		StateFile: s.spec.StateFile,
		LogFile:   logPath(s.spec.StateFile),
		Version:   s.spec.Version,
		Binary:    s.spec.Binary,
		PID:       p.cmd.Process.Pid,
	}, nil
}

// setAside moves a state file out of the way that no server ever came up on:
// one that was killed while it made its tables leaves a file on which every
// later one fails. The lock's content marks a file as such from before it is
// made until its server answers, which is before any user is told of it.
func (s *supervisor) setAside() error {
	const mark = "the state file is being made\n"
	marked, err := s.lock.Stat()
	if err != nil {
		return fmt.Errorf("look at the lock of the state file: %w", err)
	}
	info, err := os.Stat(s.spec.StateFile)
	switch {
	case err == nil && info.Size() > 0 && marked.Size() == 0:
		return nil
	case err == nil:
		for _, part := range []string{"", "-wal", "-shm"} {
			err := os.Rename(s.spec.StateFile+part, s.spec.StateFile+".incomplete"+part)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("set an incomplete state file aside: %w", err)
			}
		}
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("look at the state file: %w", err)
	}
	if _, err := s.lock.WriteAt([]byte(mark), 0); err != nil {
		return fmt.Errorf("mark the state file as new: %w", err)
	}
	return nil
}
