package door

import (
	"fmt"
	"net"
	"os"
	"sync"
)

// Own returns a listener that takes connections of this user's programs and of root's, and closes those of others
// without a byte. It tells the first of these, and no more.
func (p *Peers) Own(listener net.Listener, tell func(line string)) net.Listener {
	return &ownListener{Listener: listener, peers: p, tell: tell}
}

type ownListener struct {
	net.Listener
	peers *Peers
	tell  func(line string)
	told  sync.Once
}

// Accept waits for the next connection of this user's or root's.
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := l.peers.user(conn)
		if err == nil && (uid == os.Geteuid() || uid == 0) {
			return conn, nil
		}
		_ = conn.Close() // nothing was said
		l.told.Do(func() {
			whose := fmt.Sprintf("user %d", uid)
			if err != nil {
				whose = "a user who is not known: " + err.Error()
			}
			l.tell(fmt.Sprintf("closed a connection to %s, which is for user %d alone, of %s (this is said once)", l.Addr(), os.Geteuid(), whose))
		})
	}
}
