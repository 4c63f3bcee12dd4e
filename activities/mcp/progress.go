package mcp

import (
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// listeners hear what a server says of the progress of calls, each by its token. The
// zero value is ready.
type listeners struct {
	mu    sync.Mutex
	last  int
	calls map[string]func(line string)
	// times is how often the server has asked for what it is not given, and what it asked for last.
	times int
	what  string
}

// follow asks for the progress of a call, and tells it until the function that it
// returns is called.
func (l *listeners) follow(params *sdk.CallToolParams, tell func(line string)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[string]func(string){}
	}
	l.last++
	token := strconv.Itoa(l.last)
	l.calls[token] = tell
	params.SetProgressToken(token)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.calls, token)
	}
}

// heard passes on what a server says; of a call that is over, or of none, nobody hears.
func (l *listeners) heard(said *sdk.ProgressNotificationParams) {
	token, _ := said.ProgressToken.(string)
	l.mu.Lock()
	tell := l.calls[token]
	l.mu.Unlock()
	if tell != nil {
		tell(progressLine(said))
	}
}

// refused tells all who follow a call what their server has asked for in vain.
func (l *listeners) refused(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times, l.what = l.times+1, what
	for _, tell := range l.calls {
		tell("its server asks for " + what + ", which no server is given")
	}
}

func (l *listeners) sofar() (times int, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.times, l.what
}

// progressLine is how far a call is: 3 of 10: copying.
func progressLine(said *sdk.ProgressNotificationParams) string {
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	line := number(said.Progress)
	if said.Total > 0 {
		line += " of " + number(said.Total)
	}
	if said.Message != "" {
		line += ": " + said.Message
	}
	return line
}
