package devserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"everstep/starter/process"
	"everstep/worker/host/statefile"
)

// startPatience is how long a server may take until it answers. It takes 0.2 s, and on a machine that builds and tests
// much beside it a hundred times that. One that ends is noticed at once.
const startPatience = time.Minute

const startAttempts = 5

// start brings the server up, and sets what users are told of it. Servers of a user start one after the other,
// since each looks for free ports first and binds them later.
func (s *supervisor) start(ctx context.Context) (*process.Process, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("no answer in %s", startPatience))
	defer cancel()
	dir, err := statefile.PrivateDir()
	if err != nil {
		return nil, err
	}
	turn, err := waitLock(ctx, filepath.Join(dir, "start.lock"), func(time.Duration) {})
	if err != nil {
		return nil, fmt.Errorf("wait for another dev server to start: %w", err)
	}
	defer turn.Close()
	if err := s.setAside(); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		p, err := s.startOnce(ctx)
		if err == nil {
			if err = s.lock.Truncate(0); err == nil { // see setAside
				return p, nil
			}
			stop(p)
			return nil, fmt.Errorf("mark the state file as made: %w", err)
		}
		// Another program can still take a port in between, of those above or of
		// those that the server looks for by itself.
		lost := strings.Contains(err.Error(), "address already in use")
		if !lost || attempt == startAttempts || ctx.Err() != nil {
			return nil, err
		}
	}
}

func (s *supervisor) startOnce(ctx context.Context) (*process.Process, error) {
	chosen, err := choosePlaces(s.spec, s.network != nil)
	if err != nil {
		return nil, err
	}
	said := logSize(s.spec.StateFile)
	// It runs in its network, so that it ends with this process, holds the lock until it has, and writes to where this process does.
	cmd := exec.Command(s.spec.Binary, s.spec.arguments(chosen)...)
	cmd.Dir = filepath.Dir(s.spec.StateFile)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.ExtraFiles = []*os.File{s.lock}
	p, err := process.StartIn(cmd, s.network.enter)
	if err != nil {
		chosen.close()
		return nil, fmt.Errorf("run %s: %w", s.spec.Binary, err)
	}
	s.openDoors(p, chosen)
	s.inside = chosen.insideServer.String()
	if err := s.answers(ctx, p); err != nil {
		stop(p)
		return nil, fmt.Errorf("%s server start-dev: %w%s", s.spec.Binary, err, logTail(s.spec.StateFile, said))
	}
	keepPorts(s.spec.StateFile, number(chosen.server), number(chosen.ui))
	s.reply.Server = Server{
		Address:   chosen.server.Addr().String(),
		UIURL:     "http://" + chosen.ui.Addr().String(),
		Namespace: namespace,
		StateFile: s.spec.StateFile,
		LogFile:   logPath(s.spec.StateFile),
		Version:   s.spec.Version,
		Binary:    s.spec.Binary,
		PID:       p.PID,
		Shared:    s.spec.Shared,
	}
	return p, nil
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

// stopPatience is how long a server may take to stop before it is killed. Its
// state file loses nothing by that.
const stopPatience = 5 * time.Second

// stop ends a server in good order if it can, and returns when it is gone.
func stop(p *process.Process) { p.Stop(syscall.SIGTERM, stopPatience) }

// answers returns nil once the server knows its namespace and can list from it.
func (s *supervisor) answers(ctx context.Context, p *process.Process) error {
	conn, err := grpc.NewClient("passthrough:///"+s.inside,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(s.network.dialInside),
		// The default waits a second after the first refusal.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	defer conn.Close()
	for {
		last := probe(ctx, conn)
		select {
		case <-p.Done: // whatever answered, it was another server
			return fmt.Errorf("ended before it answered: %s", p.State())
		default:
		}
		if last == nil {
			return nil
		}
		if err := process.Pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
}

func probe(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := workflowservice.NewWorkflowServiceClient(conn).ListWorkflowExecutions(ctx,
		&workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: 1})
	return err
}

const (
	tailLines = 12
	tailBytes = 16 << 10
)

// logTail is the end of the log of a state file's server, of what follows the
// first bytes of it, on lines of its own below an error; empty if it has said
// nothing.
func logTail(stateFile string, after int64) string {
	file, err := os.Open(logPath(stateFile))
	if err != nil {
		return ""
	}
	defer file.Close()
	size := logSize(stateFile)
	buffer := make([]byte, min(max(size-after, 0), tailBytes))
	n, err := file.ReadAt(buffer, size-int64(len(buffer)))
	if err != nil || n == 0 {
		return ""
	}
	return "\nlast lines of " + logPath(stateFile) + ":\n" + strings.Join(lastWords(clean(string(buffer))), "\n")
}

func logSize(stateFile string) int64 {
	info, err := os.Stat(logPath(stateFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// lastWords are the last lines of a log. Where the server panicked, they are the
// last before the stack, which says nothing to a user.
func lastWords(log string) []string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	stack := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "goroutine ") && strings.HasSuffix(line, "]:")
	})
	if stack > 0 {
		lines = lines[:stack]
	}
	return lines[max(0, len(lines)-tailLines):]
}

// clean drops what could do something to a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		if r == '\t' {
			return ' '
		}
		return -1
	}, text)
}
