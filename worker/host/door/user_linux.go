package door

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Peers tells which user of this machine has opened a connection on it. Safe for concurrent use.
type Peers struct {
	mu     sync.Mutex // one question at a time
	socket *os.File
	asked  uint32
}

// OpenPeers asks the kernel by a socket (NETLINK_SOCK_DIAG), whose answers are in user ids as this process sees them.
func OpenPeers() (*Peers, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, fmt.Errorf("ask the kernel whose connection one is: %w", err)
	}
	p := PeersOf(os.NewFile(uintptr(fd), "peers"))
	// One connection to oneself tells whether the kernel can answer at all.
	if err := p.try(); err != nil {
		_ = p.Close() // it was only tried
		return nil, err
	}
	return p, nil
}

// PeersOf takes over the socket of another process's [Peers]: its answers stay in user ids as that process sees them.
func PeersOf(socket *os.File) *Peers { return &Peers{socket: socket} }

// File is the socket, to be handed to another process.
func (p *Peers) File() *os.File { return p.socket }

// Close closes the socket.
func (p *Peers) Close() error { return p.socket.Close() }

func (p *Peers) try() error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	defer listener.Close()
	dialed, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		return fmt.Errorf("connect on loopback: %w", err)
	}
	defer dialed.Close()
	conn, err := listener.Accept()
	if err != nil {
		return fmt.Errorf("connect on loopback: %w", err)
	}
	defer conn.Close()
	uid, err := p.user(conn)
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("the kernel takes user %d for user %d", os.Geteuid(), uid)
	}
	return err
}

// user is the user whose program is on the other side of a connection. It is an error if that is not on this machine,
// or not any more.
func (p *Peers) user(conn net.Conn) (uid int, err error) {
	tcp := conn.(*net.TCPConn)
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, err
	}
	if uid, err = p.owner(endpoint(tcp.RemoteAddr()), endpoint(tcp.LocalAddr())); err != nil {
		return 0, err
	}
	// As long as this end is open no other socket can have the other end's addresses: the one that was found is the
	// one that this connection was opened with.
	var info *unix.TCPInfo
	failed := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err = errors.Join(failed, err); err != nil {
		return 0, err
	}
	if info.State != stateEstablished && info.State != stateCloseWait {
		return 0, errGone
	}
	return uid, nil
}

var errGone = errors.New("the other side is gone, or is not on this machine")

// The states of TCP that matter here, as the kernel numbers them.
const (
	stateEstablished = 1
	stateFinWait1    = 4 // this end is closed for writing
	stateFinWait2    = 5
	stateCloseWait   = 8 // the other end is
)

// A socketID is the kernel's struct inet_diag_sockid. Its ports and addresses, its own first, are in the order of the network.
type socketID struct {
	Ports     [2][2]byte
	Addresses [2][16]byte
	Interface uint32
	Cookie    uint64
}

// A socketRequest is a struct nlmsghdr and a struct inet_diag_req_v2.
type socketRequest struct {
	Header                          unix.NlMsghdr
	Family, Protocol, Extensions, _ uint8
	States                          uint32
	Socket                          socketID
}

// A socketInfo is a struct inet_diag_msg.
type socketInfo struct {
	Family, State, Timer, Retransmits          uint8
	Socket                                     socketID
	Expires, ReadQueue, WriteQueue, UID, Inode uint32
}

// owner is the user of the open socket with these addresses, its own first.
func (p *Peers) owner(own, other netip.AddrPort) (uid int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	request := question(p.asked, own, other)
	fd := int(p.socket.Fd())
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("ask the kernel whose connection one is: %w", err)
	}
	answer := make([]byte, 4096)
	n, err := unix.Read(fd, answer) // the kernel has answered before Sendto returns
	if err != nil {
		return 0, fmt.Errorf("ask the kernel whose connection one is: %w", err)
	}
	return read(answer[:n], p.asked, own, other)
}

// question is a request for one socket, in any state and on any interface, without a cookie.
func question(number uint32, own, other netip.AddrPort) []byte {
	q := socketRequest{
		Header: unix.NlMsghdr{Len: uint32(binary.Size(socketRequest{})), Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST, Seq: number}, //nolint:gosec // some bytes
		Family: unix.AF_INET6, Protocol: unix.IPPROTO_TCP, States: ^uint32(0), Socket: socketID{Cookie: ^uint64(0)},
	}
	if own.Addr().Is4() {
		q.Family = unix.AF_INET
	}
	for i, end := range []netip.AddrPort{own, other} {
		binary.BigEndian.PutUint16(q.Socket.Ports[i][:], end.Port())
		copy(q.Socket.Addresses[i][:], end.Addr().AsSlice())
	}
	text, _ := binary.Append(nil, binary.NativeEndian, q) // it has a size
	return text
}

// read takes a user from a struct nlmsghdr and what follows it.
func read(answer []byte, number uint32, own, other netip.AddrPort) (uid int, err error) {
	var header unix.NlMsghdr
	size, err := binary.Decode(answer, binary.NativeEndian, &header)
	if err != nil || header.Seq != number {
		return 0, errors.New("the kernel answers another question")
	}
	body := answer[size:]
	var refusal uint32 // it is given as a negative number
	if _, err := binary.Decode(body, binary.NativeEndian, &refusal); err == nil && header.Type == unix.NLMSG_ERROR {
		if code := unix.Errno(-refusal); code != unix.ENOENT {
			return 0, fmt.Errorf("ask the kernel whose connection one is: %w", code)
		}
		return 0, errGone
	}
	var found socketInfo
	if _, err := binary.Decode(body, binary.NativeEndian, &found); err != nil || header.Type != unix.SOCK_DIAG_BY_FAMILY {
		return 0, errors.New("the kernel's answer is none")
	}
	end := func(i int) netip.AddrPort {
		address := found.Socket.Addresses[i]
		port := binary.BigEndian.Uint16(found.Socket.Ports[i][:])
		if found.Family == unix.AF_INET {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address[:4])), port)
		}
		return netip.AddrPortFrom(netip.AddrFrom16(address).Unmap(), port)
	}
	// A socket that no program holds any more is shown as root's.
	if found.Inode == 0 || end(0) != own || end(1) != other {
		return 0, errGone
	}
	switch found.State {
	case stateEstablished, stateFinWait1, stateFinWait2:
		return int(found.UID), nil
	}
	return 0, errGone
}

// endpoint is a TCP address; one of IPv4 in a form of IPv6 becomes itself.
func endpoint(address net.Addr) netip.AddrPort {
	at := address.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}
