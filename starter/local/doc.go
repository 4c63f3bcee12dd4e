// Package local brings up on this machine what a command needs for its own
// duration: Temporal's dev server, and a worker that is this program again.
//
// Its main type is [Machine]. [Machine.Connect] reaches a server as a command
// needs it, starts what that says is missing, and returns a [Stack], which ends with the
// command. All that the commands read of the environment is in machine.go.
//
// Its one rule: nothing that is started here outlives the process that wanted it,
// however that ends; what agents did is in the dev server's state file.
//
// Start reading with connect.go.
package local
