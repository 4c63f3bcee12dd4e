package activities_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// A call whose worker was lost may take this one with it: whose inferences are
// under way have their answers first.
func TestACallThatLostItsWorkerLetsInferencesGoFirst(t *testing.T) {
	t.Parallel()
	var answered atomic.Bool
	look := tool.New("look", "looks", domain.ReadOnly, func(context.Context, struct{}) (string, error) {
		if !answered.Load() {
			return "too early", nil
		}
		return "seen", nil
	})
	beaten, called := make(chan struct{}, 100), make(chan contract.ToolReply, 1)
	b := benchOf(look)
	b.beaten = func() { beaten <- struct{}{} }

	var m *modelBench
	m = modelBenchOf(func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
		b.shared = m.made
		first := request("look", domain.ReadOnly)
		require.Equal(t, "too early", b.reply(t, first).Content, "one that has lost none waits for nobody")
		first.Attempts, first.Lost = 1, 1
		go func() { called <- b.reply(t, first) }()
		<-beaten // it is at it for a while
		answered.Store(true)
		return says("hi", few), nil
	})
	m.tools = []tool.Tool{look}
	m.reply(t)
	require.Equal(t, "seen", (<-called).Content)

	b.shared = m.made
	first := request("look", domain.ReadOnly)
	first.Attempts, first.Lost = 1, 1
	require.Equal(t, "seen", b.reply(t, first).Content, "nobody is asked: nothing is waited for")
}

// TestLettingOthersGoFirstTakesNothingFromACall: it is over within the time for a report.
func TestLettingOthersGoFirstTakesNothingFromACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		look := fake(domain.ReadOnly, answering("seen"))
		b := benchOf(look)
		var m *modelBench
		m = modelBenchOf(func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
			b.shared = m.made
			again, begun := request("fake", domain.ReadOnly), time.Now()
			again.Attempts, again.Lost = 1, 1
			require.Equal(t, "seen", b.reply(t, again).Content)
			require.Equal(t, domain.ReportTime/2, time.Since(begun))
			return says("hi", few), nil
		})
		m.tools = []tool.Tool{look}
		m.reply(t)
	})
}
