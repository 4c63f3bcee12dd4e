// Package devserver finds Temporal's own dev server, or fetches or builds it,
// starts it tuned, and shares it.
//
// [Acquire] is the place to start reading: it returns a [Lease] on the server
// of a state file and starts that server where none is up. The server runs for
// as long as anybody holds a lease.
//
// One rule: one server a state file. A lock beside the file is taken by the
// process that starts a supervisor, handed on to the supervisor and from there
// to the server, so it is free only when nothing can write to the file any
// more. The supervisor ([Supervise], a hidden command of the program) listens
// on a unix socket; each lease is a connection to it, which the kernel closes
// for a process killed with -9 as for any other. When the last one closes, the
// supervisor stops the server; when the supervisor dies, the server dies with
// it (on Linux; elsewhere its lock keeps a second server away).
//
// The server is for one machine and one user: it listens on loopback only and
// asks no program who it is. Against pages in a browser, its HTTP API answers no
// Host that a page can have, and before the Web UI stands a door that checks Host
// and Origin. What remains: a page whose name is bound to this machine can read
// the metrics if it finds their port, and elsewhere than on Linux the UI itself
// if it finds its. Who has a Temporal cluster needs none of this.
package devserver
