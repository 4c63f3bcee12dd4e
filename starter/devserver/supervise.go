package devserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"everstep/worker/host/door"
	"everstep/worker/host/statefile"
)

const (
	// firstUserPatience is how long a supervisor waits for its first user.
	firstUserPatience = 10 * time.Second
	// lastUserGrace is how long a server outlives its last user, so that one
	// command after another does not stop and start it.
	lastUserGrace = 300 * time.Millisecond
	// replyPatience is how long a user may take to read what it is told.
	replyPatience = time.Second
)

// Supervise runs the server of a state file until nobody uses it, it dies, or
// ctx ends. It is the body of the hidden command [SupervisorCommand], takes
// what followed that on the command line, and works only as [Acquire] starts
// it. It changes the umask of the process.
func Supervise(ctx context.Context, args []string) error {
	s, err := inherit(args)
	if err != nil {
		return err
	}
	keepFilesPrivate()
	if s.spec.Shared == "" {
		if s.network, err = newNetwork(); err != nil {
			s.spec.Shared = err.Error()
		}
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer stop()
	return s.run(ctx)
}

type supervisor struct {
	spec     spec
	lock     *os.File // the server inherits it too
	listener net.Listener
	peers    *door.Peers // with network, if the server has one
	network  *network
	inside   string // the server's address there; set with reply
	reply    statefile.Reply
	answered chan struct{} // closed when reply is set, also by a failure: those who wait for it wait for nothing else
	over     chan struct{} // closed when users are to be let go
}

// inherit takes over what launch hands on.
func inherit(args []string) (*supervisor, error) {
	byHand := fmt.Errorf("%s is started by the commands that need a dev server, not by hand", SupervisorCommand)
	if len(args) != 1 {
		return nil, byHand
	}
	s := &supervisor{answered: make(chan struct{}), over: make(chan struct{})}
	if err := json.Unmarshal([]byte(args[0]), &s.spec); err != nil || s.spec.StateFile == "" {
		return nil, byHand
	}
	s.lock = os.NewFile(lockFD, "lock")
	if err := statefile.Lock(s.lock); err != nil { // already ours, so nothing changes
		return nil, errors.Join(byHand, err)
	}
	socket := os.NewFile(listenerFD, "listener")
	defer socket.Close()
	var err error
	if s.listener, err = net.FileListener(socket); err != nil {
		return nil, errors.Join(byHand, err)
	}
	keepFromChildren(s.lock)
	if s.spec.Shared == "" {
		socket := os.NewFile(peersFD, "peers")
		keepFromChildren(socket)
		s.peers = door.PeersOf(socket)
	}
	return s, nil
}

// run lets users in while the server runs, and the server run while there are
// users. When it returns, the server is gone.
func (s *supervisor) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	came, left, served := make(chan net.Conn), make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(came)
		acceptEach(s.listener, func(conn net.Conn) { came <- conn })
	}()
	go func() { served <- s.serve(ctx) }()

	users := s.watch(ctx, came, left, served)

	if path, err := statefile.SocketPath(s.spec.StateFile); err == nil {
		_ = os.Remove(path) // a stale one does no harm
	}
	_ = s.listener.Close()
	close(s.over)
	cancel()
	for conn := range came {
		_ = conn.Close() // the user tries again and finds none
	}
	err := <-served
	for range users {
		<-left
	}
	return err
}

// watch returns when it is time to stop, with how many users are still there.
// It alone lets them in, so that nobody is ever promised a server that is about
// to stop.
func (s *supervisor) watch(ctx context.Context, came <-chan net.Conn, left chan struct{}, served chan error) (users int) {
	idle := time.NewTimer(firstUserPatience)
	defer idle.Stop()
	for {
		select {
		case err := <-served:
			served <- err
			return users
		case <-ctx.Done():
			return users
		case <-idle.C:
			return users
		case conn := <-came:
			users++
			idle.Stop()
			go func() {
				s.attend(conn)
				left <- struct{}{}
			}()
		case <-left:
			if users--; users == 0 {
				idle.Reset(lastUserGrace)
			}
		}
	}
}

func (s *supervisor) serve(ctx context.Context) error {
	p, err := s.start(ctx)
	if err != nil {
		s.reply = statefile.Reply{Error: err.Error()}
	}
	close(s.answered)
	if err != nil {
		return err
	}
	select {
	case <-p.Done:
		return fmt.Errorf("the dev server died: %s", p.State())
	case <-ctx.Done():
		stop(p)
		return nil
	}
}

// acceptEach gives a function each connection that comes, until the listener is closed.
func acceptEach(listener net.Listener, take func(net.Conn)) {
	for {
		switch conn, err := listener.Accept(); {
		case err == nil:
			take(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // too many open files, say: it passes
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// attend tells one user what became of the server, and returns when the user
// has left or has to.
func (s *supervisor) attend(conn net.Conn) {
	defer conn.Close()
	left := make(chan struct{})
	go func() {
		defer close(left)
		s.handOut(conn)
	}()
	select {
	case <-left:
		return
	case <-s.answered:
	}
	_ = conn.SetWriteDeadline(time.Now().Add(replyPatience))
	if err := json.NewEncoder(conn).Encode(s.reply); err != nil {
		return // the user has left
	}
	select {
	case <-left:
	case <-s.over:
	}
}

// handOut hands a connection to the server to a user for each byte that it sends, and returns when it has left: what
// goes over that goes through no other process. See [statefile.Dial].
func (s *supervisor) handOut(conn net.Conn) {
	for {
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			return
		}
		select {
		case <-s.answered:
		case <-s.over:
			return
		}
		inner, err := s.network.dialInside(context.Background(), s.inside)
		if err != nil {
			return
		}
		_ = conn.SetWriteDeadline(time.Now().Add(replyPatience))
		err = statefile.Hand(conn, inner)
		_ = inner.Close() // the user has it
		if err != nil {
			return
		}
	}
}
