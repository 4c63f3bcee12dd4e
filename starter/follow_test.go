package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func stoppedResult() client.Result {
	return client.Result{
		Execution: client.Execution{ID: "notes", Number: 1}, Source: contract.FromWorkflow,
		Outcome: contract.Outcome{Status: domain.StatusStopped, StopReason: domain.StepsLimitReached},
		End:     contract.End{Signal: &domain.StopSignal{Reason: domain.StepsLimitReached, Message: "max_steps is 2\nand 2 are done"}},
	}
}

// advising explains every execution with the same advice.
type advising []client.ExplainAdvice

func (a advising) Explain(context.Context, string, int) (client.ExplainView, error) {
	return client.ExplainView{Advice: a}, nil
}

func TestCommandsToGoOnWith(t *testing.T) {
	t.Parallel()
	p := &program{shared: []string{"--state", "x.db"}}
	advice := advising{{Text: "raise the limit", Command: "extend notes --max-steps 4"}}
	explain := [2]string{"starter explain notes --state x.db", "why, and what it cost"}
	r := stoppedResult()
	require.Equal(t, [][2]string{{"starter extend notes --max-steps 4 --state x.db", "go on where it stopped"}, explain}, p.nextCommands(t.Context(), advice.Explain, r))
	r.Source = contract.FromHistory
	require.Equal(t, [][2]string{explain}, p.nextCommands(t.Context(), advice.Explain, r), "nobody is waited for")
	r.Source, r.Outcome.Status = contract.FromWorkflow, domain.StatusFailed
	require.Equal(t, [][2]string{explain}, p.nextCommands(t.Context(), advice.Explain, r))
}

// TestAnAnswerOfAnotherBuildIsSaidToBeOne, beside it.
func TestAnAnswerOfAnotherBuildIsSaidToBeOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		result client.Result
		says   string
	}{
		{client.Result{End: contract.End{Answer: "42"}, Source: contract.FromHistory}, ""},
		{client.Result{End: contract.End{Answer: "42"}, Source: contract.FromRawHistory, Build: "v9", Event: 7},
			"no worker answers, and this build cannot replay the history that build v9 has written: the answer is that of the last inference in it (event 7), and may not be the final one\n"},
		{client.Result{Source: contract.FromRawHistory}, "no worker answers, and this build cannot replay the history that another build has written: no inference can be read in it\n"},
	} {
		var out, said locked
		p := &program{out: render.Plain(&out), err: render.Plain(&said)}
		require.NoError(t, p.answer(c.result))
		require.Equal(t, c.says, strings.ReplaceAll(said.String(), "\n  ", " "))
		require.Equal(t, c.result.Answer, strings.TrimSpace(out.String()))
	}
}

// TestAfterwardsIsSaidToPeople alone: never to scripts, and hints never to files.
func TestAfterwardsIsSaidToPeople(t *testing.T) {
	t.Parallel()
	r := stoppedResult()
	r.Source = contract.FromHistory
	for name, c := range map[string]struct {
		flags    sharedFlags
		terminal bool
		mute     bool
		says     string
	}{
		"a file":     {says: "  max_steps is 2 and 2 are done\n"},
		"a terminal": {terminal: true, says: "  max_steps is 2 and 2 are done\n  starter explain notes  why, and what it cost\n"},
		"quiet":      {flags: sharedFlags{quiet: true}, terminal: true},
		"JSON":       {flags: sharedFlags{json: true}, terminal: true},
		"events":     {mute: true, terminal: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out locked
			p := &program{err: render.Plain(&out), flags: c.flags}
			p.err.Terminal = c.terminal
			err := p.reportEnding(t.Context(), &local.Stack{}, r, c.mute, true)
			require.Equal(t, exitStopped, exitCode(err))
			require.Empty(t, err.Error(), "it has been said")
			require.Equal(t, c.says, out.String())
		})
	}
}

// TestWatchStartsNothingForAnAgentThatCannotBe: where no dev server has ever run, none is brought up.
func TestWatchStartsNothingForAnAgentThatCannotBe(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	code, _, stderr := c.call(t.Context(), "watch", "nope")
	require.Equal(t, exitNotFound, code, stderr)
	require.Contains(t, stderr, `id: there is no agent "nope": `+c.variables[local.VariableState])
}

// TestKeptExecutions says what brings back what a server that is gone has kept.
func TestKeptExecutions(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"status", "notes"}, {"explain", "notes"}, {"result", "notes"}, {"extend", "notes"}, {"send", "notes", "hi"}, {"messages", "notes"}} {
		c := newCaller(t)
		code, _, stderr := c.call(t.Context(), args...)
		require.Equal(t, exitUnreachable, code)
		require.Contains(t, stderr, "start one with `starter dev`")
		require.NotContains(t, stderr, "kept")

		file := c.variables[local.VariableState]
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		code, _, stderr = c.call(t.Context(), args...)
		require.Equal(t, exitUnreachable, code, stderr)
		brings := "`starter watch notes`"
		if slices.Contains([]string{"send", "extend"}, args[0]) {
			brings = "this command with --wait"
		}
		require.Contains(t, stderr, "kept in "+file+": `starter dev`, or "+brings+", brings them back")
		looks := slices.Contains([]string{"status", "explain", "result", "messages"}, args[0])
		require.Equal(t, looks, strings.Contains(stderr, "it does not come back: a test may not start a process"), "%s: %s", args, stderr)
	}
}
