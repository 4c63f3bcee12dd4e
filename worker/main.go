// Command worker runs Everstep agents with the tools and providers that
// Everstep itself has. A worker with tools of one's own is a main function of
// the same length: see package host.
package main

import "everstep/worker/host"

func main() { host.Main(host.Config{Dir: "."}) }
