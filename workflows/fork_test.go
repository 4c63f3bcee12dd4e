package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
)

// forkOf is the start of another agent, which goes on from a step of one that has ended.
func forkOf(t *testing.T, env *testsuite.TestWorkflowEnvironment, step int) contract.SessionInput {
	t.Helper()
	state, last := stateIn(t, env), stepsIn(t, env, 0)[step-1].Step
	log, err := domain.Log{}, error(nil)
	for _, e := range entriesIn(t, env) {
		if e.Index < last.Input.Messages || domain.TagOf(e.Message).StepID == last.ID {
			log, err = log.Join(e)
			require.NoError(t, err)
		}
	}
	origin := domain.Origin{ExecutionID: executionIn(t, env, 0).ExecutionID, Step: step, AgentID: state.AgentID}
	return input(t, "", func(in *contract.SessionInput) {
		in.AgentID, err = domain.AgentIDOf("7a0c9d6e-6f0f-4d27-9c7e-0d3f3f1d3a77")
		require.NoError(t, err)
		carry := contract.Carry{}
		carry.State, err = state.Forked(in.AgentID, origin, time.Unix(9, 0)).EncodeSession()
		require.NoError(t, err)
		carry.Conversation = conversation.At(log, last.Input.Edits, "", origin.Chain(), step).Carry(0, nil)
		in.Prompt, in.Carry, in.Fork = "now otherwise", &carry, &contract.Fork{Origin: origin}
	})
}

// TestAForkGoesOn from a step of another agent: its model reads what was said until then, traces too, and the new prompt.
func TestAForkGoesOn(t *testing.T) {
	t.Parallel()
	w := steady(3, false)
	origin := w.executed(t, input(t, ""))
	ended := outcome(t, origin)
	messages := entriesIn(t, origin)
	in := forkOf(t, origin, 2)
	in.Options = &domain.StartOptions{Trusted: domain.Trusted{"customer": json.RawMessage(`1`)}}
	w.asked, w.model = nil, plays(says("otherwise"))
	env := w.executed(t, in)
	out := outcome(t, env)
	require.Equal(t, []any{1, 1, domain.StatusCompleted}, []any{out.Number, out.Steps, out.Status})
	require.NotEqual(t, ended.ExecutionID, out.ExecutionID)
	require.Equal(t, in.AgentID, out.AgentID)
	require.Equal(t, 2, w.asked[0].Inference)
	require.Equal(t, []domain.ExecutionID{ended.ExecutionID}, w.asked[0].Origins, "the traces of the origin are shown")
	require.Equal(t, 6, w.asked[0].Log.Length)
	forked := entriesIn(t, env)
	for i, e := range messages[:5] {
		require.Equal(t, encode(t, e), encode(t, forked[i]), "message %d", i)
	}
	require.Equal(t, "now otherwise", forked[5].Message.Text())
	view := status(t, env)
	require.Equal(t, &in.Fork.Origin, view.Execution.Origin.Branch())
	require.Equal(t, ended.ExecutionID, view.Origin.ExecutionID)
	require.Equal(t, in.Options.Trusted, view.Trusted)
	require.Zero(t, view.Prior)
	require.Equal(t, &in.Fork.Origin, executionIn(t, env, 0).Origin)
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// TestAForkKnowsOfUnresolvedCalls: it makes none of the same effect, although its own keys are others.
func TestAForkKnowsOfUnresolvedCalls(t *testing.T) {
	t.Parallel()
	w := &world{}
	w.tools, w.model, w.tool = paysOnce(), plays(says("", payFor(7, "first"))), losesFirst(w)
	origin := w.executed(t, input(t, "", budgeted(stepsOf(1))))
	require.Len(t, waitsOf(t, origin, domain.WaitOutcome), 1)
	in := forkOf(t, origin, 1)
	w.ran, w.tool, w.model = nil, saw, plays(says("", payFor(7, "again")), says("", payFor(8, "another")), says("done"))
	env := w.executed(t, in)
	completes(t, env)
	require.Len(t, w.ran, 1, "the one for another effect alone")
	steps := stepsIn(t, env, 0)
	err1, failed := steps[0].Step.ToolExecutions[0].Err()
	require.True(t, failed)
	require.Equal(t, domain.CodeOutcomeUnresolved, err1.Code)
	require.Len(t, waitsOf(t, env, domain.WaitOutcome), 1)
}

// TestWhatNoForkBeginsWith is refused, and nothing is asked of a model.
func TestWhatNoForkBeginsWith(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*contract.SessionInput)
		says   string
	}{
		"no prompt":                           {func(in *contract.SessionInput) { in.Prompt = "" }, "prompt"},
		"another origin":                      {func(in *contract.SessionInput) { in.Fork.Origin.ExecutionID = domain.ExecutionID{} }, "fork: the state is none"},
		"messages missing":                    {func(in *contract.SessionInput) { in.Carry.Conversation.Edits = domain.Edits{Hidden: 99} }, "edits"},
		"a prompt that shows a trusted value": {func(in *contract.SessionInput) { in.Definition.ShowTrusted = []string{"customer"} }, "show_trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(2, false)
			origin := w.executed(t, input(t, ""))
			in := forkOf(t, origin, 1)
			w.asked = nil
			test.change(&in)
			env := w.executed(t, in)
			require.ErrorContains(t, env.GetWorkflowError(), test.says)
			require.Empty(t, w.asked)
		})
	}
}

// TestALongForkIsCopied to storage before its first step.
func TestALongForkIsCopied(t *testing.T) {
	t.Parallel()
	w := steady(2, true)
	origin := w.executed(t, input(t, ""))
	in := forkOf(t, origin, 2)
	last := in.Carry.Conversation.Entries[len(in.Carry.Conversation.Entries)-1]
	in.Fork.Copy = &contract.RecordRequest{Log: domain.LogRef{Length: last.Index + 1, Digest: last.Chain}, RunID: "earlier", WorkflowID: "agent/other"}
	in.Carry.Conversation.Entries = nil
	var copied []contract.RecordRequest
	w.record = func(r contract.RecordRequest) (contract.Segment, error) {
		copied = append(copied, r)
		return stores(r)
	}
	w.asked, w.model = nil, plays(says("done"))
	env := w.executed(t, in)
	completes(t, env)
	require.Equal(t, []contract.RecordRequest{*in.Fork.Copy}, copied)
	require.Equal(t, last.Index+2, w.asked[0].Log.Length)
}
