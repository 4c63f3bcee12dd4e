package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/domain/hook"
)

// every has a hook of each trigger, made by its function, one named after it.
func every() []hook.Hook {
	return []hook.Hook{
		hook.BeforeExecution("before_execution", same[hook.Nothing]), hook.BeforeStep("before_step", same[hook.Nothing]),
		hook.BeforeInference("before_inference", same[hook.Request]), hook.AfterInference("after_inference", same[hook.Answer]),
		hook.BeforeToolUse("before_tool_use", same[hook.Call]), hook.AfterToolUse("after_tool_use", same[hook.Result]),
		hook.AfterStep("after_step", same[hook.Nothing]), hook.OnError("on_error", same[hook.Failure]),
		hook.OnStop("on_stop", same[hook.Nothing]), hook.AfterExecution("after_execution", same[hook.Nothing]),
	}
}

func same[At any](c hook.Context[At]) (hook.Context[At], error) { return c, nil }

func nothing(context.Context, contract.HookRequest) (contract.HookReply, error) {
	return contract.HookReply{}, nil
}

func TestEachTriggerHasAFunction(t *testing.T) {
	t.Parallel()
	var triggers []domain.Trigger
	for _, h := range every() {
		triggers = append(triggers, h.Trigger())
		require.Equal(t, contract.HookSpec{Name: string(h.Trigger()), Trigger: h.Trigger()}, h.Spec())
		require.NoError(t, h.Check())
		require.Nil(t, h.Activity())
	}
	require.Equal(t, enum.Known[domain.Trigger](), triggers)
	for _, trigger := range enum.Known[domain.Trigger]() {
		h := hook.IO(trigger, "io", nothing)
		h.Priority, h.Timeout, h.Attempts = 3, time.Second, 2
		require.NoError(t, h.Check(), trigger)
		require.Equal(t, contract.HookSpec{
			Name: "io", Trigger: trigger, Priority: 3, IO: true, Timeout: time.Second, Attempts: 2,
		}, h.Spec())
		require.NotNil(t, h.Activity())
	}
}

// TestEachTriggerHasAnExample reads the examples: the documentation of users.
func TestEachTriggerHasAnExample(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "example_test.go", nil, parser.ParseComments)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			names[f.Name.Name] = true
		}
	}
	for _, name := range []string{
		"BeforeExecution", "BeforeStep", "BeforeInference", "AfterInference", "BeforeToolUse",
		"AfterToolUse", "AfterStep", "OnError", "OnStop", "AfterExecution", "IO",
	} {
		require.True(t, names["Example"+name], name)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	pace := func(timeout time.Duration, attempts int) hook.Hook {
		h := hook.BeforeStep("pace", same[hook.Nothing])
		h.Timeout, h.Attempts = timeout, attempts
		return h
	}
	require.NoError(t, pace(0, 0).Check())
	audit := hook.IO(domain.TriggerOnStop, "audit", nothing)
	audit.Attempts = -1
	for fault, h := range map[string]hook.Hook{
		`hook at before_step: name: is empty`:                   hook.BeforeStep("", same[hook.Nothing]),
		`hook "pace": has no function`:                          hook.BeforeStep("pace", nil),
		`hook "audit": has no function`:                         hook.IO(domain.TriggerOnStop, "audit", nil),
		`hook "pace": timeout and attempts may not be nega`:     pace(-1, 0),
		`hook "audit": timeout and attempts may not be neg`:     audit,
		`hook "pace": timeout and attempts are for hooks made`:  pace(time.Second, 0),
		`timeout and attempts are for hooks made with IO; this`: pace(0, 2),
		`hook "audit": trigger: "at_noon" is none of before_`:   hook.IO("at_noon", "audit", nothing),
		`hook "": trigger: "" is none of`:                       {},
	} {
		require.ErrorContains(t, h.Check(), fault)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	given := point(domain.TriggerBeforeStep)
	before := shown(t, given)
	for name, c := range map[string]struct {
		run   func(hook.Point) (hook.Point, error)
		fault string
	}{
		"panics": {func(hook.Point) (hook.Point, error) { panic("hunter2") }, "it panicked: a fault of the hook; the worker's log has the stack"},
		"fails": {func(c hook.Point) (hook.Point, error) {
			return c.Stop("half way").Continue(), errors.New("no luck")
		}, "no luck"},
	} {
		out, err := hook.Run(hook.BeforeStep("x", c.run), given)
		require.EqualError(t, err, c.fault, name)
		require.Equal(t, given, out, "%s: nothing is half done", name)
	}
	out, err := hook.Run(hook.BeforeStep("x", func(c hook.Point) (hook.Point, error) { return c.Stop("enough"), nil }), given)
	require.NoError(t, err)
	require.Len(t, out.Stops(), 1)
	require.Equal(t, before, shown(t, given))
	_, err = hook.Run(hook.BeforeInference("x", same[hook.Request]), given)
	require.ErrorContains(t, err, "the hook is not one of before_step", "another kind of context")
	_, err = hook.Run(hook.AfterStep("x", same[hook.Nothing]), given)
	require.ErrorContains(t, err, "the hook is not one of before_step", "the same kind at another point")
	_, err = hook.Run(hook.IO(domain.TriggerBeforeStep, "x", nothing), given)
	require.ErrorContains(t, err, "the hook is not one of before_step", "an activity")
}

// TestChangesAreCopies: each change returns another context; two changes of one
// context never see each other.
func TestChangesAreCopies(t *testing.T) {
	t.Parallel()
	given := point(domain.TriggerAfterStep).Stop("first").Stop("second").Stop("third")
	before := shown(t, given)
	for name, change := range map[string]func(text string) hook.Point{
		"Stop":     given.Stop,
		"StopFor":  func(text string) hook.Point { return given.StopFor(domain.CostLimitReached, text, nil) },
		"Continue": func(text string) hook.Point { return given.Continue().Stop(text) },
		"Say":      func(text string) hook.Point { return given.Say(domain.RoleUser, text) },
		"Note": func(text string) hook.Point {
			c, err := given.Note("key", text)
			require.NoError(t, err)
			return c
		},
	} {
		one := change("one")
		wasOne := shown(t, one)
		two := change("two")
		require.NotEqual(t, before, wasOne, name)
		require.NotEqual(t, wasOne, shown(t, two), name)
		require.Equal(t, wasOne, shown(t, one), name)
		require.Equal(t, before, shown(t, given), name)
	}
	call := hook.ToolUse{Trigger: domain.TriggerBeforeToolUse}
	blocked := hook.Block(call, "not on Fridays")
	_, forbidden := call.At.Blocked()
	require.False(t, forbidden)
	message, forbidden := blocked.At.Blocked()
	require.True(t, forbidden)
	require.Equal(t, "not on Fridays", message)
	message, forbidden = call.At.Block("").Blocked()
	require.True(t, forbidden, "also without a word")
	require.Empty(t, message)
}

func TestNote(t *testing.T) {
	t.Parallel()
	c, err := point(domain.TriggerOnStop).Note("seen", map[string]int{"files": 3})
	require.NoError(t, err)
	require.JSONEq(t, `{"files":3}`, string(c.State.Metadata["seen"]))
	c, err = c.Note("seen", nil)
	require.NoError(t, err)
	require.NotContains(t, c.State.Metadata, "seen")
	given := c
	for fault, value := range map[string]any{"note key: json: unsupported type": make(chan int), "note key: json: error calling": json.RawMessage("{")} {
		c, err = given.Note("key", value)
		require.ErrorContains(t, err, fault)
		require.Equal(t, given, c)
	}
}

// shown is all that can be seen of a context.
func shown(t *testing.T, c hook.Point) string {
	t.Helper()
	state, err := c.State.EncodeFull()
	require.NoError(t, err)
	rest, err := json.Marshal([]any{c.Trigger, c.Now, c.Stops(), c.Continues()})
	require.NoError(t, err)
	return string(state) + string(rest)
}
