package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

func TestWhatIsNoMessageIsPassedOver(t *testing.T) {
	t.Parallel()
	var log complaints
	s := openServers(t, Options{Log: &log}, programOf(t, "garbage"))
	for range 3 {
		require.Equal(t, "hello", said(t, s, "s__echo", args{}))
	}
	require.Zero(t, s.all["s"].failures)
	require.Contains(t, log.said(), "no message: this is no message")
}

// TestAMessageOfSeveralLinesIsRead, also among lines that begin like one.
func TestAMessageOfSeveralLinesIsRead(t *testing.T) {
	t.Parallel()
	s := started(t, "printed")
	for _, text := range []string{"hello", "}\n{\n", strings.Repeat("}", 3<<16)} {
		require.Equal(t, text, said(t, s, "s__echo", args{Text: text}))
	}
	_, err := call(t, s, "s__echo", args{Text: "long"})
	require.EqualError(t, err, "MCP server s has answered the call, and its answer cannot be read: it has more than 41943040 bytes")
	require.Equal(t, "hello", said(t, s, "s__echo", args{Text: "hello"}))
	require.Zero(t, s.all["s"].failures)
}

// complaints are what servers have said to a log.
type complaints struct {
	mu    sync.Mutex
	lines []string
}

func (c *complaints) Debug(_ string, keyvals ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, keyvals[len(keyvals)-1].(string))
}

func (c *complaints) Warn(string, ...any) {}

func (c *complaints) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// What a hostile server does to a call leaves the call with an error, soon, and the
// next one with a server that was started anew.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"endless": "it sends a message of more than 41943040 bytes",
		"asks":    "it asks more than 64 things at one time",
		"closes":  "it has closed its output",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := started(t, kind)
			for range 2 {
				_, err := call(t, s, "s__echo", args{})
				requireUnknown(t, err)
				require.ErrorContains(t, err, want)
				_, err = s.Find(t.Context(), "s__echo")
				require.NoError(t, err)
			}
		})
	}
}

// TestAnAnswerThatIsTooLong fails its call alone: what the call does is done.
func TestAnAnswerThatIsTooLong(t *testing.T) {
	t.Parallel()
	s := started(t, "torrent")
	_, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	before := s.all["s"].live
	for range 2 {
		_, err := call(t, s, "s__echo", args{})
		require.EqualError(t, err, "MCP server s has answered the call, and its answer cannot be read: it has more than 41943040 bytes")
		require.False(t, tool.IsOutcomeUnknown(err))
	}
	require.Same(t, before, s.all["s"].live)
}

func TestAFloodOfNoticesIsLeftOut(t *testing.T) {
	t.Parallel()
	s := started(t, "flood")
	for range 2 {
		require.Equal(t, "hello", said(t, s, "s__echo", args{}))
	}
	require.Zero(t, s.all["s"].failures)
}

// million tells of its progress a million times before it answers.
func million() {
	answering("", func(method string, params json.RawMessage) string {
		return usual(method, func() string {
			var call struct {
				Meta struct {
					Token json.RawMessage `json:"progressToken"`
				} `json:"_meta"`
			}
			_ = json.Unmarshal(params, &call)
			out := bufio.NewWriterSize(os.Stdout, 1<<20)
			for n := range 1_000_000 {
				_, _ = fmt.Fprintf(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n", call.Meta.Token, n)
			}
			_ = out.Flush()
			return hello
		})
	})
}

// shouts sends 100 notices of a megabyte each, for its call and for all, before it answers.
func shouts() {
	answering("", func(method string, _ json.RawMessage) string {
		return usual(method, func() string {
			for range 100 {
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1","progress":1,"message":"` + strings.Repeat("x", 1_000_000) + `"}}`)
			}
			return hello
		})
	})
}

// TestAMillionNotices, and 100 MB of long ones, cost their call some seconds, and nobody memory: what is heard of them
// is bounded.
func TestAMillionNotices(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: a flood takes minutes with the race detector")
	}
	for _, kind := range []string{"million", "shouts"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := started(t, kind)
			found, err := s.Find(t.Context(), "s__echo")
			require.NoError(t, err)
			heard := 0
			ctx := tool.WithProgress(t.Context(), func(line string) {
				heard++
				require.Less(t, len(line), maxAsk)
			})
			begun := time.Now()
			result, err := found.Call(ctx, `{}`)
			require.NoError(t, err)
			require.Equal(t, "hello", result.Content)
			require.LessOrEqual(t, heard, maxNotices*(2+int(time.Since(begun)/time.Second)))
			require.Zero(t, s.all["s"].failures)
		})
	}
}

func TestAServerThatHangsInACallIsReplaced(t *testing.T) {
	t.Parallel()
	s := started(t, "hangs")
	_, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	before := s.all["s"].live
	hangs := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := callIn(ctx, t, s, "s__echo", args{})
		return err
	}
	require.ErrorIs(t, hangs(), context.DeadlineExceeded)
	for began := time.Now(); before.usable(); { // a slow machine may take all of a call's time before the server has it
		require.Less(t, time.Since(began), patience)
		require.Error(t, hangs())
	}
	requireGone(t, before.program.process.PID())
	_, err = s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
}

func TestAListWithoutEndIsRefused(t *testing.T) {
	t.Parallel()
	_, err := call(t, started(t, "pages"), "s__echo", args{})
	requireNotStarted(t, err)
	require.ErrorContains(t, err, "it lists its tools on more than 100 pages")
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind, "another try would come to the same")
}

func TestAServerThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server Server
		want   string
	}{
		"ends":       {programOf(t, "gone"), "MCP server s cannot be reached: its program has ended (exit status 3), each time that it was started; mend its command, args, env or cwd in the worker's file of MCP servers (EVERSTEP_MCP), then try: starter mcp check s"},
		"says why":   {programOf(t, "complains"), "then try: starter mcp check s; it last wrote: Error: no key [hidden] in Bearer [hidden] | 3 | 4 | 5 | 6 | 7 | 8 | Bye"},
		"not there":  {Server{Name: "s", Command: "/no/such/program"}, "no such file or directory"},
		"not found":  {Server{Name: "s", Command: "no-such-program-on-any-path"}, "executable file not found"},
		"no program": {Server{Name: "s", Command: os.DevNull}, "permission denied"},
		"no folder":  {programOf(t, "1", func(s *Server) { s.Dir = "/no/such/folder" }), "MCP server s cannot be reached: cwd: /no/such/folder is no folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redact := func(text string) string { return strings.ReplaceAll(text, "sesame", "[hidden]") }
			s := openServers(t, Options{Redact: redact}, c.server)
			_, err := call(t, s, "s__echo", args{})
			requireNotStarted(t, err)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "starter mcp check s")
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind, "another try would come to the same")
			_, again := call(t, s, "s__echo", args{})
			require.Equal(t, err.Error(), again.Error(), "it is not started again at once")
			require.Equal(t, 1, s.all["s"].failures)
		})
	}
}

// complains says why it ends, with a key and the frames of a stack.
func complains() {
	fmt.Fprintf(os.Stderr, "first\n\x1b[31mError: no key sesame in Bearer sesame\x1b[0m\n%s\n", strings.Repeat("    at a frame\n", 20))
	for n := range 6 {
		fmt.Fprintln(os.Stderr, n+3)
	}
	fmt.Fprint(os.Stderr, "Bye")
	os.Exit(2)
}

// greets answers the first request so.
func greets(answer string) { answering("", func(string, json.RawMessage) string { return answer }) }

// TestAProgramThatIsLeftIsNotTakenForOneThatEnds: it does so when its input does.
func TestAProgramThatIsLeftIsNotTakenForOneThatEnds(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`"error":{"code":-32603,"message":"no database"}`:  "no database (-32603)",
		`"error":{"code":-32000,"message":"not just now"}`: "not just now (-32000)",
	} {
		s := started(t, "greets", func(s *Server) { s.Args = append(s.Args, answer) })
		_, err := s.Find(t.Context(), "s__echo")
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "has ended")
		require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
	}
}

// Who writes first finds a closed pipe, who reads first the end of it: both are told the same.
func TestAProgramThatHasEndedIsToldAsThatToWhoWrites(t *testing.T) {
	t.Parallel()
	p, err := startProgram(programOf(t, "gone"), nil, newHearing().notices, func(string) {})
	require.NoError(t, err)
	defer p.end()
	<-p.process.Done()
	require.ErrorIs(t, p.Write(t.Context(), &jsonrpc.Request{Method: "initialize"}), syscall.EPIPE)
	require.Equal(t, "its program has ended (exit status 3)", p.why())
}

func TestWhoWaitsForAServerThatDoesNotStartMayLeave(t *testing.T) {
	t.Parallel()
	s := started(t, "mute")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := callIn(ctx, t, s, "s__echo", args{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireNotStarted(t, err)
}

// TestWhoWaitsForASilentServerIsTold which one that is, and what its program has written, long before it is given up.
func TestWhoWaitsForASilentServerIsTold(t *testing.T) {
	t.Parallel()
	s := openServers(t, Options{silence: 50 * time.Millisecond, Redact: func(text string) string { return strings.ReplaceAll(text, "sesame", "[hidden]") }}, programOf(t, "asking"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.Eventually(t, func() bool { // it has to be there first
		once, over := context.WithCancel(ctx)
		defer over()
		text := ""
		_, err := s.All(tool.WithProgress(once, func(said string) { text = said; over() }), "s")
		require.ErrorIs(t, err, context.Canceled)
		require.Contains(t, text, "MCP server s has not answered for 50ms; starter mcp check s says more")
		return strings.HasSuffix(text, "; it last wrote: The key, not [hidden]:")
	}, patience, time.Millisecond)
	require.Equal(t, "; it last wrote: The key, not [hidden]:", s.LastWords("s"))
}

// A call that a server does not read, since its input is full, ends with its context
// all the same, and breaks the connection: half of it was sent.
func TestACallThatIsNotReadEnds(t *testing.T) {
	t.Parallel()
	s := started(t, "hangs")
	_, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	before := s.all["s"].live
	first, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	go func() { _, _ = before.session.CallTool(first, nil) }() // it hangs in this one
	long := make([]byte, 4<<20)
	for i := range long {
		long[i] = 'x'
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = callIn(ctx, t, s, "s__echo", args{Text: string(long)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Eventually(t, func() bool { return !before.usable() }, patience, 10*time.Millisecond)
}
