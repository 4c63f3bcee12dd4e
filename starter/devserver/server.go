package devserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"everstep/starter/process"
	"everstep/worker/host/door"
	"everstep/worker/host/statefile"
)

const (
	loopback  = "127.0.0.1"
	namespace = "default"

	preferredPort   = 7233
	preferredUIPort = 8233
)

// A Server is a dev server that answers.
type Server = statefile.Server

// tuning is dynamic configuration as JSON. With the server's defaults each
// hand-off between server and worker waits on limits meant for clusters: 100 ms
// an activity, 13 with these.
func tuning() map[string]string {
	return map[string]string{
		"history.transferProcessorMaxPollRPS":    "2000",
		"history.timerProcessorMaxPollRPS":       "2000",
		"history.visibilityProcessorMaxPollRPS":  "2000",
		"matching.numTaskqueueReadPartitions":    "1",
		"matching.numTaskqueueWritePartitions":   "1",
		"system.enableActivityEagerExecution":    "true",
		"history.MaxBufferedQueryCount":          "16",
		"history.workflowIdReuseMinimalInterval": `"10ms"`,
		// Of many who send to one agent at once, all but ten are sent away for a second
		// and more by default.
		"history.maxInFlightUpdates": "100",
		// A run is deleted once the server has noted that its end is dealt with: every 30 s by default,
		// and who asks before waits ever longer.
		"history.transferProcessorUpdateAckInterval":   `"1s"`,
		"history.visibilityProcessorUpdateAckInterval": `"1s"`,
		// What reads a history, to replay it or to show it, gets its events as they lie in the
		// database, a fifth cheaper for the server: they are decoded once, at its door.
		"history.sendRawHistoryBetweenInternalServices": "true",
		// How late a timer may fire: a second by default, also for a retry after 100 ms.
		"history.timerProcessorMaxTimeShift": `"100ms"`,
		// New work overtakes what waits in a queue until that is so old: 5 s by
		// default, so that who just had a turn under a rate limit has the next one too.
		"matching.backlogNegligibleAge": `"500ms"`,
		// Nothing on this machine needs to ask the vendor for news.
		"frontend.enableServerVersionCheck": "false",
		// Agents use no Nexus, and its HTTP endpoints ask for no Host.
		"system.enableNexus": "false",
	}
}

// arguments have the server's database overwrite what is deleted, its log too when it begins anew and when the server
// starts.
func (s spec) arguments(p places) []string {
	args := []string{
		"server", "start-dev",
		"--ip", p.insideServer.IP.String(),
		"--port", strconv.Itoa(p.insideServer.Port),
		"--ui-ip", p.insideUI.IP.String(),
		"--ui-port", strconv.Itoa(p.insideUI.Port),
		"--db-filename", s.StateFile,
		"--sqlite-pragma", "journal_mode=wal",
		"--sqlite-pragma", "synchronous=1",
		"--sqlite-pragma", "secure_delete=on",
		"--sqlite-pragma", "journal_size_limit=0",
		"--sqlite-pragma", "wal_checkpoint=truncate",
		"--log-level", "error",
		"--search-attribute", "AgentName=Keyword",
		"--search-attribute", "AgentStatus=Keyword",
		"--search-attribute", "StopReason=Keyword",
		"--search-attribute", "AgentTrusted=KeywordList",
	}
	if s.CodecEndpoint != "" {
		args = append(args, "--ui-codec-endpoint", s.CodecEndpoint)
	}
	dynamic := tuning()
	// The HTTP API cannot be shut, is found by trying all ports, and takes what any
	// page posts. A page cannot choose the Host of its requests.
	dynamic["frontend.httpAllowedHosts"] = fmt.Sprintf("[%q]", p.secret)
	maps.Copy(dynamic, s.Dynamic)
	for _, key := range slices.Sorted(maps.Keys(dynamic)) {
		args = append(args, "--dynamic-config-value", key+"="+dynamic[key])
	}
	return args
}

// openDoors let in clients and people for as long as the server runs. A server in a network of its own is reached
// through them alone, and they take this user's connections only.
func (s *supervisor) openDoors(p *process.Process, at places) {
	if s.network != nil {
		at.server = s.peers.Own(at.server, s.log)
		at.ui = s.peers.Own(at.ui, s.log)
		go s.relay(at.server, at.insideServer.String())
	}
	// The Web UI takes any name for its own: so a page whose name is bound to this machine after it was loaded could read and steer
	// all agents. It listens where no page finds it, and a door passes on what comes from its own pages.
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		return s.network.dialInside(ctx, address)
	}
	handler := door.Door{}.Before(&url.URL{Scheme: "http", Host: at.insideUI.String()}, dial)
	ui := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := ui.Serve(at.ui); !errors.Is(err, http.ErrServerClosed) {
			s.log("the Web UI is not reached any more: " + err.Error()) // agents need none
		}
	}()
	go func() {
		<-p.Done
		_ = ui.Close() // whoever still reads gets nothing more
		_ = at.server.Close()
	}()
}

// relay passes on what clients say to the server, and back. They are the command line of Temporal's and others that know
// the address alone: see handOut.
func (s *supervisor) relay(listener net.Listener, address string) {
	acceptEach(listener, func(outer net.Conn) {
		go func() {
			defer outer.Close()
			inner, err := s.network.dialInside(context.Background(), address)
			if err != nil {
				return // the server is stopping
			}
			defer inner.Close()
			join(outer.(*net.TCPConn), inner.(*net.TCPConn))
		}()
	})
}

// dialer bounds how long a server may take to take a connection.
func dialer() *net.Dialer { return &net.Dialer{Timeout: 10 * time.Second} }

// join copies both ways until both sides have said all.
func join(one, other *net.TCPConn) {
	var both sync.WaitGroup
	for _, way := range [][2]*net.TCPConn{{one, other}, {other, one}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // however it ends, the other side is told that it has
			_ = way[0].CloseWrite()
		})
	}
	both.Wait()
}

// log writes a line to the server's log, which this process shares.
func (s *supervisor) log(line string) { fmt.Fprintln(os.Stderr, line) }

// hiddenPlace is an address for the UI itself: on Linux one of 16 million of the
// loopback network, and a port of it, which no page can try out. Elsewhere
// loopback has one address, and the port alone hides it.
func hiddenPlace() (*net.TCPAddr, error) {
	listener, err := listenAnywhere(func() net.IP {
		ip := [4]byte{127}
		_, _ = rand.Read(ip[1:]) // it never fails
		return ip[:]
	})
	if err != nil {
		return nil, fmt.Errorf("find a free port for the UI on %s: %w", loopback, err)
	}
	return listener.Addr().(*net.TCPAddr), listener.Close()
}

// places are where one server is reached.
type places struct {
	// server and ui are where clients and people come; what they come to listens inside. A server without a network of
	// its own takes its clients itself.
	server, ui             net.Listener
	insideServer, insideUI *net.TCPAddr
	// secret is the only Host that the server's HTTP API answers.
	secret string
}

// choosePlaces finds ports that are free now. Those asked for are taken or
// refused; those not asked for are the known ones, where these are preferred and
// free. They stay taken, but for the server's where that is to take it itself.
func choosePlaces(s spec, ownNetwork bool) (none places, _ error) {
	knownServer, knownUI := preferredPort, preferredUIPort
	if !s.Known {
		knownServer, knownUI = 0, 0
		text, _ := os.ReadFile(portsPath(s.StateFile))         // there is none at first
		_, _ = fmt.Sscan(string(text), &knownServer, &knownUI) // what is no number is any port
	}
	server, err := choosePort("port", s.Port, knownServer, s.UIPort)
	if err != nil {
		return none, err
	}
	ui, err := choosePort("ui port", s.UIPort, knownUI, s.Port)
	if err != nil {
		_ = server.Close()
		return none, err
	}
	at := places{server: server, ui: ui, secret: strings.ToLower(rand.Text()) + ".invalid"}
	if ownNetwork {
		at.insideServer = &net.TCPAddr{IP: localhost(), Port: preferredPort}
		at.insideUI = &net.TCPAddr{IP: localhost(), Port: preferredUIPort}
		return at, nil
	}
	at.insideServer = server.Addr().(*net.TCPAddr)
	if at.insideUI, err = hiddenPlace(); err != nil {
		at.close()
		return none, err
	}
	return at, server.Close()
}

// close gives the places up.
func (p places) close() {
	_ = p.server.Close() // nothing was said
	_ = p.ui.Close()
}

// portsPath is where a state file's last ports stand: a worker that has found its server there asks
// no other place when the server is started again.
func portsPath(stateFile string) string { return stateFile + ".ports" }

// keepPorts is for next time: that it fails, as on a full disk, is no reason not to serve.
func keepPorts(stateFile string, server, ui int) {
	_ = os.WriteFile(portsPath(stateFile), fmt.Appendln(nil, server, ui), 0o600)
}

func choosePort(field string, asked, preferred, reserved int) (net.Listener, error) {
	if asked != 0 {
		listener, err := listen(localhost(), asked)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("%s %d is taken by another program: ask for another one, or for none to get any free one", field, asked)
		case err != nil:
			return nil, fmt.Errorf("%s %d: %w", field, asked, err)
		}
		return listener, nil
	}
	if preferred != 0 && preferred != reserved {
		if listener, err := listen(localhost(), preferred); err == nil {
			return listener, nil
		}
	}
	listener, err := listenAnywhere(localhost)
	if err != nil {
		return nil, fmt.Errorf("find a free %s on %s: %w", field, loopback, err)
	}
	return listener, nil
}

// Below the ports that Linux (from 32768), macOS and Windows (from 49152) give
// to outgoing connections.
const (
	firstPort = 20000
	lastPort  = 32000
)

// listenAnywhere takes a free port, outside of those for outgoing connections
// if it can: there any program's connection could take it while the server is
// started again. Nobody can guess it.
func listenAnywhere(at func() net.IP) (net.Listener, error) {
	for try := range 40 {
		if try == 20 { // there may be no such address here
			at = localhost
		}
		n, _ := rand.Int(rand.Reader, big.NewInt(lastPort-firstPort)) // it never fails
		if listener, err := listen(at(), firstPort+int(n.Int64())); err == nil {
			return listener, nil
		}
	}
	return listen(localhost(), 0)
}

func localhost() net.IP { return net.ParseIP(loopback) }

func listen(ip net.IP, port int) (net.Listener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: ip, Port: port})
}

func number(listener net.Listener) int { return listener.Addr().(*net.TCPAddr).Port }
