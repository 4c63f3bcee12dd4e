package devserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

type ports struct{ server, ui int }

// choosePorts returns two ports that are free now. Those asked for are taken or
// refused; those not asked for are the known ones, where these are preferred and
// free.
func choosePorts(s spec) (ports, error) {
	knownServer, knownUI := 0, 0
	if s.Known {
		knownServer, knownUI = preferredPort, preferredUIPort
	}
	server, err := choosePort("port", s.Port, knownServer, s.UIPort)
	if err != nil {
		return ports{}, err
	}
	defer server.Close() // held until both are chosen, so that they differ
	ui, err := choosePort("ui port", s.UIPort, knownUI, s.Port)
	if err != nil {
		return ports{}, err
	}
	defer ui.Close()
	return ports{server: number(server), ui: number(ui)}, nil
}

func choosePort(field string, asked, preferred, reserved int) (net.Listener, error) {
	if asked != 0 {
		listener, err := listen(asked)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%s %d is taken by another program: ask for another one, or for none to get any free one", field, asked)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", field, asked, err)
		}
		return listener, nil
	}
	if preferred != 0 && preferred != reserved {
		if listener, err := listen(preferred); err == nil {
			return listener, nil
		}
	}
	listener, err := listenAnywhere()
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
// started again.
func listenAnywhere() (net.Listener, error) {
	for range 20 {
		if listener, err := listen(firstPort + rand.IntN(lastPort-firstPort)); err == nil { //nolint:gosec // no secret
			return listener, nil
		}
	}
	return listen(0)
}

func listen(port int) (net.Listener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.ParseIP(loopback), Port: port})
}

func number(listener net.Listener) int { return listener.Addr().(*net.TCPAddr).Port }
