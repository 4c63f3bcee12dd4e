package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// verifies is a tool that can say what became of its calls, and whose first call loses its worker.
func verifies(w *world) {
	w.tools = paysOnce()
	w.tools[0].Verifies = true
	w.tool = losesFirst(w)
}

// TestAToolSaysWhatBecameOfItsCall before anybody is told that nobody knows.
func TestAToolSaysWhatBecameOfItsCall(t *testing.T) {
	t.Parallel()
	passes := temporal.NewApplicationError("the bank is closed", "unavailable")
	for name, test := range map[string]struct {
		found      contract.VerifyReply
		fails      error
		reads      string
		outcome    domain.ToolOutcome
		ran, asked int
		unresolved int
	}{
		"done": {contract.VerifyReply{Verdict: domain.VerdictDone, Result: "receipt 4711", Reason: "journal"}, nil,
			"receipt 4711", domain.ToolOK, 2, 1, 0},
		"not done": {contract.VerifyReply{Verdict: domain.VerdictNotDone, Reason: "it is void"}, nil,
			"cannot do anything any more (it is void); it may be called again", domain.ToolNotRun, 2, 1, 0},
		"not known": {contract.VerifyReply{Reason: "no journal"}, nil,
			"outcome unknown: the call began and its worker was lost", domain.ToolUnknown, 1, 1, 1},
		"never answered": {contract.VerifyReply{}, passes,
			"outcome unknown: the call began and its worker was lost", domain.ToolUnknown, 1, domain.VerifyAttempts, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(says("", payFor(7, "first")), says("", payFor(7, "again")), says("done"))}
			verifies(w)
			asked := []contract.ToolRequest{}
			w.verify = func(r contract.ToolRequest) (contract.VerifyReply, error) {
				asked = append(asked, r)
				return test.found, test.fails
			}
			env := w.executed(t, input(t, ""))
			require.Equal(t, test.unresolved, outcome(t, env).UnknownOutcomes)
			require.Contains(t, told(t, env)[1], test.reads)
			require.Len(t, w.ran, test.ran, "what is not unknown may be called again")
			require.Len(t, asked, test.asked)
			require.Equal(t, w.ran[0].Key(), asked[0].Key())
			require.Equal(t, w.ran[0].ID(), asked[0].ID())
			require.Equal(t, w.ran[0].Arguments, asked[0].Arguments)

			call := executions(t, env)[0]
			require.Equal(t, test.outcome, call.Outcome())
			require.Len(t, eventsIn(t, env, 1, domain.EventWaitOpened), test.unresolved)
			events := eventsIn(t, env, 1, domain.EventWaitClosed)
			if test.unresolved > 0 {
				require.True(t, call.Wait(domain.WaitOutcome).IsZero())
				require.Empty(t, events)
				return
			}
			said := call.Wait(domain.WaitOutcome).Answer
			require.False(t, said.At.IsZero())
			require.Equal(t, domain.Answer{
				Verdict: test.found.Verdict, By: "tool.Verify", Reason: test.found.Reason, At: said.At,
			}, *said)
			require.Len(t, events, 1)
			require.Equal(t, said.By, events[0].Data.(domain.WaitClosed).By)
		})
	}
}

// TestVerifyIsAsked of calls whose outcome nobody knows, and of no others.
func TestVerifyIsAsked(t *testing.T) {
	t.Parallel()
	unknown := domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "the line broke")
	for name, test := range map[string]struct {
		reply contract.ToolReply
		err   error
		asked bool
	}{
		"done":                 {contract.ToolReply{Content: "paid"}, nil, false},
		"the tool cannot tell": {contract.ToolReply{Content: unknown.Message, Error: unknown}, nil, true},
		"its worker broke":     {contract.ToolReply{}, errors.New("broken"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: calling(payFor(7, "x"))}
			verifies(w)
			w.tool = func(contract.ToolRequest) (contract.ToolReply, error) { return test.reply, test.err }
			asked := false
			w.verify = func(contract.ToolRequest) (contract.VerifyReply, error) {
				asked = true
				return contract.VerifyReply{Verdict: domain.VerdictDone, Reason: "journal"}, nil
			}
			env := w.executed(t, input(t, ""))
			require.Zero(t, outcome(t, env).UnknownOutcomes)
			require.Equal(t, test.asked, asked)
		})
	}
}

// TestAStopDoesNotWaitForVerify: the outcome is unknown then.
func TestAStopDoesNotWaitForVerify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode       contract.StopMode
		unresolved int
	}{"now": {contract.StopNow, 1}, "after the step": {contract.AfterStep, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: calling(payFor(7, "x"))}
			verifies(w)
			tries := 0
			w.verify = func(contract.ToolRequest) (contract.VerifyReply, error) {
				if tries++; tries < domain.VerifyAttempts {
					return contract.VerifyReply{}, temporal.NewApplicationErrorWithOptions("later", "unavailable", temporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
				}
				return contract.VerifyReply{Verdict: domain.VerdictDone, Reason: "journal"}, nil
			}
			env := w.environment(t)
			stopsWith(env, 30*time.Minute, contract.StopRequest{Mode: test.mode})
			execute(env, input(t, ""))
			out := outcome(t, env)
			require.Equal(t, domain.StatusStopped, out.Status)
			require.Equal(t, test.unresolved, out.UnknownOutcomes)
			if test.unresolved > 0 {
				require.Equal(t, 1, tries)
				require.Contains(t, told(t, env)[1], "outcome unknown")
			}
		})
	}
}
