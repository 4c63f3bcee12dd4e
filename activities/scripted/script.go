package scripted

import (
	"text/template"
	"time"

	"everstep/domain"
)

// A script is a parsed file. It never changes.
type script struct {
	path  string
	turns []turn
}

// A turn answers one inference.
type turn struct {
	line      int
	text      *quoting
	reasoning string
	calls     []call
	// usage is zero where the file gives none: unknown, so that whoever plays
	// the turn reckons it.
	usage  domain.Usage
	finish domain.FinishReason
	// delay is the time to the end of the answer.
	delay time.Duration
	// failures are what the first attempts meet, one each.
	failures []fault
}

// A call is one tool call of a turn.
type call struct {
	id, name string
	// arguments is nil where text is sent as it is.
	arguments *value
	text      string
}

// A fault is how an attempt fails: with a status, or after some characters.
type fault struct {
	status        int
	cut           bool
	cutAfter      int
	retryAfter    time.Duration
	asked         bool
	message, code string
}

// A quoting is a text that may quote the results of tools.
type quoting struct {
	plain    string
	template *template.Template
}

// A value is a JSON value whose strings may quote the results of tools.
type value struct {
	raw    string // a number, true, false or null
	text   *quoting
	object bool
	keys   []string
	items  []value
}
