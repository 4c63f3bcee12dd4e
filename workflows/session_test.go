package workflows_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// A verdict collects how an update went.
type verdict struct {
	accepted bool
	rejected error
	value    any
	err      error
}

func (v *verdict) Accept()                       { v.accepted = true }
func (v *verdict) Reject(err error)              { v.rejected = err }
func (v *verdict) Complete(value any, err error) { v.value, v.err = value, err }

// refused requires that the update was not accepted, and why; succeeds that it was, and done.
func (v *verdict) refused(t *testing.T, says string) {
	t.Helper()
	require.ErrorContains(t, v.rejected, says)
}

func (v *verdict) succeeds(t *testing.T) {
	t.Helper()
	require.NoError(t, cmp.Or(v.rejected, v.err))
}

// sends gives a session a message at a time.
func sends(env *testsuite.TestWorkflowEnvironment, at time.Duration, id string, request contract.SendRequest) *verdict {
	return updates(env, at, contract.UpdateSend, id, request)
}

// prompts sends a session a message, and no more than its text.
func prompts(env *testsuite.TestWorkflowEnvironment, at time.Duration, text string) *verdict {
	return sends(env, at, "send "+at.String()+text, contract.SendRequest{Prompt: text})
}

func closes(env *testsuite.TestWorkflowEnvironment, at time.Duration) *verdict {
	return updates(env, at, contract.UpdateClose, "close "+at.String(), contract.CloseRequest{})
}

func TestWhatASessionRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		name    string
		request contract.SendRequest
		says    string
	}{
		"without a name": {"", contract.SendRequest{Prompt: "more"}, "takes one prompt"},
		"more than fits": {"ann", contract.SendRequest{Prompt: strings.Repeat("<", 300_000)}, "when encoded"},
		"a limit of money for a model of no price": {"ann", contract.SendRequest{Prompt: "more", Budget: costOf(1)},
			"max_cost: nobody knows what scripted//x costs"},
		"another definition": {"ann", contract.SendRequest{Prompt: "more", Definition: &domain.Definition{Tools: []string{"other"}}}, "tools: the session has"},
		"another execution": {"ann", contract.SendRequest{Prompt: "more", ExecutionID: input(t, "ann").AgentID.Execution("x", 1)},
			"is not in progress"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(says("one"), says("two"))}
			env := w.environment(t)
			at := time.Minute
			if test.name == "" {
				// It is there to be asked only while it works.
				w.model = plays(busy(), says("one"))
			}
			v := sends(env, at, "u1", test.request)
			closes(env, 2*time.Minute)
			execute(env, input(t, test.name))
			endsWith(t, env, 1)
			require.False(t, v.accepted)
			v.refused(t, test.says)
			app, ok := errors.AsType[*temporal.ApplicationError](v.rejected)
			require.True(t, ok, "a caller reads the kind")
			require.True(t, app.NonRetryable())
		})
	}
}

func TestWhereResolvingFails(t *testing.T) {
	t.Parallel()
	unknown := domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "tools: this worker has no look")
	for name, test := range map[string]struct {
		list   func(contract.ResolveRequest) (contract.Resolved, error)
		change func(*contract.SessionInput)
		status domain.ExecutionStatus
		code   domain.Code
		says   string
	}{
		"an unknown tool": {list: func(contract.ResolveRequest) (contract.Resolved, error) {
			return contract.Resolved{}, refused(unknown)
		}, status: domain.StatusFailed, code: domain.CodeUnknownTool, says: "this worker has no look"},
		"tools without end": {list: func(contract.ResolveRequest) (contract.Resolved, error) {
			return contract.Resolved{Tools: []domain.ToolSpec{{Name: "look", Description: strings.Repeat("x", domain.MaxResolved)}}}, nil
		}, status: domain.StatusFailed, says: "tools: takes"},
		"a price that nobody knows": {change: budgeted(costOf(1)),
			status: domain.StatusFailed, says: "max_cost: nobody knows what scripted//x costs"},
		"no money at all": {change: budgeted(costOf(0)), status: domain.StatusStopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{list: test.list, model: plays(says("hi"))}
			env := w.executed(t, input(t, "", func(in *contract.SessionInput) {
				if test.change != nil {
					test.change(in)
				}
			}))
			out := outcome(t, env)
			require.Equal(t, test.status, out.Status)
			require.Equal(t, test.code, out.Code)
			require.Zero(t, out.Steps)
			require.Empty(t, w.asked)
			if test.says != "" {
				require.Contains(t, status(t, env).Failure().Message, test.says)
			}
		})
	}
}

// TestUsageShowsWhileAStepIsInProgress: what failed tries cost is not hidden
// until the step ends.
func TestUsageShowsWhileAStepIsInProgress(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy(), says("one"))}
	env := w.environment(t)
	var meanwhile account.Status
	env.RegisterDelayedCallback(func() { meanwhile = status(t, env) }, time.Minute)
	execute(env, input(t, ""))
	completes(t, env)
	require.Equal(t, domain.StatusInProgress, meanwhile.Status)
	require.Zero(t, meanwhile.Steps)
	require.Equal(t, int64(100), meanwhile.Usage.TotalTokens())
	require.Contains(t, meanwhile.Doing, "attempt 2 at the model waits until")
}

// TestEachExecutionSaysWhoBeganIt: by the word of the program, and by the server's
// of schedules and parents, which no program can give.
func TestEachExecutionSaysWhoBeganIt(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(says("one"), says("two"), says("three"))}
	env := w.environment(t)
	scheduled := temporal.NewSearchAttributeKeyKeyword("TemporalScheduledById").ValueSet("nightly")
	require.NoError(t, env.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(scheduled)))
	sends(env, time.Minute, "u1", contract.SendRequest{Prompt: "more", By: domain.Program{Client: "stream", Identity: "7@there\xff"}})
	prompts(env, time.Hour, "more")
	closes(env, 2*time.Hour)
	execute(env, input(t, "ann", func(in *contract.SessionInput) {
		in.By = domain.Program{Client: "starter", Identity: "1@here"}
	}))
	endsWith(t, env, 3)
	for number, by := range map[int]domain.Starter{
		1: {Program: domain.Program{Client: "starter", Identity: "1@here"}, Schedule: "nightly"},
		2: {Program: domain.Program{Client: "stream", Identity: "7@there\uFFFD"}},
		3: {},
	} {
		require.Equal(t, by, eventsOf(t, env, number)[0].Data.(domain.AgentExecutionStarted).By, number)
	}
}
