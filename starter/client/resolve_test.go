package client

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// endedRun is the run that left it.
const endedRun = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

// unresolvedCall is what lonely's execution has left.
func unresolvedCall() domain.Wait {
	return domain.Wait{Kind: domain.WaitOutcome, ToolExecutionID: nth(1).Step(1).Tool(0), Execution: 1, Step: 1, Tool: "pay", Since: at(1).AsTime()}
}

// resolvingRun is of a workflow that was to resolve a call, and says so or was ended by the server before.
func resolvingRun(resolves bool) *fakeRun {
	ended, call := stopped(1), unresolvedCall()
	call.Answer = &domain.Answer{Verdict: domain.VerdictDone, Reason: "so"}
	if resolves {
		ended.ResolvedOutcomes = []domain.Wait{call}
	}
	r := newRun("run-1", nil)
	r.first = "run-1"
	r.memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{contract.MemoResolution: payloads(contract.EndedRun{RunID: endedRun, FirstRunID: endedRun}).Payloads[0]}}
	r.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
	r.events[len(r.events)-1].Attributes = &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
		WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{Result: payloads(ended)},
	}
	return r
}

func TestResolvingAfterTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		resolves bool
		class    Class
	}{"by a worker": {true, ""}, "ended before": {false, Failed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(lonelyRun(t, endedRun, 1, nil))
			state, err := json.Marshal(lonelyState(t, 1).WithUnknownOutcome(unresolvedCall(), at(2).AsTime()))
			require.NoError(t, err)
			messages := answersOf(t, 1, 10, false)
			f.query = func(ctx context.Context, runID, query string, in any) (any, error) {
				out, err := messages(ctx, runID, query, in)
				out.(account.Page).Head.Carry.State = state
				return out, err
			}
			var in contract.SessionInput
			var options sdk.StartWorkflowOptions
			f.start = func(o sdk.StartWorkflowOptions, input contract.SessionInput) error {
				options, in = o, input
				f.change(func() { f.runs = append(f.runs, resolvingRun(c.resolves)) })
				return nil
			}
			word := ResolveOptions{Call: unresolvedCall().ToolExecutionID.String()[:8], Verdict: domain.VerdictDone, Reason: "so"}
			resolved, err := f.client().Resolve(t.Context(), lonely, word)
			require.Equal(t, contract.EndedRun{RunID: endedRun, FirstRunID: endedRun}, in.ResolveOutcome.EndedRun)
			require.Equal(t, unresolvedCall().ToolExecutionID, in.ResolveOutcome.Request.Call)
			require.Empty(t, in.Prompt)
			require.Len(t, in.Carry.Conversation.Entries, 3)
			require.Equal(t, contract.WaitingFor([]domain.Wait{unresolvedCall()}), options.Memo[contract.MemoWaiting], "it is unresolved until a worker says so")
			attributes := options.TypedSearchAttributes.GetUntypedValues()
			require.Len(t, attributes, 1, "the server knows no StopReason, and the agent has no name")
			for key, value := range attributes {
				require.Equal(t, []any{contract.AttributeAgentStatus, "stopped"}, []any{key.GetName(), value})
			}
			if c.class != "" {
				requireClass(t, err, c.class)
				require.ErrorContains(t, err, "nothing was resolved")
				return
			}
			require.NoError(t, err)
			require.Zero(t, resolved.UnknownOutcomes)
			require.Equal(t, "so", resolved.Wait.Answer.Reason)
		})
	}
}

// TestAResolutionThatNobodyTakes waits for a worker by itself.
func TestAResolutionThatNobodyTakes(t *testing.T) {
	t.Parallel()
	f := newFake(lonelyRun(t, endedRun, 1, nil))
	state, err := json.Marshal(lonelyState(t, 1).WithUnknownOutcome(unresolvedCall(), at(2).AsTime()))
	require.NoError(t, err)
	f.query = func(context.Context, string, string, any) (any, error) {
		return account.Page{Account: account.Account{Head: leaving3(state, false)}}, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	f.start = func(sdk.StartWorkflowOptions, contract.SessionInput) error {
		run := newRun("run-1", nil)
		run.memo = resolvingRun(true).memo
		f.change(func() { f.runs = append(f.runs, run) })
		cancel()
		return nil
	}
	_, err = f.client().Resolve(ctx, lonely, ResolveOptions{Call: unresolvedCall().ToolExecutionID.String(), Verdict: domain.VerdictDone, Reason: "so"})
	requireClass(t, err, Cancelled)
	require.ErrorContains(t, err, "resolved when a worker is up")
}
