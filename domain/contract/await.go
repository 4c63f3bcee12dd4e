package contract

import "fmt"

// An AwaitRequest says for the end of which execution of a session somebody waits.
type AwaitRequest struct {
	Number int `json:"execution_number"`
}

// AwaitID is the id of the update that waits for the end of an execution. The server runs an update of one id once in a
// run, and gives its answer to all who ask.
func AwaitID(number int) string { return fmt.Sprintf("await/%d", number) }

// An AwaitReply says how the execution ended.
type AwaitReply struct {
	// Outcome has the end in words where that is short enough. It is absent where this run cannot tell: it has continued
	// as new, which the next run is to be asked about, the execution ended in an earlier run, or it does not come.
	Outcome *Outcome `json:"outcome,omitempty"`
}
