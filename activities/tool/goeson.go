package tool

import (
	"encoding/json"
	"errors"
	"time"
)

// An Elsewhere is a call that its other side goes on with by itself, such as a job of hours.
type Elsewhere struct {
	// Handle is by what the tool knows it, on any worker: JSON, of at most MaxHandle bytes. It is
	// recorded, and holds no secret.
	Handle json.RawMessage
	// After is how long to wait before asking about it, at least. It is never asked more often than
	// after a twentieth of the time that it has taken so far.
	After time.Duration
	// Keeps is how long the other side keeps it, from the beginning; zero: it does not say.
	Keeps time.Duration
	// Status says how far it is, for people.
	Status string
}

const (
	// MaxHandle bounds the handle of a call, in bytes.
	MaxHandle = 4 << 10
	// MaxElsewhere is how long a call may go on at its other side.
	MaxElsewhere = 30 * 24 * time.Hour
)

// GoesOn is the error of a tool whose other side goes on with the call by itself. The call then waits in
// the workflow, holding no worker, and the tool is called again, on any worker, with the same arguments
// and Call.Handle, to ask: until it returns a result, or an error that is of another kind than Unavailable
// and Throttled. A stop that lets calls finish lets this one finish; one of mode now gives it up, as does
// the end of MaxElsewhere, and the tool is called once more with Call.TakenBack. What the call has done
// by then nobody knows, unless the tool says so.
func GoesOn(e Elsewhere) error { return elsewhere{e} }

// IsElsewhere returns what an error of GoesOn, or one that wraps it, says.
func IsElsewhere(err error) (Elsewhere, bool) {
	own, ok := errors.AsType[elsewhere](err)
	return own.Elsewhere, ok
}

type elsewhere struct{ Elsewhere }

func (e elsewhere) Error() string { return "its other side goes on with it" }
