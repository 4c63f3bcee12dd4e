package devserver

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"everstep/worker/host/door"
)

// openDoor lets people to the Web UI for as long as the server runs. The UI
// itself takes any name for its own, so a page whose name is bound to this
// machine after it was loaded could read and steer all agents: it listens where
// no page finds it, and the door passes on what comes from its own pages.
func openDoor(p *process, at places) {
	ui := &url.URL{Scheme: "http", Host: at.hidden.String()}
	server := &http.Server{Handler: door.Door{}.Before(ui), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(at.ui); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "the Web UI is not reached any more:", err) // agents need none
		}
	}()
	go func() {
		<-p.exited
		_ = server.Close() // whoever still reads gets nothing more
	}()
}

// hiddenPlace is an address for the UI itself: on Linux one of 16 million of the
// loopback network, and a port of it, which no page can try out. Elsewhere
// loopback has one address, and the port alone hides it.
func hiddenPlace() (*net.TCPAddr, error) {
	for range 20 {
		ip := [4]byte{127}
		_, _ = rand.Read(ip[1:]) // it never fails
		at := &net.TCPAddr{IP: ip[:], Port: firstPort + below(lastPort-firstPort)}
		if listener, err := net.ListenTCP("tcp4", at); err == nil {
			return at, listener.Close()
		}
	}
	listener, err := listenAnywhere()
	if err != nil {
		return nil, fmt.Errorf("find a free port for the UI on %s: %w", loopback, err)
	}
	return listener.Addr().(*net.TCPAddr), listener.Close()
}
