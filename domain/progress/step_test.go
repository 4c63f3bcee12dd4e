package progress_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// noon is when these steps begin, and step one of them.
var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	step = domain.AgentID{UUID: uuid.UUID{1}}.Execution("run", 1).Step(3)
	// price makes an input token cost a nano-dollar, an output token ten.
	price = &domain.Price{Input: 1_000_000, Output: 10_000_000}
)

func begun() progress.Step { return progress.Begin(step, 3) }

func usage(in, out int64) domain.Usage { return domain.Usage{InputTokens: in, OutputTokens: out} }

func at(seconds int) progress.At {
	return progress.At{Time: noon.Add(time.Duration(seconds) * time.Second), Price: price}
}

func stopped(seconds int) progress.At {
	a := at(seconds)
	a.Stopped = true
	return a
}

func inference(attempt int) progress.Work {
	return progress.Work{Model: &contract.ModelRequest{Step: 3, Reserved: usage(40, 4)}, Attempt: attempt, Since: noon}
}

func call(position int, effect domain.Effect) progress.Work {
	return progress.Work{Tool: &contract.ToolRequest{Step: 3, Position: position, Name: "ls", Arguments: "{}", Effect: effect, Losses: domain.DefaultLosses}, Since: noon}
}

// calling is a step whose calls have begun.
func calling(calls int) progress.Step {
	s := begun().With(progress.Wanted{Calls: slices.Repeat([]domain.ToolCall{{ID: "c", Name: "ls", Arguments: "{}"}}, calls)}, at(0))
	for i := range s.ToolExecutions {
		s.ToolExecutions[i].StartedAt = noon
	}
	return s
}

func TestWhatAnInferenceCosts(t *testing.T) {
	t.Parallel()
	rerouted := domain.CodedErrorf(domain.Unavailable, domain.CodeRerouted, "elsewhere")
	down := domain.Errorf(domain.Unavailable, "down")
	beat := &contract.Heartbeat{Phase: contract.PhaseRequested, Spent: usage(10, 1), Reserved: usage(20, 2)}
	early := &contract.Heartbeat{Phase: contract.PhaseWaiting, Spent: usage(10, 1)}
	estimated := func(in, out int64) domain.Usage {
		return domain.Usage{InputTokens: in, OutputTokens: out, Estimated: true}
	}
	waiting := inference(0)
	waiting.Turns = true
	for name, c := range map[string]struct {
		fact                progress.Fact
		used, lost          domain.Usage
		cost, lostCost      int64
		tries, failed       int
		why                 *domain.Error
		retries, notCounted int
	}{
		"an answer at once": {
			fact: progress.ModelReplied{Work: inference(1), Reply: contract.ModelReply{Outcome: contract.Answered, Response: domain.Response{Usage: usage(100, 10)}}},
			used: usage(100, 10), cost: 200,
		},
		"an answer at the third try": {
			fact: progress.ModelReplied{
				Work:  progress.Work{Model: &contract.ModelRequest{}, Attempt: 3, Before: down},
				Reply: contract.ModelReply{Outcome: contract.Answered, Tries: 3, Response: domain.Response{Usage: usage(100, 10)}, Spent: usage(5, 1)},
			},
			used: usage(105, 11), lost: usage(5, 1), cost: 215, lostCost: 15, tries: 3, failed: 2, why: down, retries: 1,
		},
		"a failure that was billed": {
			fact: progress.ModelReplied{Work: inference(1), Reply: contract.ModelReply{Outcome: contract.BilledFailure, Error: down, Spent: usage(50, 5)}},
			used: usage(50, 5), lost: usage(50, 5), cost: 100, lostCost: 100, failed: 1, why: down, retries: 1,
		},
		"a worker that stopped": {
			fact: progress.ModelReplied{Work: inference(1), Reply: contract.ModelReply{Outcome: contract.ShutDown}},
			why:  progress.WhyUnanswered(contract.ModelReply{Outcome: contract.ShutDown}), failed: 1, retries: 1,
		},
		"what a stop cut off": {
			fact: progress.ModelReplied{Work: inference(1), Reply: contract.ModelReply{Outcome: contract.Interrupted, Response: domain.Response{Usage: usage(7, 1)}}},
			used: usage(7, 1), cost: 17,
		},
		"a lost worker": {
			fact: progress.Lost{Work: inference(1), Loss: progress.Loss{How: progress.TimedOut, Beat: beat}},
			used: estimated(30, 3), lost: estimated(30, 3),
			cost: 60, lostCost: 60, failed: 1, why: progress.Loss{How: progress.TimedOut}.Err(), retries: 1,
		},
		"a lost worker, nothing heard": {
			fact: progress.Lost{Work: inference(4), Loss: progress.Loss{How: progress.TimedOut}}, failed: 4, why: progress.Loss{How: progress.TimedOut}.Err(), retries: 1,
			used: estimated(40, 4), lost: estimated(40, 4), cost: 80, lostCost: 80,
		},
		"a lost worker, heard of before the request alone": {
			fact: progress.Lost{Work: inference(1), Loss: progress.Loss{How: progress.TimedOut, Beat: early}}, failed: 1, why: progress.Loss{How: progress.TimedOut}.Err(), retries: 1,
			used: estimated(50, 5), lost: estimated(50, 5), cost: 100, lostCost: 100,
		},
		"a worker with another queue":      {fact: progress.Lost{Work: inference(1), Loss: progress.Loss{Told: rerouted}}},
		"cut off while it waited its turn": {fact: progress.Lost{Work: waiting, Loss: progress.Loss{How: progress.Cancelled}}},
		"cut off before a worker had it":   {fact: progress.Lost{Work: inference(0), Loss: progress.Loss{How: progress.Cancelled}}, failed: 1, why: progress.Loss{How: progress.Cancelled}.Err(), retries: 1},
		"no worker took it":                {fact: progress.Lost{Work: inference(1), Loss: progress.Loss{How: progress.TimedOut, Untaken: true}}, failed: 1, why: progress.Loss{How: progress.TimedOut}.Err(), retries: 1},
		"lost by a worker under rate limit": {
			fact: progress.Lost{Work: waiting, Loss: progress.Loss{How: progress.TimedOut}}, failed: 1, why: progress.Loss{How: progress.TimedOut}.Err(), retries: 1,
			used: estimated(40, 4), lost: estimated(40, 4), cost: 80, lostCost: 80,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begun().With(c.fact, at(1))
			require.Equal(t, c.used, s.Usage)
			require.Equal(t, c.lost, s.Lost)
			require.Equal(t, c.cost, s.CostNanoUSD)
			require.Equal(t, c.lostCost, s.LostNanoUSD)
			require.Equal(t, c.tries, s.Tries)
			require.Equal(t, c.failed, s.FailedAttempts())
			require.Len(t, s.Retries, c.retries)
			if c.retries > 0 {
				require.Equal(t, c.why, s.Retries[0].Why)
				require.Equal(t, c.lost, s.Retries[0].Usage)
				require.Equal(t, c.lostCost, s.Retries[0].CostNanoUSD)
			}
		})
	}
}

// Tries are those of all inferences of the step, and one alone is not noted.
func TestTriesAddUp(t *testing.T) {
	t.Parallel()
	answered := progress.ModelReplied{Work: inference(1), Reply: contract.ModelReply{Outcome: contract.Answered, Tries: 1}}
	s := begun().With(answered, at(1))
	require.Zero(t, s.Tries)
	s = s.With(progress.Lost{Work: inference(5), Loss: progress.Loss{How: progress.TimedOut}}, at(2))
	require.Equal(t, 2, s.Tries)
	require.Equal(t, 3, s.With(answered, at(3)).Tries)
}

func TestWithoutAPriceNothingCosts(t *testing.T) {
	t.Parallel()
	s := begun().With(progress.ModelReplied{Work: inference(1), Reply: contract.ModelReply{
		Outcome: contract.BilledFailure, Spent: usage(1, 1),
	}}, progress.At{Time: noon})
	require.Zero(t, s.CostNanoUSD)
	require.Zero(t, s.Retries[0].CostNanoUSD)
}

func TestWhatFollowsFromAReply(t *testing.T) {
	t.Parallel()
	down := domain.Errorf(domain.Unavailable, "down")
	wrong := domain.Errorf(domain.Invalid, "wrong")
	for name, c := range map[string]struct {
		reply   contract.ModelReply
		tries   int
		stopped bool
		verdict progress.Verdict
		err     string
	}{
		"answered":                 {reply: contract.ModelReply{Outcome: contract.Answered}, tries: 9, stopped: true, verdict: progress.Take},
		"interrupted by a stop":    {reply: contract.ModelReply{Outcome: contract.Interrupted}, tries: 1, stopped: true, verdict: progress.Stop},
		"interrupted by nobody":    {reply: contract.ModelReply{Outcome: contract.Interrupted}, tries: 1, verdict: progress.Again},
		"shut down at a stop":      {reply: contract.ModelReply{Outcome: contract.ShutDown}, tries: 3, stopped: true, verdict: progress.Stop},
		"shut down":                {reply: contract.ModelReply{Outcome: contract.ShutDown}, tries: 2, verdict: progress.Again},
		"shut down too often":      {reply: contract.ModelReply{Outcome: contract.ShutDown}, tries: 3, verdict: progress.Fail, err: "the inference was cut off 3 times by workers that stopped"},
		"failed":                   {reply: contract.ModelReply{Outcome: contract.BilledFailure, Error: down}, tries: 2, verdict: progress.Again},
		"failed at a stop":         {reply: contract.ModelReply{Outcome: contract.BilledFailure, Error: down}, tries: 3, stopped: true, verdict: progress.Stop},
		"failed too often":         {reply: contract.ModelReply{Outcome: contract.BilledFailure, Error: down}, tries: 3, verdict: progress.Fail, err: "down"},
		"failed for good":          {reply: contract.ModelReply{Outcome: contract.BilledFailure, Error: wrong}, tries: 1, verdict: progress.Fail, err: "wrong"},
		"failed without a reason":  {reply: contract.ModelReply{Outcome: contract.BilledFailure}, tries: 1, verdict: progress.Fail, err: "the worker reported a failure without its error"},
		"nobody knows what it was": {stopped: true, verdict: progress.Fail, err: "the worker's reply does not say what came of the inference"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict, err := progress.Judge(c.reply, c.tries, 3, c.stopped)
			require.Equal(t, c.verdict, verdict)
			if c.err == "" {
				require.Nil(t, err)
				return
			}
			require.Equal(t, c.err, err.Message)
		})
	}
}

func TestHowLongToWait(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2*time.Second, progress.Delay(contract.ModelReply{RetryAfterMillis: 1000}, 2*time.Second))
	require.Equal(t, 3*time.Second, progress.Delay(contract.ModelReply{RetryAfterMillis: 3000}, 2*time.Second))
	require.Equal(t, time.Hour, progress.Delay(contract.ModelReply{RetryAfterMillis: 1 << 50}, time.Second))
	require.Equal(t, time.Second, progress.Delay(contract.ModelReply{RetryAfterMillis: -5}, time.Second))
}

func TestHowACallEnded(t *testing.T) {
	t.Parallel()
	refused := domain.Errorf(domain.Invalid, "no such file")
	long := domain.Errorf(domain.Invalid, "%s", strings.Repeat("x", domain.MaxReason+9))
	for name, c := range map[string]struct {
		work        progress.Work
		fact        func(progress.Work) progress.Fact
		at          progress.At
		value       string
		code        domain.Code
		message     string
		interrupted bool
	}{
		"a result": {
			work: call(0, domain.ReadOnly), at: at(2), value: "a.txt",
			fact: func(w progress.Work) progress.Fact {
				return progress.ToolReplied{Work: w, Reply: contract.ToolReply{Content: "a.txt"}}
			},
		},
		"an error": {
			work: call(0, domain.ReadOnly), at: stopped(2), message: refused.Message,
			fact: func(w progress.Work) progress.Fact {
				return progress.ToolReplied{Work: w, Reply: contract.ToolReply{Content: "dropped", Error: refused}}
			},
		},
		"an error that is too long": {
			work: call(0, domain.ReadOnly), at: at(2), message: long.Message[:domain.MaxReason],
			fact: func(w progress.Work) progress.Fact {
				return progress.ToolReplied{Work: w, Reply: contract.ToolReply{Error: long}}
			},
		},
		"lost, and may be repeated": {
			work: call(0, domain.Idempotent), at: at(2), code: domain.CodeTimeout, message: "no worker finished it in time",
			fact: func(w progress.Work) progress.Fact {
				return progress.Lost{Work: w, Loss: progress.Loss{How: progress.TimedOut}}
			},
		},
		"lost, and may not be repeated": {
			work: call(0, domain.AtMostOnce), at: at(2), code: domain.CodeOutcomeUnknown,
			message: "outcome unknown: the call began and its worker was lost; it may or may not have taken effect, and was not repeated",
			fact: func(w progress.Work) progress.Fact {
				return progress.Lost{Work: w, Loss: progress.Loss{How: progress.TimedOut}}
			},
		},
		"cut off by a stop": {
			work: call(0, domain.AtMostOnce), at: stopped(2), code: domain.CodeOutcomeUnknown, interrupted: true,
			message: "outcome unknown: the call began and its worker was lost; it may or may not have taken effect, and was not repeated",
			fact: func(w progress.Work) progress.Fact {
				w.CutOff = true
				return progress.Lost{Work: w, Loss: progress.Loss{Told: refused}}
			},
		},
		"lost as a stop came": {
			work: call(0, domain.AtMostOnce), at: stopped(2), code: domain.CodeOutcomeUnknown,
			message: "outcome unknown: the call began and its worker was lost; it may or may not have taken effect, and was not repeated",
			fact: func(w progress.Work) progress.Fact {
				return progress.Lost{Work: w, Loss: progress.Loss{Told: refused}}
			},
		},
		"taken back before it began": {
			work: call(0, domain.AtMostOnce), at: stopped(2), code: domain.CodeNotRun, message: "not run: the execution was stopped", interrupted: true,
			fact: func(w progress.Work) progress.Fact {
				return progress.Lost{Work: w, Loss: progress.Loss{How: progress.Cancelled}}
			},
		},
		"cut off, by its own word": {
			work: call(0, domain.ReadOnly), at: at(2), code: domain.CodeInterrupted, message: "cut off", interrupted: true,
			fact: func(w progress.Work) progress.Fact {
				return progress.ToolReplied{Work: w, Reply: contract.ToolReply{Error: domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "cut off")}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := calling(1)
			require.True(t, before.ToolExecutions[0].CompletedAt.IsZero())
			s := before.With(c.fact(c.work), c.at)
			require.True(t, before.ToolExecutions[0].CompletedAt.IsZero(), "what a step was made from stays as it was")
			got := s.ToolExecutions[0]
			require.Equal(t, c.value, got.Value)
			require.Equal(t, noon, got.StartedAt)
			require.Equal(t, c.at.Time, got.CompletedAt)
			require.Equal(t, c.interrupted, s.Interrupted)
			if c.interrupted {
				require.Equal(t, []domain.Error{*progress.StopInTools.Err()}, s.Errors)
			}
			if c.message == "" {
				require.Nil(t, got.Error)
				return
			}
			require.Equal(t, c.message, got.Error.Message)
			require.Equal(t, c.code, got.Error.Code)
		})
	}
}

// Of several calls that a stop cut off it is said once.
func TestAStopInterruptsOnce(t *testing.T) {
	t.Parallel()
	s := calling(2)
	for i := range 2 {
		work := call(i, domain.ReadOnly)
		s = s.With(progress.Lost{Work: work, Loss: progress.Loss{How: progress.Cancelled}}, stopped(2))
	}
	require.Len(t, s.ToolExecutions, 2)
	require.Len(t, s.Errors, 1)
	require.Equal(t, step.Tool(1), s.ToolExecutions[1].ID)
}

// A call that surely did nothing was not run, whatever hooks make of its result.
func TestWhatCountsAsRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply contract.ToolReply
		want  domain.ToolOutcome
	}{
		"a result":                      {contract.ToolReply{Content: "x"}, domain.ToolOK},
		"a failure":                     {contract.ToolReply{Error: domain.Errorf(domain.Invalid, "x")}, domain.ToolFailed},
		"stopped before":                {progress.NotRun(domain.Denied, "not run: the execution was stopped"), domain.ToolNotRun},
		"did nothing":                   {contract.ToolReply{NotStarted: true, Error: domain.Errorf(domain.Unavailable, "busy")}, domain.ToolNotRun},
		"did, it has come to something": {contract.ToolReply{NotStarted: true, Content: "x"}, domain.ToolOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := call(0, domain.ReadOnly)
			s := calling(1).With(progress.ToolReplied{Work: work, Reply: c.reply}, at(2))
			require.Equal(t, c.want, s.ToolExecutions[0].Outcome())
			made := s.ToolExecutions[0]
			made.Value, made.Error = "a hook's", nil
			require.Equal(t, c.want.Ran(), made.Outcome().Ran())
		})
	}
}

func TestWhatAStopKeeps(t *testing.T) {
	t.Parallel()
	said := &domain.Message{
		Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartText, Text: "half"}, {}, {Type: domain.PartText, Opaque: []byte("{")}},
		ToolCalls: []domain.ToolCall{{ID: "c"}}, ToolResult: &domain.ToolResult{},
	}
	reply := contract.ModelReply{Outcome: contract.Interrupted, Message: said, Response: domain.Response{Model: "m"}}
	m, ok := progress.Remains(reply)
	require.True(t, ok)
	require.Equal(t, domain.Message{Role: domain.RoleAssistant, Parts: said.Parts[:1]}, m)
	s := begun().With(progress.CutOff{By: progress.StopInInference, Reply: reply}, at(1))
	require.True(t, s.Interrupted)
	require.Equal(t, "m", s.Response.Model)
	require.Equal(t, domain.CodeInterrupted, s.Errors[0].Code)

	reply.Outcome = contract.BilledFailure
	_, ok = progress.Remains(reply)
	require.False(t, ok)
	require.Nil(t, begun().With(progress.CutOff{By: progress.StopInInference, Reply: reply}, at(1)).Response)
	_, ok = progress.Remains(contract.ModelReply{Message: &domain.Message{ToolCalls: said.ToolCalls}})
	require.False(t, ok, "calls alone leave nothing")
}

func TestWhatALostWorkerLeaves(t *testing.T) {
	t.Parallel()
	text := func(beat *contract.Heartbeat) string {
		m, _ := progress.Remains(progress.Loss{Beat: beat}.Kept())
		return m.Text()
	}
	require.Empty(t, text(nil))
	require.Empty(t, text(&contract.Heartbeat{Length: 9}))
	require.Equal(t, "whole", text(&contract.Heartbeat{Tail: "whole", Length: 5}))
	require.Equal(t, "…the end", text(&contract.Heartbeat{Tail: "the end", Length: 50}))
	require.NotZero(t, progress.Loss{Beat: &contract.Heartbeat{Tail: "x"}}.Kept().Digest)
	require.Equal(t, contract.Interrupted, progress.Loss{}.Kept().Outcome)
}

func TestALossIsAnError(t *testing.T) {
	t.Parallel()
	for how, want := range map[progress.How]domain.Error{
		progress.Broke:     {Kind: domain.Internal, Message: "the worker failed; its log says more"},
		progress.TimedOut:  {Kind: domain.Unavailable, Code: domain.CodeTimeout, Message: "no worker finished it in time"},
		progress.Cancelled: {Kind: domain.Unavailable, Code: domain.CodeInterrupted, Message: "cut off by a stop"},
		progress.Oversized: {Kind: domain.TooLarge, Message: "the result is larger than the server takes"},
		progress.Garbled:   {Kind: domain.Internal, Message: "the worker's answer cannot be read; see that all workers are of the same version"},
	} {
		require.Equal(t, want, *progress.Loss{How: how}.Err())
		require.Equal(t, "the worker failed: oh", progress.Loss{How: how, Told: progress.Told("oh")}.Err().Message, "what was told counts")
	}
}

func TestReadingAnAnswer(t *testing.T) {
	t.Parallel()
	text := domain.Message{Parts: []domain.Part{{Type: domain.PartText, Text: "yes"}}}
	calls := func(n int) domain.Message { return domain.Message{ToolCalls: make([]domain.ToolCall, n)} }
	paused := domain.Response{Finish: domain.FinishOther, FinishWord: domain.WordPaused}
	refusal := domain.Response{Finish: domain.FinishRefusal}
	require.Equal(t, progress.Whole, progress.Read(text, domain.Response{}))
	require.Equal(t, progress.Whole, progress.Read(calls(domain.MaxRequestedCalls), domain.Response{}))
	require.Equal(t, progress.TooMany, progress.Read(calls(domain.MaxRequestedCalls+1), domain.Response{}))
	require.Equal(t, progress.InPart, progress.Read(domain.Message{}, paused))
	require.Equal(t, progress.Whole, progress.Read(calls(1), paused))
	require.Equal(t, progress.Whole, progress.Read(text, domain.Response{Finish: domain.FinishOther}))
	require.Equal(t, progress.Nothing, progress.Read(domain.Message{Parts: []domain.Part{{Type: domain.PartText, Text: " \n"}}}, domain.Response{}))
	require.Equal(t, progress.Whole, progress.Read(domain.Message{}, refusal))

	require.Nil(t, progress.Misfit(text, domain.Response{}, ""))
	require.Nil(t, progress.Misfit(calls(1), domain.Response{}, "no object"))
	require.Nil(t, progress.Misfit(text, refusal, "no object"))
	err := progress.Misfit(text, domain.Response{}, "no object")
	require.Equal(t, "the answer does not fit the response format: no object", err.Message)
	require.Equal(t, progress.SourceOutput, err.Source)
	require.Equal(t, domain.CodeInvalidOutput, err.Code)
	require.LessOrEqual(t, len(progress.Misfit(text, domain.Response{}, strings.Repeat("x", domain.MaxReason)).Message), domain.MaxReason)
}

func TestHowAStepEndsWithAnError(t *testing.T) {
	t.Parallel()
	require.Equal(t, progress.SourceInference, progress.Ending(domain.Errorf(domain.Invalid, "x")).Source)
	require.Equal(t, "vendor", progress.Ending(domain.Errorf(domain.Invalid, "x").From("vendor")).Source)
	require.Len(t, progress.Ending(domain.Errorf(domain.Invalid, "%s", strings.Repeat("x", domain.MaxReason+1))).Message, domain.MaxReason)
	s := begun().With(progress.Failed{Err: progress.Withheld()}, at(1)).With(progress.Failed{Err: progress.NothingTwice()}, at(2))
	require.Equal(t, []domain.Error{*progress.Withheld(), *progress.NothingTwice()}, s.Errors)
	require.Equal(t, domain.CodeMalformed, progress.TooManyCalls(999).Code)
	require.Contains(t, progress.TooManyPauses(17).Message, "17 times")
}

// Every cut has its words, and leaves an error that says that it was one.
func TestCuts(t *testing.T) {
	t.Parallel()
	for cut, kind := range map[progress.Cut]domain.Kind{
		progress.StopInInference: domain.Unavailable, progress.StopInTools: domain.Unavailable,
		progress.StopAtPause: domain.Unavailable, progress.StopAtNothing: domain.Unavailable, progress.WorkflowEnded: domain.Unavailable,
		progress.HookBefore: domain.Denied, progress.NoBudget: domain.Denied, progress.NoBudgetToSumUp: domain.Denied,
	} {
		require.Equal(t, domain.Error{Kind: kind, Code: domain.CodeInterrupted, Message: string(cut)}, *cut.Err())
	}
}

func TestWaitsForATurn(t *testing.T) {
	t.Parallel()
	turn := inference(1)
	turn.Turns = true
	s := begun().With(progress.Attempted{Work: turn}, at(7))
	require.Equal(t, 7*time.Second, s.Queued)
	turn.Attempt = 2
	require.Equal(t, 7*time.Second, s.With(progress.Attempted{Work: turn}, at(9)).Queued, "of a later attempt nobody knows when the first began")
	require.Equal(t, 7*time.Second, s.With(progress.Attempted{Work: inference(1)}, at(9)).Queued)
}
