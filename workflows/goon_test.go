package workflows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// wentOn is the start of a workflow that goes on from an unnamed agent's, which
// has ended.
func wentOn(t *testing.T, env *testsuite.TestWorkflowEnvironment, budget domain.ExecutionBudget) contract.SessionInput {
	t.Helper()
	carry := *readAccount(t, env, account.HeadOf, account.Carry).Head.Carry
	carry.Conversation.Entries = entriesIn(t, env)
	return input(t, "", func(in *contract.SessionInput) {
		in.Prompt, in.Carry, in.GoOn = "", &carry, &contract.GoOn{Budget: budget, RunID: "earlier"}
	})
}

// endsEarly is an agent's workflow that has stopped after a step of three.
func endsEarly(t *testing.T, w *world) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := w.executed(t, input(t, "", budgeted(stepsOf(1))))
	endsFor(t, env, domain.StepsLimitReached)
	return env
}

// TestAnotherWorkflowGoesOn from what the earlier one has left, with what it has
// spent.
func TestAnotherWorkflowGoesOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		most   int64
		reason domain.StopReason
		steps  int
	}{"to its end": {3, domain.Completed, 2}, "to its next limit": {2, domain.StepsLimitReached, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(2, false)
			in := wentOn(t, endsEarly(t, w), stepsOf(test.most))
			w.asked = nil
			w.model = plays(says("two", look()), says("all done"))
			env := w.executed(t, in)
			out := outcome(t, env)
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, []int{2, test.steps}, []int{out.Number, out.Steps})
			view := status(t, env)
			require.EqualValues(t, 1, view.Prior.Steps)
			earlier, err := domain.DecodeAgentState(in.Carry.State)
			require.NoError(t, err)
			before := earlier.Execution
			require.Equal(t, before.ID, view.Origin.ExecutionID)
			require.Equal(t, len(in.Carry.Conversation.Entries), w.asked[0].Log.Length, "the results that it waits for are the last")
		})
	}
}

// TestWhatNothingGoesOnFrom is refused, and nothing is asked of a model.
func TestWhatNothingGoesOnFrom(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*contract.SessionInput)
		says   string
	}{
		"a budget below 0": {func(in *contract.SessionInput) { in.GoOn.Budget = stepsOf(-1) }, "max_steps"},
		"no state":         {func(in *contract.SessionInput) { in.Carry.State = []byte(`{"schema_version": 1, "agent_id": 7}`) }, "agent_id"},
		"a price below 0": {func(in *contract.SessionInput) {
			in.Carry.State = []byte(strings.Replace(string(in.Carry.State), `"llm_config":{`, `"llm_config":{"price":{"input_nano_usd":-1},`, 1))
		}, "price.input"},
		"an update without sense": {func(in *contract.SessionInput) {
			in.Carry.Config.Next = &contract.Config{Definition: in.Definition}
			in.Carry.Config.Next.Definition.Guards.OutputRetries = new(-1)
		}, "guards.output_retries"},
		"messages missing": {func(in *contract.SessionInput) {
			in.Carry.Conversation.Edits = domain.Edits{Hidden: 99, Summary: 99, Buffered: 99}
		}, "edits"},
		"a copy of nothing": {func(in *contract.SessionInput) {
			in.GoOn.Copy = &contract.RecordRequest{Log: domain.LogRef{Length: -1}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(2, false)
			in := wentOn(t, endsEarly(t, w), stepsOf(3))
			w.asked = nil
			test.change(&in)
			env := w.executed(t, in)
			require.ErrorContains(t, env.GetWorkflowError(), test.says)
			require.Empty(t, w.asked)
		})
	}
	w := &world{model: plays(says("hi"))}
	env := w.executed(t, input(t, ""))
	in := wentOn(t, env, stepsOf(3))
	env = w.executed(t, in)
	require.ErrorContains(t, env.GetWorkflowError(), "the execution is completed, so there is nothing to go on with")
}

// TestMessagesOfAnEarlierWorkflow that are too long to be carried are copied to
// storage first; without storage they are lost, and it is said.
func TestMessagesOfAnEarlierWorkflow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		storage bool
		record  func(contract.RecordRequest) (contract.Segment, error)
		code    domain.Code
	}{
		"with storage": {true, stores, ""},
		"a storage that fails": {true, func(contract.RecordRequest) (contract.Segment, error) {
			return contract.Segment{}, refused(domain.Deniedf("full"))
		}, domain.CodeContextLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(2, test.storage)
			in := wentOn(t, endsEarly(t, w), stepsOf(3))
			last := in.Carry.Conversation.Entries[len(in.Carry.Conversation.Entries)-1]
			log := domain.LogRef{Length: last.Index + 1, Digest: last.Chain}
			in.Carry.Conversation.Entries, in.GoOn.Copy = nil, &contract.RecordRequest{Log: log, RunID: "earlier"}
			var copied []contract.RecordRequest
			w.record = func(r contract.RecordRequest) (contract.Segment, error) {
				copied = append(copied, r)
				return test.record(r)
			}
			w.model = plays(says("all done"))
			env := w.executed(t, in)
			require.Equal(t, test.code, outcome(t, env).Code)
			page := query(t, env, contract.QueryMessages, contract.MessagesRequest{})
			require.Equal(t, log.Length, page.Base)
			if test.code == "" {
				require.Equal(t, []contract.RecordRequest{*in.GoOn.Copy}, copied)
				require.Len(t, page.Segments, 1, "who asks is told where they are")
			}
		})
	}
}
