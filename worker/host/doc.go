// Package host runs Everstep's workers, and holds what every process of
// Everstep shares: configuration, the connection to Temporal, payload
// conversion and logging.
//
// Its main type is Config, whose zero value is a worker for the local server. A
// worker with tools of one's own is
//
//	func main() {
//		host.Main(host.Config{Tools: []tool.Tool{weather()}})
//	}
//
// which takes the flags and variables of Everstep's own worker. Hooks, compilers
// and Listeners are given the same way; the example shows each.
//
// Its one rule: what decides anything travels in the workflow's input; what is
// configured here only influences how work is done. An execution records which
// hooks and compilers it uses, and a worker that has others says so.
//
// A worker holds a seat, a file by which the next worker on the machine tells the server of one that was killed;
// Connection.Seat says where it lies and how to do without.
//
// Start reading at Main.
package host
