package client

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc/status"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/worker/host/startid"
)

// stopped is the outcome of nora's n-th execution, at a limit.
func stopped(n int) contract.Outcome {
	o := outcomeOf(n, 2)
	o.Status, o.StopReason = domain.StatusStopped, domain.StepsLimitReached
	return o
}

func steps(n int64) domain.ExecutionBudget { return domain.ExecutionBudget{MaxSteps: &n} }

func TestExtendOfWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make  func(r *fakeRun)
		o     ExtendOptions
		means domain.ExecutionID // of the execution that the update names; zero: none is sent
		class Class
	}{
		"running":                  {func(*fakeRun) {}, ExtendOptions{Budget: steps(9)}, nth(1), ""},
		"running, a limit lifted":  {func(*fakeRun) {}, ExtendOptions{Lift: []domain.Limit{domain.LimitSteps}}, nth(1), ""},
		"running, nothing changes": {func(*fakeRun) {}, ExtendOptions{}, domain.ExecutionID{}, Invalid},
		"idle after a limit":       {func(r *fakeRun) { r.ends(stopped(1)) }, ExtendOptions{}, nth(1), ""},
		"idle, completed":          {func(r *fakeRun) { r.ends(outcomeOf(1, 2)) }, ExtendOptions{Budget: steps(9)}, domain.ExecutionID{}, Refused},
		"closed": {func(r *fakeRun) {
			r.ends(stopped(1))
			r.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
		}, ExtendOptions{}, domain.ExecutionID{}, Refused},
		"an unknown limit": {func(*fakeRun) {}, ExtendOptions{Lift: []domain.Limit{"max_fun"}}, domain.ExecutionID{}, Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newRun("run-1", nil)
			c.make(run)
			f := newFake(run)
			var sent contract.ExtendRequest
			f.update = func(_ string, in any) (any, error) {
				sent = in.(contract.ExtendRequest)
				return contract.ExtendReply{ExecutionID: nth(2), Number: 2, RunID: "run-1", Began: true, Budget: steps(9)}, nil
			}
			x, err := f.client().Extend(t.Context(), "nora", c.o)
			require.Equal(t, c.means, sent.ExecutionID)
			if c.class != "" {
				requireClass(t, err, c.class)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.o.Lift, sent.Lift)
			require.True(t, x.Began)
			require.Equal(t, nth(2), x.ExecutionID)
			require.Equal(t, steps(9), x.Budget)
		})
	}
}

// TestExtendDecidesByWhatIsTrueThen covers an execution that ends between the
// look at it and the update, and a refusal that stays true.
func TestExtendDecidesByWhatIsTrueThen(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	f := newFake(run)
	ids := map[string]bool{}
	f.update = func(id string, in any) (any, error) {
		ids[id] = true
		if run.memo == nil {
			f.change(func() { run.ends(stopped(1)) })
			return nil, denied("it is stopping")
		}
		return contract.ExtendReply{ExecutionID: nth(2), Number: 2, Began: true}, nil
	}
	x, err := f.client().Extend(t.Context(), "nora", ExtendOptions{Budget: steps(9), RequestID: "mine"})
	require.NoError(t, err)
	require.True(t, x.Began)
	require.Len(t, ids, 1, "all tries are one request")

	tries := 0
	f.update = func(string, any) (any, error) { tries++; return nil, denied("not now") }
	_, err = f.client().Extend(t.Context(), "nora", ExtendOptions{Budget: steps(9)})
	requireClass(t, err, Refused)
	require.EqualError(t, err, "not now")
	require.Equal(t, 1, tries)
}

// lonely is an agent without a name.
const lonely = "3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11"

// lonelyRun is its workflow, whose n-th execution was stopped at a limit.
func lonelyRun(t *testing.T, id string, n int, goOn *contract.GoOn) *fakeRun {
	t.Helper()
	a := must(agentOf(lonely))
	r := newRun(id, nil)
	r.first = id
	in := contract.SessionInput{AgentID: a.id, Definition: scriptedAgent(), Prompt: "go"}
	if goOn != nil {
		state, err := json.Marshal(lonelyState(t, n-1))
		require.NoError(t, err)
		in.Prompt, in.GoOn, in.Carry = "", goOn, &contract.Carry{State: state}
	}
	r.events[0].GetWorkflowExecutionStartedEventAttributes().Input = payloads(in)
	o := stopped(n)
	o.AgentID, o.ExecutionID = a.id, a.id.Execution(id, n)
	r.ends(o)
	r.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
	return r
}

// lonelyState is its state after n executions.
func lonelyState(t *testing.T, n int) domain.AgentState {
	t.Helper()
	a, now := must(agentOf(lonely)), at(1).AsTime()
	s := domain.NewAgentState(a.id, domain.AgentID{}, now, scriptedAgent().Model)
	for i := range n {
		var err error
		s, err = s.BeginExecution(a.id.Execution("x", i+1), steps(2), now)
		require.NoError(t, err)
		s, err = s.WithStopSignal(domain.StopSignal{Reason: domain.StepsLimitReached}, now)
		require.NoError(t, err)
		s, err = s.WithExecutionCompleted(now)
		require.NoError(t, err)
	}
	return s
}

// leaving3 is the head of an agent that has ended after three messages.
func leaving3(state json.RawMessage, storage bool) *account.Head {
	return &account.Head{
		Position:      account.Position{Length: 3},
		Carry:         &contract.Carry{State: state, Config: contract.CarriedConfig{Config: contract.Config{Resolved: &contract.Resolved{Storage: storage}}}},
		Configuration: account.Configuration{Definition: new(scriptedAgent())},
	}
}

// answersOf is a worker that knows lonely's state after n executions, and three
// messages of a size.
func answersOf(t *testing.T, n, size int, storage bool) func(context.Context, string, string, any) (any, error) {
	t.Helper()
	state, err := json.Marshal(lonelyState(t, n))
	require.NoError(t, err)
	return func(_ context.Context, _, _ string, in any) (any, error) {
		page := account.Page{Account: account.Account{Head: leaving3(state, storage)}}
		for n := in.(account.Request).From.Item; n < 3; n++ {
			page.Messages = append(page.Messages, domain.Entry{Index: n, Message: domain.UserMessage(string(make([]byte, size)))})
		}
		return page, nil
	}
}

func TestGoingOnStartsTheWorkflowAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size    int
		storage bool
		entries int
		copies  bool
		class   Class
	}{
		"a short conversation":        {10, false, 3, false, ""},
		"a long one, with storage":    {400_000, true, 0, true, ""},
		"a long one, without storage": {400_000, false, 0, false, Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(lonelyRun(t, "run-0", 1, nil))
			f.query = answersOf(t, 1, c.size, c.storage)
			var in contract.SessionInput
			var options sdk.StartWorkflowOptions
			f.start = func(o sdk.StartWorkflowOptions, input contract.SessionInput) error {
				options, in = o, input
				return nil
			}
			x, err := f.client().Extend(t.Context(), lonely, ExtendOptions{Budget: steps(9), RequestID: "mine"})
			if c.class != "" {
				requireClass(t, err, c.class)
				require.ErrorContains(t, err, "storage")
				return
			}
			require.NoError(t, err)
			require.True(t, x.Began)
			require.Equal(t, 2, x.Number)
			require.Equal(t, must(agentOf(lonely)).id.Execution("run-1", 2), x.ExecutionID)
			require.Equal(t, domain.WorkflowID(lonely), options.ID)
			require.Equal(t, 1, options.Memo[contract.MemoOutcome].(contract.Outcome).Number)
			require.Empty(t, in.Prompt)
			require.Equal(t, scriptedAgent(), in.Definition)
			require.Equal(t, steps(9), in.GoOn.Budget)
			require.Equal(t, "run-0", in.GoOn.RunID)
			require.Len(t, in.Carry.Conversation.Entries, c.entries)
			require.Equal(t, c.copies, in.GoOn.Copy != nil)
			if c.copies {
				require.Equal(t, "run-0", in.GoOn.Copy.RunID)
				require.Equal(t, 3, in.GoOn.Copy.Log.Length)
				require.False(t, in.GoOn.Copy.Log.Digest == domain.Digest{})
			}
			require.Equal(t, requestID("mine", contract.UpdateExtend, ExtendOptions{Budget: steps(9)}), in.Carry.Mail.Answers[0].ID)
			var reply contract.ExtendReply
			require.True(t, in.Carry.Mail.Answers.Read(string(contract.UpdateExtend), in.Carry.Mail.Answers[0].ID, &reply))
			require.Equal(t, 2, reply.Number)
		})
	}
}

// TestGoingOnNeedsSomethingLeft refuses where the first step would be stopped.
func TestGoingOnNeedsSomethingLeft(t *testing.T) {
	t.Parallel()
	at, cents := time.Now().Add(-time.Hour), int64(50_000_000)
	for name, c := range map[string]struct {
		used   domain.Spent
		budget domain.ExecutionBudget
		lift   []domain.Limit
		says   string
	}{
		"too low a total": {domain.Spent{Steps: 5}, steps(4), nil, "max_steps is 4 and 5 are done; extend it with a higher max_steps to go on"},
		"a limit lifted":  {domain.Spent{Steps: 2}, domain.ExecutionBudget{}, []domain.Limit{domain.LimitSteps}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(lonelyRun(t, "run-0", 1, nil))
			answer := answersOf(t, 1, 10, false)
			f.query = func(ctx context.Context, run, query string, in any) (any, error) {
				out, err := answer(ctx, run, query, in)
				carry := out.(account.Page).Head.Carry
				carry.Prior, carry.Config.Resolved.Price = c.used, &domain.Price{Input: 1}
				return out, err
			}
			started := false
			f.start = func(sdk.StartWorkflowOptions, contract.SessionInput) error { started = true; return nil }
			_, err := f.client().Extend(t.Context(), lonely, ExtendOptions{Budget: c.budget, Lift: c.lift})
			require.Equal(t, c.says == "", started)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			requireClass(t, err, Refused)
			require.EqualError(t, err, "extend: there is nothing left to go on with: "+c.says)
			refusal, _ := errors.AsType[*Error](err)
			require.Equal(t, "--max-steps does", refusal.Next)
		})
	}
	f := newFake(lonelyRun(t, "run-0", 1, nil))
	f.query = answersOf(t, 1, 10, false)
	_, err := f.client().Extend(t.Context(), lonely, ExtendOptions{Budget: domain.ExecutionBudget{MaxCostNanoUSD: &cents}})
	requireClass(t, err, Invalid)
	require.ErrorContains(t, err, "max_cost: nobody knows what scripted/")
	use, _ := domain.Ledger{Execution: domain.Holder{Budget: domain.ExecutionBudget{Deadline: &at}}}.Reached(at)
	require.Contains(t, use.GoOn(), "extend it with a later one")
}

// TestALateStartLooksAgain: a client that was held up between its look and its start, as by a machine that slept, sends
// nothing, and follows whatever is the newest run then.
func TestALateStartLooksAgain(t *testing.T) {
	t.Parallel()
	for name, faster := range map[string]bool{"nobody began": false, "somebody was faster": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(lonelyRun(t, "run-0", 1, nil))
			f.query = func(ctx context.Context, run, query string, in any) (any, error) {
				return answersOf(t, map[string]int{"run-0": 1, "run-9": 2}[run], 10, false)(ctx, run, query, in)
			}
			var from []string
			f.start = func(_ sdk.StartWorkflowOptions, in contract.SessionInput) error {
				if from = append(from, in.GoOn.RunID); len(from) > 1 {
					return nil
				}
				if faster {
					f.change(func() { f.runs = append(f.runs, lonelyRun(t, "run-9", 2, &contract.GoOn{RunID: "run-0"})) })
				}
				past := startid.WithUntil(t.Context(), "id", time.Now().Add(-time.Hour))
				return serviceerror.FromStatus(status.Convert(startid.Intercept(past, "", &workflowservice.StartWorkflowExecutionRequest{}, nil, nil, nil)))
			}
			x, err := f.client().Extend(t.Context(), lonely, ExtendOptions{Budget: steps(9)})
			require.NoError(t, err)
			if faster {
				require.Equal(t, []string{"run-0", "run-9"}, from)
				require.Equal(t, 3, x.Number)
			} else {
				require.Equal(t, []string{"run-0", "run-0"}, from)
				require.Equal(t, 2, x.Number)
			}
		})
	}
}
