package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// shop is a tool of a stateful server.
func shop(effect domain.Effect) []domain.ToolSpec {
	return []domain.ToolSpec{{Name: "shop__look", Effect: effect, Stateful: true}}
}

// A binder has sessions with stateful servers, each on a worker of its own.
type binder struct {
	mu      sync.Mutex
	asked   []contract.BindRequest
	unbound []contract.Bound
	// in are the sessions of the calls that were made, with what they were to tell of the one before.
	in []string
}

// made notes a call, and says the how manieth it is.
func (b *binder) made(r contract.ToolRequest) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.in = append(b.in, r.Bound.ID+" "+r.Bound.Lost)
	return len(b.in)
}

// on gives a world such workers; tool is what calls come to; nil: they go well.
func (b *binder) on(w *world, tool func(n int, r contract.ToolRequest) (contract.ToolReply, error)) *world {
	w.bind = func(r contract.BindRequest) (contract.Bound, error) {
		b.asked = append(b.asked, r)
		id := fmt.Sprint(len(b.asked))
		return contract.Bound{Server: r.Server, ID: id, TaskQueue: "q/mcp/" + id, For: r.For}, nil
	}
	w.unbind = func(r contract.UnbindRequest) error { b.unbound = append(b.unbound, r.Bound); return nil }
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		if n := b.made(r); tool != nil {
			return tool(n, r)
		}
		return saw(r)
	}
	return w
}

func shopping(n int) []domain.ToolCall { return calls("shop__look", n) }

// lost replies to a call whose session is gone.
func lost() contract.ToolReply {
	return contract.ToolReply{
		NotStarted: true, SessionLost: "its program has ended", Content: "not run", Error: domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "not run"),
	}
}

// losesAt finds the session gone at some of the calls.
func losesAt(calls ...int) func(n int, r contract.ToolRequest) (contract.ToolReply, error) {
	return func(n int, r contract.ToolRequest) (contract.ToolReply, error) {
		if slices.Contains(calls, n) {
			return lost(), nil
		}
		return saw(r)
	}
}

// TestCallsOfAStatefulServerAreMadeInOneSession, over executions, which ends with the agent.
func TestCallsOfAStatefulServerAreMadeInOneSession(t *testing.T) {
	t.Parallel()
	b := &binder{}
	w := b.on(&world{tools: shop(domain.AtMostOnce), model: calling(shopping(3)...)}, nil)
	env := w.environment(t)
	var queues []string
	inner := w.tool
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		options := w.options[string(contract.CallTool)]
		require.Equal(t, 30*time.Second, options.ScheduleToStartTimeout)
		b.mu.Lock()
		queues = append(queues, options.TaskQueue)
		b.mu.Unlock()
		return inner(r)
	}
	env.RegisterDelayedCallback(func() {
		open := status(t, env).MCPSessions
		require.Equal(t, []contract.Bound{{Server: "shop", ID: "1", TaskQueue: "q/mcp/1"}}, open)
		require.Empty(t, b.unbound)
	}, 90*time.Minute)
	prompts(env, time.Hour, "more")
	closes(env, 2*time.Hour)
	execute(env, input(t, "ann"))
	completes(t, env)
	require.Equal(t, []contract.BindRequest{{Server: "shop"}}, b.asked, "the calls of one step wait for one session")
	require.Equal(t, []string{"1 ", "1 ", "1 ", "1 ", "1 ", "1 "}, b.in)
	require.Equal(t, []string{"q/mcp/1", "q/mcp/1", "q/mcp/1", "q/mcp/1", "q/mcp/1", "q/mcp/1"}, queues)
	require.Equal(t, []contract.Bound{{Server: "shop", ID: "1", TaskQueue: "q/mcp/1"}}, b.unbound)
	require.Equal(t, "q/mcp/1", w.options[string(contract.Unbind)].TaskQueue)
}

// TestASessionThatIsLost has a call that only reads made again in a new one, with the word that it is new, as often as any
// call that did not begin; one that began is never made again for that, and one with an effect not before the model knows.
func TestASessionThatIsLost(t *testing.T) {
	t.Parallel()
	const gone = "its worker does not answer, and has probably ended"
	untaken := temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	for name, test := range map[string]struct {
		effect domain.Effect
		tool   func(n int, r contract.ToolRequest) (contract.ToolReply, error)
		in     []string
		code   domain.Code
	}{
		"by its server": {domain.ReadOnly, losesAt(1), []string{"1 ", "2 its program has ended"}, ""},
		"with its worker": {domain.ReadOnly, func(n int, r contract.ToolRequest) (contract.ToolReply, error) {
			if n == 1 {
				return contract.ToolReply{}, untaken
			}
			return saw(r)
		}, []string{"1 ", "2 " + gone}, ""},
		"again and again": {domain.ReadOnly, func(int, contract.ToolRequest) (contract.ToolReply, error) { return contract.ToolReply{}, untaken },
			[]string{"1 ", "2 " + gone, "3 " + gone}, domain.CodeNotRun},
		"before an effect": {domain.AtMostOnce, func(int, contract.ToolRequest) (contract.ToolReply, error) { return lost(), nil },
			[]string{"1 "}, domain.CodeNotRun},
		"before another try of an effect": {domain.Idempotent, func(n int, _ contract.ToolRequest) (contract.ToolReply, error) {
			if n == 1 {
				return contract.ToolReply{}, temporal.NewHeartbeatTimeoutError()
			}
			return contract.ToolReply{}, untaken
		}, []string{"1 ", "1 "}, domain.CodeInterrupted},
		"in a call that is repeatable": {domain.ReadOnly, func(n int, r contract.ToolRequest) (contract.ToolReply, error) {
			switch n {
			case 1:
				return contract.ToolReply{}, temporal.NewHeartbeatTimeoutError()
			case 2:
				return contract.ToolReply{}, untaken
			}
			require.Equal(t, 1, r.Attempts, "what did not begin is no attempt")
			return saw(r)
		}, []string{"1 ", "1 ", "2 " + gone}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &binder{}
			w := b.on(&world{tools: shop(test.effect), model: calling(shopping(1)...)}, test.tool)
			env := w.executed(t, input(t, ""))
			completes(t, env)
			require.Equal(t, test.in, b.in)
			call := executions(t, env)[0]
			if test.code == "" {
				require.Nil(t, call.Error)
			} else {
				require.Equal(t, test.code, call.Error.Code)
				require.Equal(t, test.code != domain.CodeOutcomeUnknown && test.code != "" && name != "before an effect", strings.Contains(call.Error.Message, "set it up again where you need it, then make this call"))
			}
			lost := eventsIn(t, env, 1, domain.EventMCPSessionLost)
			require.Equal(t, len(b.asked), len(lost)+len(b.unbound))
		})
	}
}

// TestNothingIsDoneInASessionThatTheModelTakesForAnother: of a step that finds its session gone no call with an effect is
// made, also by the one that comes after another has told of it; the next step's are.
func TestNothingIsDoneInASessionThatTheModelTakesForAnother(t *testing.T) {
	t.Parallel()
	b := &binder{}
	w := b.on(&world{tools: shop(domain.AtMostOnce), model: func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Step > 3 {
			return says("done"), nil
		}
		var all []domain.ToolCall
		for i := range r.Step {
			all = append(all, domain.ToolCall{ID: fmt.Sprint(i), Name: "shop__look", Arguments: fmt.Sprintf(`{"n":%d%d}`, r.Step, i)})
		}
		return says("looking", all...), nil
	}}, losesAt(2, 3))
	env := w.executed(t, input(t, ""))
	completes(t, env)
	require.Equal(t, []string{"1 ", "1 ", "1 ", "2 ", "2 ", "2 "}, b.in)
	for i, step := range stepsIn(t, env, 0)[:3] {
		for _, call := range step.Step.ToolExecutions {
			require.Equal(t, i == 1, call.Error != nil)
			require.Equal(t, i == 1, call.NotStarted)
			if i == 1 {
				require.Contains(t, call.Error.Message, "not run")
			}
		}
	}
}

// TestASessionIsFreshInOneStepOfOneExecution: a step of the same number in a later execution is another one, and its calls
// with an effect are made in the session that lives.
func TestASessionIsFreshInOneStepOfOneExecution(t *testing.T) {
	t.Parallel()
	b := &binder{}
	w := b.on(&world{tools: shop(domain.AtMostOnce), model: calling(shopping(1)...)}, losesAt(1))
	env := w.environment(t)
	prompts(env, time.Hour, "more")
	prompts(env, 2*time.Hour, "and more")
	closes(env, 3*time.Hour)
	execute(env, input(t, "ann"))
	completes(t, env)
	for number, lost := range map[int]bool{1: true, 2: false, 3: false} {
		call := stepsIn(t, env, number)[0].Step.ToolExecutions[0]
		require.Equal(t, lost, call.Error != nil, "execution %d: %v", number, call.Error)
	}
	require.Equal(t, []string{"1 ", "2 ", "2 "}, b.in)
}

// TestACallThatOnlyReadsTellsForTheNextStep: another one of its step, made again after it, was asked for before.
func TestACallThatOnlyReadsTellsForTheNextStep(t *testing.T) {
	t.Parallel()
	b := &binder{}
	tools := append(shop(domain.ReadOnly), domain.ToolSpec{Name: "shop__pay", Effect: domain.AtMostOnce, Stateful: true})
	w := b.on(&world{tools: tools, model: calling(callOf("shop__look"), domain.ToolCall{ID: "2", Name: "shop__pay", Arguments: `{}`})},
		func(_ int, r contract.ToolRequest) (contract.ToolReply, error) {
			switch {
			case r.Name == "shop__pay":
				require.Equal(t, "1", r.Bound.ID, "it is not made in the new session")
				return contract.ToolReply{NotStarted: true, RetryAfterMillis: 60_000, Content: "not run", Error: domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "not run")}, nil
			case r.Bound.ID == "1":
				return lost(), nil
			}
			return saw(r)
		})
	env := w.executed(t, input(t, ""))
	completes(t, env)
	calls := executions(t, env)
	require.Nil(t, calls[0].Error)
	require.Contains(t, calls[1].Error.Message, "is lost: its program has ended")
}

// TestNothingBeginsAfterAWaitForASession that a pause, or a stop, has come in.
func TestNothingBeginsAfterAWaitForASession(t *testing.T) {
	t.Parallel()
	for _, stops := range []bool{false, true} {
		t.Run(fmt.Sprint(stops), func(t *testing.T) {
			t.Parallel()
			b := &binder{}
			w := b.on(&world{tools: shop(domain.AtMostOnce), model: calling(shopping(1)...)}, nil)
			env := w.environment(t)
			open := w.bind
			w.bind = func(r contract.BindRequest) (contract.Bound, error) {
				if stops {
					signalStop(env, contract.StopRequest{Mode: contract.AfterInference})
				} else {
					env.UpdateWorkflow(string(contract.UpdatePause), "p", &verdict{}, contract.PauseRequest{})
				}
				return open(r)
			}
			resumed := false
			env.RegisterDelayedCallback(func() { resumed = len(b.in) == 0 }, 59*time.Minute)
			resumes(env, time.Hour)
			execute(env, input(t, ""))
			if stops {
				endsFor(t, env, domain.UserRequested)
				require.Empty(t, b.in)
				return
			}
			completes(t, env)
			require.True(t, resumed)
			require.Equal(t, []string{"1 "}, b.in)
		})
	}
}

// TestASessionActsForNobodyElse: an execution with other trusted values has another one, whose server is logged in for nobody yet.
func TestASessionActsForNobodyElse(t *testing.T) {
	t.Parallel()
	b := &binder{}
	w := b.on(&world{tools: shop(domain.ReadOnly), model: calling(shopping(1)...)}, nil)
	env := w.environment(t)
	for i, customer := range []string{"1", "1", "2"} {
		sends(env, time.Duration(i+1)*time.Hour, customer+fmt.Sprint(i), contract.SendRequest{Prompt: "more", Options: trusts("customer", customer)})
	}
	closes(env, 5*time.Hour)
	execute(env, input(t, "ann"))
	completes(t, env)
	const others = "it was of an execution that acted for others: with other trusted values"
	require.Equal(t, []string{"1 ", "2 " + others, "2 ", "3 " + others}, b.in)
}

// TestNoSessionCanBeOpened: the calls that need it are not run, and are told why; a stop ends the wait.
func TestNoSessionCanBeOpened(t *testing.T) {
	t.Parallel()
	b := &binder{}
	w := b.on(&world{tools: shop(domain.AtMostOnce), model: calling(shopping(2)...)}, nil)
	tries := 0
	w.bind = func(contract.BindRequest) (contract.Bound, error) {
		tries++
		return contract.Bound{}, temporal.NewApplicationErrorWithOptions("full", "throttled", temporal.ApplicationErrorOptions{
			Details: []any{domain.Errorf(domain.Throttled, "this worker has as many sessions as it may")},
		})
	}
	env := w.executed(t, input(t, ""))
	completes(t, env)
	require.Equal(t, 3, tries)
	require.Empty(t, b.in)
	steps := stepsIn(t, env, 0)
	for _, call := range steps[0].Step.ToolExecutions {
		require.Equal(t, domain.CodeNotRun, call.Error.Code)
		require.Equal(t, "not run: no session with MCP server shop could be opened: this worker has as many sessions as it may", call.Error.Message)
	}
}

// TestASessionIsCarriedToTheNextRun, and a conversation that has results of the server without one is told so.
func TestASessionIsCarriedToTheNextRun(t *testing.T) {
	t.Parallel()
	b := &binder{}
	w := b.on(&world{tools: shop(domain.AtMostOnce), model: until(2, says("looking", shopping(1)...), "done")}, nil)
	env := w.environment(t)
	outgrows(env, 1)
	execute(env, input(t, ""))
	next := nextRun(t, env)
	require.Equal(t, []contract.Bound{{Server: "shop", ID: "1", TaskQueue: "q/mcp/1"}}, next.Carry.Bound)
	require.Empty(t, b.unbound)

	env = w.executed(t, next)
	completes(t, env)
	require.Len(t, b.asked, 1)
	require.Equal(t, []string{"1 ", "1 "}, b.in)
	require.Len(t, b.unbound, 1)

	next.Carry.Bound = nil
	env = w.executed(t, next)
	call := stepIn(t, env, 2).Step.ToolExecutions[0]
	require.Contains(t, call.Error.Message, "is lost: it was of another execution, or of another agent. What earlier")
}

// TestAModelIsToldOnceThatASessionIsGone: a run that takes over after it was told does not tell it anew.
func TestAModelIsToldOnceThatASessionIsGone(t *testing.T) {
	t.Parallel()
	b := &binder{}
	w := b.on(&world{tools: shop(domain.AtMostOnce), model: until(3, says("looking", shopping(1)...), "done")}, losesAt(2))
	env := w.environment(t)
	outgrows(env, 2)
	execute(env, input(t, ""))
	next := nextRun(t, env)
	require.Equal(t, []string{"1 ", "1 "}, b.in)

	env = w.executed(t, next)
	completes(t, env)
	call := stepIn(t, env, 3).Step.ToolExecutions[0]
	require.Nil(t, call.Error)
	require.Equal(t, []string{"1 ", "1 ", "2 "}, b.in)

	b.in, w.model = nil, until(2, says("looking", shopping(1)...), "done")
	env = w.executed(t, input(t, ""))
	completes(t, env)
	require.Equal(t, []contract.Bound{{Server: "shop"}}, readAccount(t, env, account.HeadOf, account.Carry).Head.Carry.Bound,
		"nor does an execution that goes on from this one")
}
