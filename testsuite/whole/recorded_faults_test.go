package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"golang.org/x/sync/errgroup"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/starter/client"
	"everstep/testsuite"
	"everstep/worker/host"
	"everstep/worker/host/codec"
)

// eachPlayed drives the recorded runs through the adapters, each through one of
// them; with EVERSTEP_RECORDED=all each through each.
func eachPlayed(t *testing.T, test func(t *testing.T, server *playedServer, run *playedRun, seed uint64)) {
	t.Helper()
	runs, all, every := repeated(recordedRuns(t), enough), everyRecorded(), 1
	if testing.Short() {
		every = 10
	}
	t.Run("runs", func(t *testing.T) {
		for a, api := range playedAPIs() {
			server := servePlayed(t, api)
			for i, recorded := range runs {
				if !all && (i%4 != a || i/4%every != 0) {
					continue
				}
				t.Run(api.name+"/"+recorded.ID, func(t *testing.T) {
					t.Parallel()
					test(t, server, recorded.played(i), uint64(100*a+i))
				})
			}
		}
	})
}

// played is the run as a server plays it. Some runs call tools in parallel, and
// of three of four the usage is told early.
func (r recordedRun) played(i int) *playedRun {
	if i%5 < 2 {
		r = r.merged()
	}
	whole := r.whole(25)
	for k := range whole.steps {
		u := &whole.steps[k].usage
		u.ReasoningTokens = u.OutputTokens / 4
	}
	return &playedRun{wholeRun: whole, seal: fmt.Sprintf("%04d", i), early: i/4%4 != 0, bodies: map[int]string{}}
}

// with is the same run with faults, and nothing asked yet.
func (p *playedRun) with(faults *faultPlan) *playedRun {
	return &playedRun{wholeRun: p.wholeRun, seal: p.seal, early: p.early, faults: faults, bodies: map[int]string{}}
}

// definition is an agent whose model is the run's, by name.
func (p *playedRun) definition(server *playedServer, name string) domain.Definition {
	definition := limited(domain.ExecutionBudget{})
	definition.Model.Provider, definition.Model.Model = server.api.name, server.add(name, p)
	definition.SystemPrompt, definition.Hooks = p.system, []string{p.user().Name}
	if p.faults != nil && p.faults.stalls > 0 {
		definition.Model.Timeouts.Idle = stallIdle
	}
	return definition
}

// stallIdle is how long the answers of runs in which one stalls may pause. No
// healthy one comes near it, also on a machine that gives this process no processor for seconds.
const stallIdle = 10 * time.Second

// play runs it in memory.
func (p *playedRun) play(t *testing.T, server *playedServer, name string, tools []tool.Tool) testsuite.Run {
	t.Helper()
	run := testsuite.New(t, testsuite.Config{
		Definition: p.definition(server, name), Provider: server.provider, Tools: tools, Hooks: []hook.Hook{p.user()},
	}).Run(p.prompt)
	p.requireSound(t, nil)
	require.Equal(t, domain.StatusCompleted, run.Outcome.Status, "%+v", run.Error)
	return run
}

// plainMessages are messages as JSON, without when they came.
func plainMessages(t *testing.T, messages []domain.Message) []string {
	t.Helper()
	plain := make([]string, len(messages))
	for i, m := range messages {
		m.CreatedAt = time.Time{}
		text, err := json.Marshal(m)
		require.NoError(t, err)
		plain[i] = string(text)
	}
	return plain
}

// TestRecordedRunsWithFaults: a fifth of all calls of models and tools fail, in
// all the ways that there are. Nothing of it is seen in the conversation, no
// tool does anything twice, and what was lost is counted to the token.
func TestRecordedRunsWithFaults(t *testing.T) {
	t.Parallel()
	report := &faultReport{faults: map[faultKind]int{}}
	eachPlayed(t, func(t *testing.T, server *playedServer, smooth *playedRun, seed uint64) {
		want := smooth.play(t, server, fmt.Sprint(seed), smooth.tools())
		smooth.requireRecorded(t, want.Messages)
		require.Len(t, smooth.asked, len(smooth.steps))

		stalls := 0
		if seed%12 == 0 {
			stalls = 1
		}
		rough, tools := smooth.with(newFaultPlan(seed, stalls)), newFlaky(seed)
		got := rough.play(t, server, fmt.Sprint(seed), tools.tools(rough.toolNames, rough.result))
		require.Equal(t, plainMessages(t, want.Messages), plainMessages(t, got.Messages))
		require.Equal(t, want.Answer, got.Answer)
		require.Equal(t, want.Outcome.Steps, got.Outcome.Steps)
		tools.requireOnce(t, rough.calls(), nil)
		reckoned := rough.reckon(want.Messages, nil)
		reckoned.require(t, got)
		report.add(rough, reckoned)
		report.addCalls(tools)
	})
	report.log(t)
	if !testing.Short() {
		// Chance has a share in it, which four standard deviations bound.
		require.InDelta(t, 20, report.percent(), max(2, 400*math.Sqrt(0.2*0.8/float64(report.requests))))
		if report.requests < 1000 {
			t.Log("with so FEW requests not every kind of fault has to come")
			return
		}
		require.Len(t, report.faults, len(faultKinds())-2, "not every kind came")
	}
}

// result is what the recording has for a call.
func (p *playedRun) result(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
	at, _ := tool.ExecutionOf(ctx)
	return tool.Result{Content: p.steps[at.Step-1].results[at.Position]}, nil
}

// requireRecorded holds a conversation against the recording.
func (p *playedRun) requireRecorded(t *testing.T, got []domain.Message) {
	t.Helper()
	want := p.messages(len(p.steps))
	require.Len(t, got, len(want))
	step := 0
	for i, m := range got {
		if m.Role == domain.RoleAssistant {
			want[i].ToolCalls = p.api.calls(step, want[i].ToolCalls)
			step++
		}
		require.True(t, sameMessage(recordedOf(m), want[i]), "message %d is %+v; want %+v", i, recordedOf(m), want[i])
	}
}

// TestRecordedRunsWithFaultsOnAServer does the same on a real server.
func TestRecordedRunsWithFaultsOnAServer(t *testing.T) {
	t.Parallel()
	recorded, each := recordedRuns(t), 2
	if testing.Short() {
		each = 1
	}
	report, tools := &faultReport{faults: map[faultKind]int{}}, newFlaky(7)
	tools.repeatable = true
	replay := newReplayer(t)
	config := host.Config{Providers: map[string]inference.Provider{}}
	var runs []*playedRun
	var definitions []domain.Definition
	var names []string
	for a, api := range playedAPIs() {
		server := servePlayed(t, api)
		config.Providers[api.name] = server.provider
		for i := range each {
			at := 5 + 11*a + 40*i
			run := recorded[at%len(recorded)].played(at)
			run.id = fmt.Sprint(run.id, "-", at)
			run.faults = newFaultPlan(uint64(at), i)
			definition := run.definition(server, fmt.Sprint(at))
			definition.Tools = run.toolNames
			config.Hooks = append(config.Hooks, run.user())
			names = append(names, run.toolNames...)
			runs, definitions = append(runs, run), append(definitions, definition)
		}
	}
	slices.Sort(names)
	config.Tools = tools.tools(slices.Compact(names), replay.call)
	s := startCompared(t, "plain", nil, config)
	ctx, results := within(t), make([]client.Result, len(runs))
	var group errgroup.Group
	for n, run := range runs {
		group.Go(func() error {
			id := s.named(run.id)
			if err := replay.expect(domain.WorkflowID(id), run.recorded()); err != nil {
				return err
			}
			if _, err := s.agents.Start(ctx, client.Start{ID: id, Prompt: run.prompt, Definition: definitions[n]}); err != nil {
				return err
			}
			var err error
			results[n], err = s.waits(ctx, id, 1)
			return err
		})
	}
	require.NoError(t, group.Wait())
	calls, lost := 0, map[domain.ToolExecutionID]bool{}
	for n, run := range runs {
		calls += run.calls()
		report.add(run, s.requireAsPlayed(t, run, results[n], lost))
	}
	tools.requireOnce(t, calls, lost)
	report.addCalls(tools)
	report.log(t)
}

// lossIn is the loss of an activity that has timed out, or was cut off: nil.
func lossIn(t *testing.T, timedOut *historypb.ActivityTaskTimedOutEventAttributes) contract.Loss {
	t.Helper()
	if timedOut == nil {
		return contract.Loss{}
	}
	loss, failure := contract.Loss{How: contract.TimedOut}, timedOut.GetFailure()
	for ; failure != nil; failure = failure.GetCause() {
		why := failure.GetTimeoutFailureInfo()
		loss.Untaken = loss.Untaken || why.GetTimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
		if beat := why.GetLastHeartbeatDetails(); loss.Beat == nil && beat != nil {
			loss.Beat = &contract.Heartbeat{}
			require.NoError(t, codec.New().DataConverter().FromPayloads(beat, loss.Beat))
		}
	}
	return loss
}

// requireAsPlayed holds a run on the server against the recording and the
// reckoning. A process that has no processor for longer than a heartbeat may be silent is
// lost, for the server, or for itself where it could not be heard: where history says so, what the attempt cost is an estimate, and its
// calls are noted.
func (s *stack) requireAsPlayed(t *testing.T, p *playedRun, got client.Result, calls map[domain.ToolExecutionID]bool) faultReckoning {
	t.Helper()
	lost, estimated, told := map[int]bool{}, domain.Usage{}, ""
	for _, ended := range s.endedActivities(t, s.named(p.id)) {
		if done := ended.end.GetActivityTaskCompletedEventAttributes(); done != nil && ended.name == string(contract.CallModel) {
			var r contract.ModelReply
			require.NoError(t, codec.New().DataConverter().FromPayloads(done.GetResult(), &r))
			if r.Tries > 1 || r.Error != nil {
				told += fmt.Sprintf("step %d: %d tries, %+v spent, %v\n", request[contract.ModelRequest](t, ended).Step, r.Tries, r.Spent, r.Error)
			}
		}
		timedOut := ended.end.GetActivityTaskTimedOutEventAttributes()
		cut := strings.Contains(ended.end.GetActivityTaskFailedEventAttributes().GetFailure().GetMessage(), "cut off by the server")
		switch {
		case timedOut == nil && !cut:
		case ended.name == string(contract.CallModel):
			asked := request[contract.ModelRequest](t, ended)
			lost[asked.Step-1], estimated = true, estimated.Add(lossIn(t, timedOut).Spent(asked, true))
		case ended.name == string(contract.CallTool):
			calls[request[contract.ToolRequest](t, ended).ID()] = true
		}
	}
	p.requireSound(t, lost)
	require.Equal(t, domain.StatusCompleted, got.Outcome.Status, "%v", got.Error)
	require.Equal(t, len(p.steps), got.Outcome.Steps)
	var messages []domain.Message
	for _, entry := range collect(t, s.agents.Messages(within(t), s.named(p.id))) {
		messages = append(messages, entry.Message)
	}
	p.requireRecorded(t, messages)
	want := p.reckon(messages, lost)
	if len(lost) == 0 {
		require.Equal(t, want.used, got.Outcome.Usage, "what history tells of attempts:\n%s", told)
		require.Equal(t, want.cost, got.Outcome.CostNanoUSD)
		return want
	}
	t.Logf("%s: attempts at %d steps were LOST", p.id, len(lost))
	least := want.used.Add(estimated)
	require.GreaterOrEqual(t, got.Outcome.Usage.InputTokens, least.InputTokens)
	require.GreaterOrEqual(t, got.Outcome.Usage.OutputTokens, least.OutputTokens)
	require.GreaterOrEqual(t, got.Outcome.CostNanoUSD, want.cost)
	require.True(t, got.Outcome.Usage.Estimated || !least.Estimated, "what nobody can say exactly is marked")
	return want
}
