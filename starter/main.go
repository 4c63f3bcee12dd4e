// Command starter starts Everstep's agents, follows, asks and stops them, and
// brings up on this machine whatever is needed for that.
//
// What a command does is in the file of its name. What it does with agents goes
// through everstep/starter/client alone, as in any Go program; what people read is
// made in starter/render, and what is brought up on this machine in starter/local.
// Start reading with root.go, then run.go.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(thisProgram().run(context.Background(), os.Args[1:])) }
