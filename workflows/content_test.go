package workflows

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// stepAt is when these steps begin, later when what they asked for has ended, and theStep one of them.
var (
	stepAt  = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	later   = stepAt.Add(2 * time.Second)
	theStep = domain.AgentID{UUID: uuid.UUID{1}}.Execution("run", 1).Step(3)
	// nanoPrice makes an input token cost a nano-dollar, an output token ten.
	nanoPrice = &domain.Price{Input: 1_000_000, Output: 10_000_000}
)

func begun() stepContent { return stepContent{AgentStep: domain.AgentStep{ID: theStep, Number: 3}} }

func usage(in, out int64) domain.Usage { return domain.Usage{InputTokens: in, OutputTokens: out} }

// calling is a step whose calls have begun.
func calling(calls int) stepContent {
	s := begun()
	s.wanted(slices.Repeat([]domain.ToolCall{{ID: "c", Name: "ls", Arguments: "{}"}}, calls))
	for i := range s.ToolExecutions {
		s.ToolExecutions[i].StartedAt = stepAt
	}
	return s
}

func TestWhatAnInferenceCosts(t *testing.T) {
	t.Parallel()
	rerouted := domain.CodedErrorf(domain.Unavailable, domain.CodeRerouted, "elsewhere")
	beat := &contract.Heartbeat{Phase: contract.PhaseRequested, Spent: usage(10, 1), Reserved: usage(20, 2)}
	early := &contract.Heartbeat{Phase: contract.PhaseWaiting, Spent: usage(10, 1)}
	estimated := func(in, out int64) domain.Usage {
		return domain.Usage{InputTokens: in, OutputTokens: out, Estimated: true}
	}
	replied := func(reply contract.ModelReply) (s stepContent) { s.replied(reply, nanoPrice); return s }
	lost := func(loss contract.Loss) (s stepContent) {
		s.lost(contract.ModelRequest{Step: 3, Reserved: usage(40, 4)}, loss, false, nanoPrice)
		return s
	}
	for name, c := range map[string]struct {
		step           stepContent
		used, lost     domain.Usage
		cost, lostCost int64
		tries          int
	}{
		"an answer at once": {
			step: replied(contract.ModelReply{Outcome: contract.Answered, Response: domain.Response{Usage: usage(100, 10)}}),
			used: usage(100, 10), cost: 200,
		},
		"an answer at the third try": {
			step: replied(contract.ModelReply{Outcome: contract.Answered, Tries: 3, Response: domain.Response{Usage: usage(100, 10)}, Spent: usage(5, 1)}),
			used: usage(105, 11), lost: usage(5, 1), cost: 215, lostCost: 15, tries: 3,
		},
		"what a stop cut off": {
			step: replied(contract.ModelReply{Outcome: contract.Interrupted, Response: domain.Response{Usage: usage(7, 1)}}),
			used: usage(7, 1), cost: 17,
		},
		"a lost worker": {
			step: lost(contract.Loss{How: contract.TimedOut, Heartbeat: beat}),
			used: estimated(30, 3), lost: estimated(30, 3), cost: 60, lostCost: 60,
		},
		"a lost worker, heard of before the request alone": {
			step: lost(contract.Loss{How: contract.TimedOut, Heartbeat: early}),
			used: estimated(50, 5), lost: estimated(50, 5), cost: 100, lostCost: 100,
		},
		"a worker with another queue": {step: lost(contract.Loss{Reported: rerouted})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.used, c.step.Usage)
			require.Equal(t, c.lost, c.step.Lost)
			require.Equal(t, c.cost, c.step.CostNanoUSD)
			require.Equal(t, c.lostCost, c.step.LostNanoUSD)
			require.Equal(t, c.tries, c.step.Tries)
		})
	}
	s := begun()
	s.replied(contract.ModelReply{Outcome: contract.BilledFailure, Spent: usage(1, 1)}, nil)
	require.Zero(t, s.CostNanoUSD, "without a price nothing costs")
}

// Tries are those of all inferences of the step, and one alone is not noted. That a worker has another queue is none.
func TestTriesAddUp(t *testing.T) {
	t.Parallel()
	answered := contract.ModelReply{Outcome: contract.Answered, Tries: 1}
	s := begun()
	s.replied(answered, nil)
	require.Zero(t, s.Tries)
	s.lost(contract.ModelRequest{}, contract.Loss{Reported: domain.CodedErrorf(domain.Unavailable, domain.CodeRerouted, "elsewhere")}, true, nil)
	require.Zero(t, s.Tries)
	s.lost(contract.ModelRequest{}, contract.Loss{How: contract.TimedOut}, true, nil)
	require.Equal(t, 2, s.Tries)
	s.replied(answered, nil)
	require.Equal(t, 3, s.Tries)
}

// Of several calls that a stop cut off it is said once.
func TestAStopInterruptsOnce(t *testing.T) {
	t.Parallel()
	s := calling(2)
	for i := range 2 {
		s.called(i, contract.NotRun(domain.Denied, "not run: the execution was stopped"), true, later)
	}
	require.Len(t, s.Errors, 1)
	require.Equal(t, theStep.Tool(1), s.ToolExecutions[1].ID)
}

func TestWhatCountsAsRun(t *testing.T) {
	t.Parallel()
	busy := domain.Errorf(domain.Unavailable, "busy")
	for want, reply := range map[domain.ToolOutcome]contract.ToolReply{
		domain.ToolOK:     {NotStarted: true, Content: "x"},
		domain.ToolFailed: {Error: busy},
		domain.ToolNotRun: {NotStarted: true, Error: busy},
	} {
		s := calling(1)
		s.called(0, reply, false, later)
		require.Equal(t, want, s.ToolExecutions[0].Outcome())
	}
}

func TestWhatAStopKeeps(t *testing.T) {
	t.Parallel()
	said := &domain.Message{
		Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartText, Text: "half"}, {}, {Type: domain.PartText, Opaque: []byte("{")}},
		ToolCalls: []domain.ToolCall{{ID: "c"}}, ToolResult: &domain.ToolResult{},
	}
	reply := contract.ModelReply{Outcome: contract.Interrupted, Message: said, Response: domain.Response{Model: "m"}}
	require.Equal(t, domain.Message{Role: domain.RoleAssistant, Parts: said.Parts[:1]}, writtenSoFar(reply))
	s := begun()
	s.cutOff(stopInInference, reply)
	require.True(t, s.Interrupted)
	require.Equal(t, "m", s.Response.Model)
	require.Equal(t, domain.CodeInterrupted, s.Errors[0].Code)

	reply.Outcome = contract.BilledFailure
	require.Empty(t, writtenSoFar(reply).Parts)
	s = begun()
	s.cutOff(stopInInference, reply)
	require.Nil(t, s.Response)
	m := writtenSoFar(contract.ModelReply{Message: &domain.Message{ToolCalls: said.ToolCalls}})
	require.Zero(t, len(m.Parts)+len(m.ToolCalls), "calls alone leave nothing")
}

func TestWhatALostWorkerLeaves(t *testing.T) {
	t.Parallel()
	text := func(beat *contract.Heartbeat) string {
		return writtenSoFar(contract.Loss{Heartbeat: beat}.Kept()).Text()
	}
	require.Empty(t, text(nil))
	require.Empty(t, text(&contract.Heartbeat{Length: 9}))
	require.Equal(t, "whole", text(&contract.Heartbeat{Tail: "whole", Length: 5}))
	require.Equal(t, "…the end", text(&contract.Heartbeat{Tail: "the end", Length: 50}))
	require.NotZero(t, contract.Loss{Heartbeat: &contract.Heartbeat{Tail: "x"}}.Kept().Digest)
	require.Equal(t, contract.Interrupted, contract.Loss{}.Kept().Outcome)
}

func TestALossIsAnError(t *testing.T) {
	t.Parallel()
	for how, want := range map[contract.How]domain.Error{
		contract.Broke:     {Kind: domain.Internal, Message: "the worker failed; its log says more"},
		contract.TimedOut:  {Kind: domain.Unavailable, Code: domain.CodeTimeout, Message: "no worker finished it in time"},
		contract.Cancelled: {Kind: domain.Unavailable, Code: domain.CodeInterrupted, Message: "cut off by a stop"},
		contract.Oversized: {Kind: domain.TooLarge, Message: "the result is larger than the server takes"},
		contract.Garbled:   {Kind: domain.Internal, Message: "the worker's answer cannot be read; see that all workers are of the same version"},
	} {
		require.Equal(t, want, *contract.Loss{How: how}.Err())
		require.Equal(t, "the worker failed: oh", contract.Loss{How: how, Reported: contract.WorkerFailure("oh")}.Err().Message, "what was told counts")
	}
}

func TestHowAStepEndsWithAnError(t *testing.T) {
	t.Parallel()
	require.Equal(t, domain.SourceInference, stepError(domain.Invalidf("x")).Source)
	require.Equal(t, "vendor", stepError(domain.Invalidf("x").From("vendor")).Source)
	require.Len(t, stepError(domain.Invalidf("%s", strings.Repeat("x", domain.MaxReason+1))).Message, domain.MaxReason)
}

// TestWhatALostSubagentHasDoneIsUnknown: of one that has no outcome nobody says that it has done nothing, but of one that never
// began.
func TestWhatALostSubagentHasDoneIsUnknown(t *testing.T) {
	t.Parallel()
	done := domain.EffectCounts{Calls: []domain.EffectCount{{Tool: "pay", Done: 1, Unknown: 1}}}
	lost, _ := childLoss(temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil))
	require.Equal(t, domain.CodeTimedOut, lost.Code)
	for name, test := range map[string]struct {
		ended  endedChild
		says   string
		failed bool
		below  domain.EffectCounts
	}{
		"timed out": {endedChild{why: lost}, `"effects_unknown":true`, true, domain.EffectCounts{Unknown: true}},
		"not begun": {endedChild{why: lost, unstarted: true}, `"effects":[]`, true, domain.EffectCounts{}},
		"failed": {endedChild{outcome: &contract.Outcome{Status: domain.StatusFailed, EffectCounts: done, Report: &contract.Report{SaidLast: "found"}}},
			`"answer":"","said_last":"found","effects":[{"tool":"pay","done":1,"unknown":1}]`, true, done},
		"stopped": {endedChild{outcome: &contract.Outcome{Status: domain.StatusStopped, EffectCounts: domain.EffectCounts{Unknown: true}}},
			`"effects_unknown":true`, false, domain.EffectCounts{Unknown: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := test.ended.reply()
			require.Contains(t, reply.Content, test.says)
			require.Equal(t, test.failed, reply.Error != nil)
			if test.below.Unknown && test.ended.outcome == nil {
				require.NotContains(t, reply.Content, `"effects":`)
			}
			s := calling(1)
			s.childEnded(0, test.ended, false, later)
			require.Equal(t, test.below, s.ChildEffects)
		})
	}
}

// TestEachKindOfWaitHasItsFunctions: no answer is taken by another kind's.
func TestEachKindOfWaitHasItsFunctions(t *testing.T) {
	t.Parallel()
	for _, kind := range domain.WaitKinds() {
		of := waitKindOf(kind)
		require.False(t, of.check == nil || of.apply == nil, "%s has no row in waitkinds.go", kind)
	}
}
