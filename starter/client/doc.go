// Package client starts agents on Temporal, follows, asks and stops them. The
// command line is built on it, and so can any Go program be.
//
// Its main type is [Client], made by [New] from a connected Temporal client.
// Its one rule: whatever can be told without a worker is told without one.
// Waiting, following, listing and the status of an agent come from Temporal's
// history, visibility and heartbeats; only what the workflow alone knows is
// asked of it, and where no worker answers the caller learns so.
//
// Every error is an [Error] whose [Class] says what kind of trouble it is.
//
// Start reading at [Client.Start], [Client.Wait] and [Client.Follow].
package client
