package mcp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

func TestACallOfAServersTool(t *testing.T) {
	t.Parallel()
	s := started(t, "1")
	require.Equal(t, "hello", said(t, s, "s__echo", args{Text: "hello"}))
	found, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	spec := found.Spec()
	require.Equal(t, "Does echo.", spec.Description)
	require.Equal(t, domain.AtMostOnce, spec.Effect, "a hint loosens nothing")
	require.False(t, spec.Pin.IsZero())
	_, err = found.Call(t.Context(), `{"text":3}`)
	require.ErrorContains(t, err, "at /text: must be of type string")

	_, err = call(t, s, "s__fail", args{})
	require.EqualError(t, err, "no such order")
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	_, err = call(t, s, "s__none", args{})
	require.ErrorContains(t, err, `MCP server s has no "s__none" for agents; it has: s__`)
	require.Equal(t, domain.CodeUnknownTool, domain.AsError(err).Code)
	requireNotStarted(t, err)
	_, err = s.Find(t.Context(), "other__echo")
	require.ErrorContains(t, err, "no MCP server")
	require.True(t, s.Has("s__anything"))
	require.False(t, s.Has("other__echo") || s.Has("s") || s.Has("__echo"))
}

func TestEffectsAreConfiguredAndHintsOnlyMakeThemStricter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		configured, want domain.Effect
		hints            *sdk.ToolAnnotations
	}{
		{domain.AtMostOnce, domain.AtMostOnce, &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}},
		{domain.ReadOnly, domain.ReadOnly, nil},
		{domain.ReadOnly, domain.ReadOnly, &sdk.ToolAnnotations{}},
		{domain.ReadOnly, domain.ReadOnly, &sdk.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(true)}},
		{domain.ReadOnly, domain.AtMostOnce, &sdk.ToolAnnotations{DestructiveHint: new(true)}},
		{domain.ReadOnly, domain.Idempotent, &sdk.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: true}},
		{domain.Idempotent, domain.Idempotent, &sdk.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: true}},
		{domain.Idempotent, domain.AtMostOnce, &sdk.ToolAnnotations{DestructiveHint: new(true)}},
		{domain.Idempotent, domain.Idempotent, &sdk.ToolAnnotations{DestructiveHint: new(false)}},
	} {
		require.Equal(t, c.want, Stricter(c.configured, c.hints), "%s with %+v", c.configured, c.hints)
	}
	for want, hints := range map[string]*sdk.ToolAnnotations{
		"[]": nil, "[destructive]": {ReadOnlyHint: true, DestructiveHint: new(true)}, "[open_world]": {OpenWorldHint: new(false)},
		"[destructive open_world]": {DestructiveHint: new(false), OpenWorldHint: new(false)},
	} {
		require.Equal(t, want, fmt.Sprint(disclaimed(hints)))
	}
	require.Empty(t, disclaimed(&sdk.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(true), OpenWorldHint: new(true)}))
	s := started(t, "1", func(s *Server) {
		s.Effect = domain.ReadOnly
		s.Timeout = time.Minute
		s.Tools = map[string]ToolConfig{"echo": {Effect: domain.Idempotent, Timeout: time.Second}, "admin.delete/all": {}, "overwrite": {}}
	})
	name := ToolName("s", "admin.delete/all")
	for name, want := range map[string]domain.ToolSpec{
		"s__echo":      {Effect: domain.Idempotent, Timeout: time.Second},
		name:           {Effect: domain.AtMostOnce, Timeout: time.Minute},
		"s__overwrite": {Effect: domain.Idempotent, Timeout: time.Minute},
	} {
		found, err := s.Find(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, want, domain.ToolSpec{Effect: found.Spec().Effect, Timeout: found.Spec().Timeout}, name)
	}
	require.Equal(t, domain.Idempotent, s.Effect("s__echo"))
	require.Equal(t, domain.ReadOnly, s.Effect(name))
	require.Equal(t, domain.AtMostOnce, s.Effect("other__x"))
	_, err := s.Find(t.Context(), "s__env")
	require.ErrorContains(t, err, "has no \"s__env\" for agents", "the list of tools leaves it out")
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "files__read_file", ToolName("files", "read_file"))
	long := strings.Repeat("x", 128)
	seen := map[string]bool{}
	for _, name := range []string{"a.b", "a_b", "a/b", "a b", "", "é", "__", long, long + "y", strings.Repeat("x", 59), strings.Repeat("x", 61)} {
		full := ToolName("s", name)
		require.False(t, seen[full], "%q", name)
		seen[full] = true
		server, ok := domain.ServerOf(full)
		require.True(t, ok)
		require.Equal(t, "s", server)
		require.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, full)
	}
}

// No variable of the worker reaches a server unless its configuration names it.
func TestAServerHasTheEnvironmentThatIsConfigured(t *testing.T) {
	t.Setenv("EVERSTEP_TEST_CANARY", "canary")
	secrets := func(name string) (string, error) {
		if name == "input:region" {
			return "", Unset(name)
		}
		return "the value of " + name, nil
	}
	s := openServers(t, Options{Secret: secrets}, programOf(t, "1", func(s *Server) {
		s.Env = []Variable{{"PLAIN", "a b"}, {"TOKEN", "Bearer ${KEY}, ${OTHER}"}, {"REGION", "${input:region}"}}
		s.Inputs = []Input{{ID: "region", Default: "eu"}}
	}))
	require.ElementsMatch(t, []string{"PLAIN=a b", "TOKEN=Bearer the value of KEY, the value of OTHER", "REGION=eu", "PATH=" + filepath.Dir(os.Args[0]) + ":" + usualPath},
		strings.Split(said(t, s, "s__env", args{}), "\n"))

	log, unset := &warnings{}, func(name string) (string, error) { return "", Unset("${" + name + "}: is not set") }
	s = openServers(t, Options{Log: log}, Server{Name: "s", Command: "x", Env: []Variable{{"TOKEN", "${KEY}"}}}.With(unset, unset), programOf(t, "1", func(s *Server) { s.Name = "other" }))
	_, err := s.Find(t.Context(), "s__echo")
	require.ErrorContains(t, err, "MCP server s is not started: TOKEN: ${KEY}: is not set")
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	require.Len(t, log.lines, 1)
	require.Equal(t, "a b", said(t, s, "other__echo", args{Text: "a b"}), "the others are")
}

func TestAServersFolderAndRoots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openServers(t, Options{Root: "/srv/work here"}, programOf(t, "1", func(s *Server) { s.Dir = dir }))
	_, here, _ := strings.Cut(said(t, s, "s__here", args{}), " ")
	require.Equal(t, dir, here)
	require.Contains(t, said(t, s, "s__roots", args{}), `"uri":"file:///srv/work%20here"`)
	s = started(t, "1")
	require.Contains(t, said(t, s, "s__roots", args{}), `"roots":[]`)
	for name, want := range map[string]string{
		"s__elicit": "MCP server s asks for an answer of a person (elicitation), which no server is given",
		"s__sample": "MCP server s asks for an answer of a model (sampling), which no server is given",
		"s__insist": "MCP server s asks again and again before it answers",
	} {
		_, err := call(t, s, name, args{})
		require.EqualError(t, err, want)
		require.False(t, tool.IsOutcomeUnknown(err))
	}
}

// alive reports whether a process is there and has not ended.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func pidOf(t *testing.T, text string) int {
	t.Helper()
	number, _, _ := strings.Cut(text, " ")
	pid, err := strconv.Atoi(number)
	require.NoError(t, err)
	return pid
}

func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return !alive(pid) }, patience, 5*time.Millisecond, "process %d is still there", pid)
}

func TestAServerThatWasKilledIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := started(t, "1")
	first := pidOf(t, said(t, s, "s__here", args{}))
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	requireGone(t, first)
	require.Eventually(t, func() bool {
		text, err := call(t, s, "s__here", args{})
		if err != nil { // it had not been seen yet
			requireLost(t, err)
			return false
		}
		require.NotEqual(t, first, pidOf(t, text))
		return true
	}, patience, time.Millisecond)
}

// TestAServerThatIsStartedAgainIsListedAgain: a call of what was looked at before does not go to another tool of its name.
func TestAServerThatIsStartedAgainIsListedAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "started")
	s := openServers(t, Options{fresh: time.Hour}, programOf(t, "changes", func(s *Server) { s.Args = append(s.Args, file) }))
	looked, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	same, err := s.Find(t.Context(), "s__overwrite")
	require.NoError(t, err)
	first := pidOf(t, said(t, s, "s__here", args{}))
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	requireGone(t, first)
	require.Eventually(t, func() bool {
		_, err := looked.Call(t.Context(), `{"text":"the keys"}`)
		require.Error(t, err, "it went to a tool that nobody has looked at")
		require.True(t, tool.IsOutcomeUnknown(err) || tool.IsNotStarted(err), "%s", err)
		return domain.AsError(err).Code == domain.CodeNotRun
	}, patience, time.Millisecond)
	again, err := same.Call(t.Context(), `{"text":"as it was"}`)
	require.NoError(t, err, "what it has not changed is called")
	require.Equal(t, "as it was", again.Content)
}

// requireLost wants an error of a connection that broke: before the call or after it was sent.
func requireLost(t *testing.T, err error) {
	t.Helper()
	require.True(t, tool.IsOutcomeUnknown(err) != tool.IsNotStarted(err), "%s", err)
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
}

func TestACallWhoseServerDiesMayHaveBeenCarriedOut(t *testing.T) {
	t.Parallel()
	s := started(t, "1")
	ledger := filepath.Join(t.TempDir(), "ledger")
	_, err := call(t, s, "s__die", args{Text: ledger})
	requireUnknown(t, err)
	require.ErrorContains(t, err, "MCP server s was lost while the call ran: its program has ended (exit status 3)")
	noted, err := os.ReadFile(ledger)
	require.NoError(t, err)
	require.Equal(t, "died\n", string(noted), "and once")
	require.Equal(t, "again", said(t, s, "s__echo", args{Text: "again"}))
}

func TestAStopTellsTheServer(t *testing.T) {
	t.Parallel()
	s := started(t, "1")
	before := pidOf(t, said(t, s, "s__here", args{}))
	ledger := filepath.Join(t.TempDir(), "ledger")
	ctx, stop := context.WithCancel(t.Context())
	noted := func(want string) func() bool {
		return func() bool { text, _ := os.ReadFile(ledger); return string(text) == want }
	}
	ended := make(chan error, 1)
	go func() {
		found, err := s.Find(ctx, "s__wait")
		if err == nil {
			_, err = found.Call(ctx, `{"text":"`+ledger+`"}`)
		}
		ended <- err
	}()
	require.Eventually(t, noted("begun\n"), patience, time.Millisecond)
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Eventually(t, noted("begun\ntold to stop\n"), patience, time.Millisecond)
	require.Equal(t, before, pidOf(t, said(t, s, "s__here", args{})), "the server stays")
}

func TestManyCallsAtOneTime(t *testing.T) {
	t.Parallel()
	s := started(t, "1")
	type outcome struct {
		text string
		err  error
	}
	all := make(chan outcome)
	for n := range 64 {
		go func() {
			found, err := s.Find(t.Context(), "s__echo")
			var result tool.Result
			if err == nil {
				result, err = found.Call(t.Context(), fmt.Sprintf(`{"text":"%d"}`, n))
			}
			all <- outcome{result.Content, err}
		}()
	}
	var got []string
	for range 64 {
		one := <-all
		require.NoError(t, one.err)
		got = append(got, one.text)
	}
	slices.Sort(got)
	require.Len(t, slices.Compact(got), 64)
	s.all["s"].mu.Lock()
	defer s.all["s"].mu.Unlock()
	require.Zero(t, s.all["s"].failures)
}

func TestClosingEndsServersAndWhatTheyStarted(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"1", "deaf"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := started(t, kind)
			pids := []int{}
			if kind == "deaf" {
				require.Equal(t, "hello", said(t, s, "s__echo", args{}))
			} else {
				pids = append(pids, pidOf(t, said(t, s, "s__here", args{})), pidOf(t, said(t, s, "s__spawn", args{})))
			}
			pids = append(pids, s.all["s"].live.program.process.PID())
			s.Close()
			for _, pid := range pids {
				require.False(t, alive(pid), "process %d", pid)
			}
			_, err := call(t, s, "s__echo", args{})
			requireNotStarted(t, err)
		})
	}
}

// A server that changes a tool has another pin for it, also where it says nothing of
// the change.
func TestAChangedToolHasAnotherPin(t *testing.T) {
	t.Parallel()
	pins := map[string]domain.Digest{}
	for _, version := range []string{"1", "2", "changed"} {
		found, err := started(t, version).Find(t.Context(), "s__echo")
		require.NoError(t, err)
		pins[version] = found.Spec().Pin
	}
	require.Equal(t, pins["1"], pins["2"])
	require.NotEqual(t, pins["1"], pins["changed"])
}

func TestAServerIsAskedForItsToolsAgainAndAgain(t *testing.T) {
	t.Parallel()
	for fresh, want := range map[time.Duration]string{time.Hour: "Does echo, said 1", time.Nanosecond: "Does echo, said 2"} {
		s := openServers(t, Options{fresh: fresh}, programOf(t, "fickle"))
		_, err := s.Find(t.Context(), "s__echo")
		require.NoError(t, err)
		found, err := s.Find(t.Context(), "s__echo")
		require.NoError(t, err)
		require.Equal(t, want, found.Spec().Description)
	}
}

func TestAllToolsOfAServer(t *testing.T) {
	t.Parallel()
	names := func(s *Servers, server string) (names []string, err error) {
		all, err := s.All(t.Context(), server)
		for _, one := range all {
			require.False(t, one.Spec().Pin.IsZero())
			names = append(names, one.Spec().Name)
		}
		return names, err
	}
	all, err := names(started(t, "1"), "s")
	require.NoError(t, err)
	require.Contains(t, all, "s__echo")
	require.Greater(t, len(all), 10)
	some := started(t, "1", func(s *Server) { s.Tools = map[string]ToolConfig{"echo": {}, "here": {}} })
	all, err = names(some, "s")
	require.NoError(t, err)
	require.Equal(t, []string{"s__echo", "s__here"}, all, "of those that the file lists")

	_, err = names(some, "t")
	requireNotStarted(t, err)
	require.EqualError(t, err, `this worker has no MCP server "t"`)
	_, err = names(started(t, "1", func(s *Server) { s.Tools = map[string]ToolConfig{} }), "s")
	require.EqualError(t, err, "MCP server s has no tools for agents")
	_, err = names(started(t, "gone"), "s")
	requireNotStarted(t, err)
	log := &warnings{}
	useless := openServers(t, Options{Log: log}, programOf(t, "useless"))
	for range 2 {
		all, err = names(useless, "s")
		require.NoError(t, err)
		require.Equal(t, []string{"s__echo"}, all)
	}
	require.Len(t, log.lines, 1, "it is told once")
	require.Contains(t, log.lines[0], `tool "odd": schema: its type is "string" and not object: arguments are always one JSON object`)
}

func TestProgressOfACall(t *testing.T) {
	t.Parallel()
	s := started(t, "1")
	var mu sync.Mutex
	var told []string
	ctx := tool.WithProgress(t.Context(), func(line string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, line)
	})
	said, err := callIn(ctx, t, s, "s__count", args{N: 3})
	require.NoError(t, err)
	require.Equal(t, "counted", said)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told) == 3
	}, patience, time.Millisecond)
	require.Equal(t, []string{"1 of 3: one more", "2 of 3: one more", "3 of 3: one more"}, told, "of this call alone")
	require.Empty(t, s.all["s"].progress.calls, "nobody listens any more")
}

func TestAServerIsOfferedNoPersonAndNoModel(t *testing.T) {
	t.Parallel()
	for root, want := range map[string]bool{"": false, "/srv": true} {
		s := openServers(t, Options{Root: root}, programOf(t, "1"))
		require.Equal(t, fmt.Sprintf("sampling false, elicitation false, roots %t", want), said(t, s, "s__offered", args{}))
	}
}
