// Package client starts agents on Temporal, follows, asks, steers and stops
// them. The command line is built on it, and so can any Go program be.
//
// Its main type is [Client], made by [New] from a connected Temporal client,
// that of host.Dial, which converts payloads as Everstep's workers do.
// Its one rule: whatever can be told without a worker is told without one.
// What the workflow knows is asked of it and, where no worker answers, told by its own code, which replays its history, or by
// records; lists come from Temporal's visibility, and what only the moment knows from its descriptions and heartbeats. What
// none of them can tell the caller learns.
//
// Three ways lead through an execution: [Client.Execute] runs it to its end,
// [Client.Iterate] yields the state after each step, and [Client.Follow] what the
// execution itself has noted, with what only the moment knows between;
// [Client.Events] leaves that out.
//
// Every error is an [Error] whose [Class] says what kind of trouble it is.
//
// Start reading at [Client.Start], [Client.Wait] and [Client.Iterate].
package client
