package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"everstep/starter/local"
	"everstep/starter/render"
)

// A caller calls the command line in memory.
type caller struct {
	name      string // that it is called by, the usual one unless given
	variables map[string]string
	in        string
	// here is where agents are looked for by name.
	here string
}

// newCaller returns a caller with a state file of its own, on which no server is up.
func newCaller(t *testing.T) *caller {
	return &caller{variables: map[string]string{
		local.VariableState:    filepath.Join(t.TempDir(), "dev.db"),
		"TEMPORAL_CONFIG_FILE": filepath.Join(t.TempDir(), "none.toml"),
	}}
}

var today = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// call runs a command line and returns its exit code, standard output and
// standard error.
func (c *caller) call(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err locked
	p := &program{
		name: c.name, in: strings.NewReader(c.in), out: render.Plain(&out), err: render.Plain(&err),
		interrupts: func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
		now:        func() time.Time { return today }, here: c.here,
	}
	p.machine = &local.Machine{
		Env: local.Environment{Environment: variables(c.variables)}, Say: p.say, Again: p.again,
		Executable: func() (string, error) { return "", errors.New("a test may not start a process") },
	}
	code = p.run(ctx, args)
	return code, out.String(), err.String()
}

// variables is an environment in memory.
type variables map[string]string

func (v variables) LookupEnv(name string) (string, bool) { value, ok := v[name]; return value, ok }
func (v variables) Environ() []string {
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		entries = append(entries, name+"="+v[name])
	}
	return entries
}

// locked is a buffer that goroutines share.
type locked struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *locked) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(text)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}
