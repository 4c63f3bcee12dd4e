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
	calls map[string]*listener
}

type listener struct {
	tell func(line string)
	// refused is what the server has asked for in vain meanwhile.
	refused string
}

// follow asks for the progress of a call, and tells it until the function that it
// returns is called, which says what the server has asked for in vain meanwhile.
func (l *listeners) follow(params *sdk.CallToolParams, tell func(line string)) (stop func() (refused string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[string]*listener{}
	}
	l.last++
	token, one := strconv.Itoa(l.last), &listener{tell: tell}
	l.calls[token] = one
	params.SetProgressToken(token)
	return func() string {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.calls, token)
		return one.refused
	}
}

// heard passes on what a server says; of a call that is over, or of none, nobody hears.
func (l *listeners) heard(said *sdk.ProgressNotificationParams) {
	token, _ := said.ProgressToken.(string)
	l.mu.Lock()
	one := l.calls[token]
	l.mu.Unlock()
	if one != nil {
		one.tell(progressLine(said))
	}
}

// refused tells all who follow a call what their server has asked for in vain.
func (l *listeners) refused(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.calls {
		one.refused = what
		one.tell("its server asks for " + what + ", which no server is given")
	}
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
