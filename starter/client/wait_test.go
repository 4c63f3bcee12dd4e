package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// waiting runs Wait in a bubble and lets the test act once it waits.
func waiting(t *testing.T, f *fakeServer, number int, act func()) (Result, error) {
	t.Helper()
	var r Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = f.client().Wait(t.Context(), "nora", number)
	}()
	synctest.Wait()
	act()
	<-done
	return r, err
}

// TestWaitForATurn takes one request to find the session, one that a worker takes, and one for each 20 s that it then waits; no
// history is read, which is as long as the session.
func TestWaitForATurn(t *testing.T) {
	t.Parallel()
	for lasts, requests := range map[time.Duration][2]int{500 * time.Millisecond: {1, 2}, 10 * time.Second: {1, 2}, time.Minute - time.Second: {1, 4}} {
		synctest.Test(t, func(t *testing.T) {
			run := newRun("run-1", nil)
			run.answers(1, 1, "one")
			run.ends(outcomeOf(1, 1))
			run.sent(2)
			f, over := newFake(run), false
			second := outcomeOf(2, 1)
			second.End = &contract.End{Answer: "two"}
			f.awaits = func(int) *contract.AwaitReply {
				if over {
					return &contract.AwaitReply{Outcome: &second}
				}
				return nil
			}
			var ended time.Time
			r, err := waiting(t, f, 2, func() {
				time.Sleep(lasts)
				ended = time.Now()
				f.change(func() { over = true })
			})
			require.NoError(t, err)
			require.Equal(t, "two", r.Answer)
			require.Equal(t, outcomeOf(2, 1), r.Outcome)
			require.Equal(t, nth(2), r.ExecutionID)
			require.Equal(t, contract.FromWorkflow, r.Source)
			require.Zero(t, time.Since(ended))
			require.Zero(t, f.polls)
			require.Equal(t, requests, [2]int{f.described, f.awaited})
		})
	}
}

// TestWaitForATurnThatContinuesAsNew asks the next run at once when this one is over, and no run twice a second.
func TestWaitForATurnThatContinuesAsNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := newRun("run-1", nil), newRun("run-2", inMidst(1, 1)).continues("run-1")
		f, untold := newFake(first), 0
		outcome := outcomeOf(1, 2)
		var told *contract.Outcome
		f.awaits = func(int) *contract.AwaitReply {
			if untold > 0 {
				untold--
				return &contract.AwaitReply{}
			}
			if told == nil {
				return nil
			}
			return &contract.AwaitReply{Outcome: told}
		}
		began := time.Now()
		r, err := waiting(t, f, 1, func() {
			f.change(func() {
				first.answers(1, 1, "a")
				first.handsOn("run-2")
				f.runs = append(f.runs, second)
				untold = 3
			})
			time.Sleep(5 * time.Second)
			f.change(func() {
				second.answers(1, 2, "b")
				second.ends(outcome)
				with := outcome
				with.End = &contract.End{Answer: "b"}
				told = &with
			})
		})
		require.NoError(t, err)
		require.Equal(t, "b", r.Answer)
		require.Equal(t, outcome, r.Outcome)
		require.Equal(t, "run-2", r.RunID)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Equal(t, 6, f.awaited, "the second run was asked at once, and then twice more with a second between; what a worker takes is asked for once more")
	})
}

// TestWaitOutlivesTheServer that is slow, or away for a time.
func TestWaitOutlivesTheServer(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(f *fakeServer){
		"slow": func(f *fakeServer) { f.slow = 2 },
		"away": func(f *fakeServer) {
			f.down = true
			time.AfterFunc(time.Minute, func() { f.change(func() { f.down = false }) })
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			run := newRun("run-1", nil)
			f := newFake(run)
			r, err := waiting(t, f, 0, func() {
				f.change(func() { run.answers(1, 1, "42"); run.ends(outcomeOf(1, 1)); away(f) })
			})
			require.NoError(t, err, name)
			require.Equal(t, "42", r.Answer, name)
		})
	}
}

func TestWaitWhereTheServerEndsIt(t *testing.T) {
	t.Parallel()
	for event, want := range map[enumspb.EventType]domain.Code{
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: domain.CodeTerminated,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:  domain.CodeTimedOut,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:     "",
	} {
		t.Run(event.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				run := newRun("run-1", nil)
				run.answers(1, 1, "first", domain.ToolCall{Name: "x"})
				f := newFake(run)
				told := underWay()
				told.Executions[0].Steps = 1
				told.Head.Newest = &told.Executions[0]
				f.query = answersAccount(told)
				r, err := waiting(t, f, 0, func() { f.change(func() { run.infers(1, 2); run.closes(event) }) })
				require.NoError(t, err)
				require.Equal(t, domain.StatusFailed, r.Outcome.Status)
				require.Equal(t, want, r.Outcome.Code)
				require.Equal(t, 1, r.Outcome.Steps)
				require.NotNil(t, r.Error)
				require.Empty(t, r.Answer, "the second inference had none")
			})
		})
	}
}

// TestWhatIsRecordedIsNotAskedFor: to ask a workflow that is done has a worker replay it.
func TestWhatIsRecordedIsNotAskedFor(t *testing.T) {
	t.Parallel()
	signal := domain.StopSignal{Reason: domain.StopRequested, Message: "enough"}
	for name, test := range map[string]struct {
		outcome contract.Outcome
		end     *contract.End
		answer  string
		asked   int
	}{
		"told":       {outcomeOf(1, 1), &contract.End{Answer: "42", Signal: &signal}, "42", 0},
		"not told":   {outcomeOf(1, 1), nil, "asked", 1},
		"of another": {outcomeOf(2, 1), &contract.End{Answer: "42"}, "asked", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newRun("run-1", nil)
			run.answers(1, 1, "not this")
			run.ends(outcomeOf(1, 1))
			run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
			test.outcome.End = test.end
			run.events[len(run.events)-1].Attributes = &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
				WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{Result: payloads(test.outcome)},
			}
			f := newFake(run)
			asked := 0
			answer := answeringEnd(outcomeOf(1, 1), contract.End{Answer: "asked"})
			f.query = func(ctx context.Context, runID, query string, in any) (any, error) {
				asked++
				return answer(ctx, runID, query, in)
			}
			r, err := f.client().Wait(t.Context(), "nora", 1)
			require.NoError(t, err)
			require.Equal(t, test.answer, r.Answer)
			require.Equal(t, test.asked, asked)
			require.Equal(t, outcomeOf(1, 1), r.Outcome)
			require.Equal(t, contract.FromWorkflow, r.Source)
			if test.asked == 0 {
				require.Equal(t, &signal, r.Signal)
			}
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newFake(newRun("run-1", nil))
		done := make(chan error)
		go func() {
			_, err := f.client().Wait(ctx, "nora", 0)
			done <- err
		}()
		synctest.Wait()
		cancel()
		requireClass(t, <-done, Cancelled)
	})
}

// TestTakenMeanwhileGoesOn: a look that a worker cuts off, as it takes the question, has found no end.
func TestTakenMeanwhileGoesOn(t *testing.T) {
	t.Parallel()
	f := newFake(newRun("run-1", nil))
	f.slow = 1
	ctx, taken := context.WithCancel(t.Context())
	taken()
	require.True(t, f.client().goesOn(ctx, target{snapshot: snapshot{agent: must(agentOf("nora"))}}))
}

// answering is a worker that knows one answer.
func answering(out any) func(context.Context, string, string, any) (any, error) {
	return func(context.Context, string, string, any) (any, error) { return out, nil }
}

// answeringEnd is a worker that tells how an execution of nora has ended.
func answeringEnd(o contract.Outcome, end contract.End) func(context.Context, string, string, any) (any, error) {
	told := account.Execution{Outcome: o, Ended: &end}
	return answering(account.Page{
		Account: account.Account{Head: &account.Head{Newest: &told}, Executions: []account.Execution{told}},
		PageEnd: account.PageEnd{Held: account.Held{Executions: []account.HeldExecution{{Number: o.Number, ID: o.ExecutionID, Step: 1, Event: 1}}}},
	})
}

// TestWaitAsksSeldom: whoever waits does not ask the server after each event. The
// end of an agent without a name is one request away; where no worker answers for a session the server is looked at once
// a second, and the end that it tells of is noticed.
func TestWaitAsksSeldom(t *testing.T) {
	t.Parallel()
	for id, most := range map[string]int{lonely: 2, nora.name: 24} {
		synctest.Test(t, func(t *testing.T) {
			run, end := newRun("run-1", nil), outcomeOf(1, 1)
			if id == lonely {
				run = lonelyRun(t, "run-1", 1, nil)
				run.events, run.status, run.memo, end = run.events[:1], enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil, stopped(1)
				end.AgentID, end.ExecutionID = must(agentOf(id)).id, must(agentOf(id)).id.Execution("run-1", 1)
			}
			f := newFake(run)
			f.query = func(context.Context, string, string, any) (any, error) { return nil, errDown }
			waited := make(chan error)
			go func() {
				_, err := f.client().Wait(t.Context(), id, 1)
				waited <- err
			}()
			for range 200 { // 20 seconds
				<-time.After(100 * time.Millisecond)
				f.change(run.decides)
				synctest.Wait()
			}
			require.LessOrEqual(t, f.polls+f.described+f.awaited, most)
			f.change(func() { run.ends(end); run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED) })
			ended := time.Now()
			require.NoError(t, <-waited)
			require.LessOrEqual(t, time.Since(ended), time.Second)
		})
	}
}
