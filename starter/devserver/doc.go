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
// The server is for one machine and one user, and Temporal's ports ask no program
// whose it is. So the server has a network of its own (a network namespace), where
// nobody reaches any of them. Its address and its UI's are the supervisor's, on
// loopback: it takes connections of this user's programs and of root's, as the
// kernel tells whose a connection is, and relays them. Programs of Everstep's, which
// know the state file, get connections from the supervisor itself, over its socket
// (see statefile.Dial): what they say to the server goes through no relay. A plain
// user gets such a network by a namespace of users. Where the system grants none,
// the server listens on loopback itself, programs of all users reach it, and
// Server.Shared says so.
//
// A browser is a program of this user's and carries requests of any page: before
// the Web UI stands a door that checks Host and Origin. A server that is shared has
// an HTTP API that answers no Host that a page can have; a page whose name is bound
// to this machine can read its metrics if it finds their port, and elsewhere than on
// Linux the UI itself if it finds its. Who has a Temporal cluster needs none of this.
package devserver
