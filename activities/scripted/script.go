package scripted

import (
	"fmt"
	"text/template"
	"time"

	"everstep/activities/inference"
	"everstep/domain"
)

// A script is a parsed file. It never changes.
type script struct {
	path  string
	turns []turn
	// summaries answer the calls that sum up, in turn; after the last one, and
	// where there are none, the default does.
	summaries []turn
}

// defaultSummary is a summary that the file does not give.
const defaultSummary = "This is summary %d, which the script does not give."

// at finds what answers a call.
func (s *script) at(call inference.Call) (turn, error) {
	n := call.Inference
	switch {
	case call.Summary && n >= 0 && n < len(s.summaries):
		return s.summaries[n], nil
	case call.Summary:
		return turn{text: &quoting{plain: fmt.Sprintf(defaultSummary, n+1)}, finish: domain.FinishStop}, nil
	case n < 0 || n >= len(s.turns):
		return turn{}, domain.Errorf(domain.Invalid, "script %s: has %d turns, and the conversation is at number %d; add turns",
			s.path, len(s.turns), n+1).From(Name)
	}
	return s.turns[n], nil
}

// A turn answers one inference.
type turn struct {
	line int
	text *quoting
	// json is a value that takes the place of the text: where the model is told
	// of a response format as a tool, the arguments of a call of that tool.
	json      value
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
	arguments value
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

// A value is a JSON value whose texts may quote the results of tools: JSON, and
// such texts in between.
type value []piece

type piece struct {
	raw  string
	text *quoting // nil: raw
}
