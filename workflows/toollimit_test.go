package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// ownQueue is that of the test environment.
const ownQueue = "default-test-taskqueue"

// TestCallsGoWhereTheirLimitHolds, as a worker says at the beginning of each execution where there was one.
func TestCallsGoWhereTheirLimitHolds(t *testing.T) {
	t.Parallel()
	limited := limitedCatalog().ToolLimits
	w := &world{tools: reads(), model: until(1, says("looking", look()), "done")}
	lists := 0
	w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
		catalog := contract.Resolved{MinOutputTokens: 1, Tools: reads(), Digest: domain.DigestOf([]byte("x"))}
		if lists++; lists == 1 {
			catalog.ToolLimits = limited
		}
		return catalog, nil
	}
	var queues []string
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		queues = append(queues, w.options[string(contract.CallTool)].TaskQueue)
		return saw(r)
	}
	env := w.environment(t)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, limited, status(t, env).Configuration.ToolLimits)
	}, 30*time.Minute)
	for i := range 2 {
		sends(env, time.Duration(i+1)*time.Hour, string(rune('a'+i)), contract.SendRequest{Prompt: "more"})
	}
	closes(env, 4*time.Hour)
	execute(env, input(t, "ann"))
	require.Equal(t, []string{"q/tool/look", ownQueue, ownQueue}, queues)
	require.Equal(t, 3, lists, "each execution looks for it anew")
}

// elsewhere replies to a call that is to be made where its limit holds.
func elsewhere() contract.ToolReply {
	return contract.ToolReply{
		NotStarted: true, TaskQueue: "q/tool/look", Error: domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "not run: its turn did not come"),
	}
}

// TestACallIsSentWhereItsLimitHolds at once, however many there are, and once only.
func TestACallIsSentWhereItsLimitHolds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sent, ran int
		content   string
	}{
		"once":               {1, 2, "seen"},
		"by workers at odds": {9, 4, "not run: its turn did not come"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads(), model: calling(look())}
			var queues []string
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				require.Zero(t, r.Attempts)
				if queues = append(queues, w.options[string(contract.CallTool)].TaskQueue); len(queues) <= test.sent {
					return elsewhere(), nil
				}
				return saw(r)
			}
			env := w.environment(t)
			begun := env.Now()
			execute(env, input(t, ""))
			completes(t, env)
			require.Equal(t, ownQueue, queues[0])
			require.Equal(t, "q/tool/look", queues[1])
			require.Len(t, queues, test.ran)
			require.Contains(t, entriesIn(t, env)[2].Message.ToolResult.Content, test.content)
			if test.sent == 1 {
				require.Less(t, env.Now().Sub(begun), time.Second)
			}
		})
	}
}

// TestACallThatNobodyTakes where its limit holds is made where that holds by now, and was made once.
func TestACallThatNobodyTakes(t *testing.T) {
	t.Parallel()
	untaken := temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	for name, test := range map[string]struct {
		limits []domain.ToolLimit // as workers say one after the other; zero: none
		queues []string
		waits  []time.Duration
	}{
		"no limit any more": {[]domain.ToolLimit{{AtOnce: 1}, {}}, []string{"q/tool/pay", ownQueue}, []time.Duration{2 * time.Minute, 0}},
		"still its turn":    {[]domain.ToolLimit{{Calls: 6, Per: time.Minute}, {AtOnce: 1}, {}}, []string{"q/tool/pay", "q/tool/pay", ownQueue}, []time.Duration{1000 * time.Second, 4 * time.Minute, 0}},
		"a slow rate":       {[]domain.ToolLimit{{Calls: 1, Per: time.Hour}, {}}, []string{"q/tool/pay", ownQueue}, []time.Duration{2 * time.Hour, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			effect := domain.ReadOnly // which is made again as often as it failed, were this a failure
			if len(test.limits) > 2 {
				effect = domain.AtMostOnce
			}
			w := &world{model: calling(pay("7"))}
			asked := 0
			w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
				resolved := catalog()
				resolved.Tools = offered("pay", effect)
				if limit := test.limits[asked]; limit != (domain.ToolLimit{}) {
					resolved.ToolLimits = map[string]contract.ToolLimit{"pay": {TaskQueue: "q/tool/pay", ToolLimit: limit}}
				}
				asked++
				return resolved, nil
			}
			var queues []string
			var waits []time.Duration
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				options := w.options[string(contract.CallTool)]
				queues, waits = append(queues, options.TaskQueue), append(waits, options.ScheduleToStartTimeout)
				if require.Zero(t, r.Attempts); len(queues) < len(test.queues) {
					return contract.ToolReply{}, untaken
				}
				return saw(r)
			}
			env := w.executed(t, input(t, ""))
			completes(t, env)
			require.Equal(t, test.queues, queues)
			require.Equal(t, test.waits, waits)
			require.Nil(t, executions(t, env)[0].Error)
			require.Equal(t, len(test.limits), asked)
		})
	}
}

// limitedCatalog is of a worker whose tool has a limit.
func limitedCatalog() contract.Resolved {
	c := catalog()
	c.ToolLimits = map[string]contract.ToolLimit{"look": {TaskQueue: "q/tool/look", ToolLimit: domain.ToolLimit{AtOnce: 1}}}
	return c
}
