package kills

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// sample is an agent with one execution of three steps, in which the second
// makes two calls that may not be repeated.
func sample() (Agent, played) {
	agent := Agent{Name: "sample", Script: []byte("{}"), Tools: []Tool{{payTool, domain.AtMostOnce}}, Executions: []Execution{{Prompt: "go"}}}
	id := sampleExecution()
	text := func(role domain.Role, text string) domain.Message {
		return domain.Message{Role: role, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
	}
	result := func(position int) domain.Message {
		m := domain.ToolMessage(domain.ToolResult{CallID: "c", Name: payTool, Content: "paid"})
		return domain.Tag{ToolExecutionID: id.Step(2).Tool(position)}.Apply(m)
	}
	var got played
	for i, m := range []domain.Message{
		text(domain.RoleUser, "go"), text(domain.RoleAssistant, "one"), text(domain.RoleAssistant, "two"),
		result(0), result(1), text(domain.RoleAssistant, "three"),
	} {
		got.messages = append(got.messages, domain.Entry{Index: i, Message: m})
	}
	var steps []domain.StepExecution
	for n := range 3 {
		step := domain.AgentStep{ID: id.Step(n + 1), Number: n + 1}
		if n == 1 {
			for position := range 2 {
				step.ToolExecutions = append(step.ToolExecutions, domain.ToolExecution{
					ID: id.Step(2).Tool(position), Call: domain.ToolCall{ID: "c", Name: payTool}, Value: "paid",
				})
			}
		}
		steps = append(steps, domain.StepExecution{Step: step})
	}
	got.steps = [][]domain.StepExecution{steps}
	head := func(n, step int) domain.EventHeader {
		return domain.EventHeader{Sequence: int64(n), ExecutionID: id, Step: step}
	}
	got.events = [][]domain.Event{{
		domain.AgentExecutionStarted{EventHeader: head(1, 0), Number: 1},
		domain.AgentStepStarted{EventHeader: head(2, 2)},
		domain.ToolCallStarted{EventHeader: head(3, 2), ToolExecutionID: id.Step(2).Tool(0), Tool: payTool},
		domain.ToolCallStarted{EventHeader: head(4, 2), ToolExecutionID: id.Step(2).Tool(1), Tool: payTool},
		domain.ToolCallCompleted{EventHeader: head(5, 2), ToolExecutionID: id.Step(2).Tool(0), Tool: payTool},
		domain.ToolCallCompleted{EventHeader: head(6, 2), ToolExecutionID: id.Step(2).Tool(1), Tool: payTool},
		domain.AgentStepCompleted{EventHeader: head(7, 2), StepType: domain.StepToolExecution, ToolCalls: 2},
		domain.AgentExecutionStopped{EventHeader: head(8, 0), Reason: domain.Completed},
	}}
	got.hooks = map[string]int{"1/0/before_step": 1, "1/1/before_step": 1}
	got.results = []client.Result{{Outcome: contract.Outcome{Number: 1, Status: domain.StatusCompleted, StopReason: domain.Completed, Steps: 3}, Answer: "three"}}
	return agent, got
}

func sampleExecution() domain.ExecutionID {
	agent, err := domain.AgentIDOf("sample")
	if err != nil {
		panic(err)
	}
	return agent.Execution("run", 1)
}

// unknownCall makes a call's outcome unknown, as the workflow records it.
func (p *played) unknownCall(position int) {
	p.steps[0][1].Step.ToolExecutions[position].Error = domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "unknown")
	event := p.events[0][4+position].(domain.ToolCallCompleted)
	event.Code = domain.CodeOutcomeUnknown
	p.events[0][4+position] = event
	step := p.events[0][6].(domain.AgentStepCompleted)
	step.StepType, step.Errors = domain.StepError, 1
	p.events[0][6] = step
	p.messages[3+position].Message.ToolResult = &domain.ToolResult{CallID: "c", Name: payTool, Content: "unknown", IsError: true}
}

// TestJudge shows that the proof finds what it looks for: each way in which a
// promise can be broken, and none where all is as it should be.
func TestJudge(t *testing.T) {
	t.Parallel()
	call := func(position int) domain.ToolExecutionID { return sampleExecution().Step(2).Tool(position) }
	atWork := &kill{boundary: contract.AfterEffect, pid: 7, inFlight: []domain.ToolExecutionID{call(1)}}
	lost := map[domain.ToolExecutionID]int{call(1): 7}
	for name, test := range map[string]struct {
		mutate   func(*played)
		kills    []*kill
		inFlight map[domain.ToolExecutionID]int
		entries  []int // positions in the ledger; nil: each once
		want     []Promise
		unknown  int
	}{
		"undisturbed": {},
		"in flight":   {mutate: func(p *played) { p.unknownCall(1) }, kills: []*kill{atWork}, inFlight: lost, unknown: 1},
		"in flight, and no effect": {
			mutate: func(p *played) { p.unknownCall(1) }, kills: []*kill{atWork}, inFlight: lost, entries: []int{0}, unknown: 1,
		},
		"two accounts":      {mutate: func(p *played) { p.told = []string{"step 1: usage"} }, want: []Promise{PromiseAccount}},
		"a step is missing": {mutate: func(p *played) { p.steps[0] = p.steps[0][:2] }, want: []Promise{PromiseSteps}},
		"a step is counted twice": {
			mutate: func(p *played) { p.results[0].Outcome.Steps = 4 }, want: []Promise{PromiseSteps},
		},
		"another end": {
			mutate: func(p *played) { p.results[0].Outcome.Status = domain.StatusFailed }, want: []Promise{PromiseOutcome},
		},
		"another answer":       {mutate: func(p *played) { p.results[0].Answer = "four" }, want: []Promise{PromiseOutcome}},
		"a message is missing": {mutate: func(p *played) { p.messages = p.messages[:5] }, want: []Promise{PromiseTranscript}},
		"a message differs": {
			mutate: func(p *played) { p.messages[1].Message = domain.UserMessage("one") }, want: []Promise{PromiseTranscript},
		},
		"a result differs": {
			mutate: func(p *played) {
				p.messages[3].Message.ToolResult = &domain.ToolResult{CallID: "c", Name: payTool, Content: "paid twice"}
			},
			want: []Promise{PromiseTranscript},
		},
		"unknown without a kill": {mutate: func(p *played) { p.unknownCall(0) }, want: []Promise{PromiseUnknown}},
		"unknown by a worker that nobody killed": {
			mutate: func(p *played) { p.unknownCall(1) }, kills: []*kill{atWork},
			inFlight: map[domain.ToolExecutionID]int{call(1): 8}, want: []Promise{PromiseUnknown},
		},
		"in flight and taken as done": {kills: []*kill{atWork}, want: []Promise{PromiseUnknown}},
		"lost and taken as done":      {kills: []*kill{{pid: 7}}, inFlight: lost, want: []Promise{PromiseUnknown}},
		"an effect twice":             {entries: []int{0, 1, 1}, want: []Promise{PromiseEffects}},
		"a result and no effect":      {entries: []int{0}, want: []Promise{PromiseEffects}},
		"a gap in the events": {
			mutate: func(p *played) { p.events[0] = slices.Delete(p.events[0], 2, 3) }, want: []Promise{PromiseEvents},
		},
		"an event more": {
			mutate: func(p *played) {
				p.events[0] = append(p.events[0], domain.AgentStepStarted{EventHeader: domain.EventHeader{Sequence: 9, Step: 3}})
			},
			want: []Promise{PromiseEvents},
		},
		"no events": {mutate: func(p *played) { p.events[0] = nil }, want: []Promise{PromiseEvents}},
		"another reason": {
			mutate: func(p *played) {
				p.events[0][7] = domain.AgentExecutionStopped{EventHeader: p.events[0][7].Head(), Reason: domain.StopRequested}
			},
			want: []Promise{PromiseEvents},
		},
		"another step": {
			mutate: func(p *played) {
				p.events[0][1] = domain.AgentStepStarted{EventHeader: domain.EventHeader{Sequence: 2, Step: 1}}
			},
			want: []Promise{PromiseEvents},
		},
		"a call ends as it does not": {
			mutate: func(p *played) {
				event := p.events[0][5].(domain.ToolCallCompleted)
				event.Code = domain.CodeTimeout
				p.events[0][5] = event
			},
			want: []Promise{PromiseEvents},
		},
		"calls end in another order": {
			mutate: func(p *played) {
				one, other := p.events[0][4].(domain.ToolCallCompleted), p.events[0][5].(domain.ToolCallCompleted)
				one.Sequence, other.Sequence = other.Sequence, one.Sequence
				p.events[0][4], p.events[0][5] = other, one
			},
		},
		"a hook again, by a kill": {
			mutate: func(p *played) { p.hooks["1/1/before_step"]++ },
			kills:  []*kill{{boundary: contract.AfterHook, hook: "1/1/before_step"}},
		},
		"a hook again, by no kill": {
			mutate: func(p *played) { p.hooks["1/1/before_step"]++ },
			kills:  []*kill{{boundary: contract.AfterHook, hook: "1/0/before_step"}}, want: []Promise{PromiseEffects},
		},
		"a hook without effect": {mutate: func(p *played) { delete(p.hooks, "1/1/before_step") }, want: []Promise{PromiseEffects}},
		"a hook too many":       {mutate: func(p *played) { p.hooks["1/2/before_step"] = 1 }, want: []Promise{PromiseEffects}},
		"two requests more":     {kills: []*kill{{pid: 7, extra: 2}}, want: []Promise{PromiseRequests}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent, base := sample()
			_, got := sample()
			if test.mutate != nil {
				test.mutate(&got)
			}
			p := &chaos{config: ChaosConfig{Progress: func(string) {}}, ledger: filepath.Join(t.TempDir(), "ledger")}
			trial := newTrial(agent, "sample")
			trial.kills = test.kills
			if test.entries == nil {
				test.entries = []int{0, 1}
			}
			for _, position := range test.entries {
				require.NoError(t, enter(p.ledger, effect{Tool: payTool, Call: call(position), WorkflowID: trial.workflowID}))
				require.NoError(t, enter(p.ledger, effect{Tool: payTool, Call: call(position), WorkflowID: "another"}))
			}
			v, err := p.hold(trial, got, base, test.inFlight)
			require.NoError(t, err)
			var broken []Promise
			for _, b := range p.broken {
				broken = append(broken, b.Promise)
			}
			require.Equal(t, test.want, broken, p.broken)
			require.Equal(t, test.unknown, v.unknown[7])
		})
	}
}

// TestStatusIsHeldAgainstWhatWasSeen covers each wrong answer.
func TestStatusIsHeldAgainstWhatWasSeen(t *testing.T) {
	t.Parallel()
	view := func(number, steps int, status domain.ExecutionStatus) contract.StatusView {
		return contract.StatusView{Number: number, StepCount: steps, Status: status}
	}
	second := standing{execution: 1, requested: 2}
	for name, test := range map[string]struct {
		earlier       newest
		view          contract.StatusView
		before, after standing
		broken        bool
	}{
		"one step done":               {view: view(1, 1, domain.StatusInProgress), before: second, after: second},
		"the step has just ended":     {view: view(1, 2, domain.StatusInProgress), before: second, after: second},
		"nothing seen yet":            {view: view(1, 0, domain.StatusPending)},
		"ended":                       {view: view(1, 3, domain.StatusCompleted), before: standing{1, 3}, after: standing{1, 3}},
		"back":                        {earlier: newest{1, 2}, view: view(1, 1, domain.StatusInProgress), before: second, after: second, broken: true},
		"too few":                     {view: view(1, 0, domain.StatusInProgress), before: second, after: second, broken: true},
		"too many":                    {view: view(1, 3, domain.StatusInProgress), before: second, after: second, broken: true},
		"ended too early":             {view: view(1, 2, domain.StatusCompleted), before: second, after: second, broken: true},
		"ended as it never":           {view: view(1, 3, domain.StatusFailed), before: standing{1, 3}, after: standing{1, 3}, broken: true},
		"an execution that never was": {view: view(2, 0, domain.StatusInProgress), before: second, after: second, broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent, base := sample()
			p := &chaos{config: ChaosConfig{Progress: func(string) {}}}
			w := statusWatch{run: p, trial: newTrial(agent, "sample"), base: base, newest: test.earlier}
			w.check(test.view, test.before, test.after)
			require.Equal(t, test.broken, len(p.broken) > 0, p.broken)
		})
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var times []time.Duration
	for n := range 200 {
		times = append(times, time.Duration(200-n)*time.Second)
	}
	require.Equal(t, 100*time.Second, percentile(times, 50))
	require.Equal(t, 198*time.Second, percentile(times, 99))
	require.Equal(t, 7*time.Second, percentile([]time.Duration{7 * time.Second}, 99))
	require.Zero(t, percentile(nil, 50))
}
