package kills

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/kill"
	"everstep/testsuite/proof/report"
)

// A judged is a run that a test changes before it is judged.
type judged struct {
	*run
	got left
	one *agentLeft // the agent itself
}

// sample is an agent with one execution of three steps, in which the second makes two calls that may not be repeated.
func sample() Agent {
	return Agent{Name: "sample", Script: []byte("{}"), Tools: []Tool{{Name: payTool, Effect: domain.AtMostOnce}}, Executions: []Execution{{Prompt: "go"}}}
}

func sampleExecution() domain.ExecutionID { return domain.AgentID{}.Execution("run", 1) }

// paid is one of the two calls.
func paid(position int) domain.ToolExecutionID { return sampleExecution().Step(2).Tool(position) }

// sampleLeft is what the sample leaves undisturbed.
func sampleLeft() agentLeft {
	id := sampleExecution()
	text := func(role domain.Role, text string) domain.Message {
		return domain.Message{Role: role, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
	}
	result := func(position int) domain.Message {
		m := domain.ToolMessage(domain.ToolResult{CallID: "c", Name: payTool, Content: "paid"})
		return domain.Tag{ToolExecutionID: paid(position)}.Apply(m)
	}
	var got agentLeft
	for i, m := range []domain.Message{
		text(domain.RoleUser, "go"), text(domain.RoleAssistant, "one"), text(domain.RoleAssistant, "two"),
		result(0), result(1), text(domain.RoleAssistant, "three"),
	} {
		got.messages = append(got.messages, domain.Entry{Index: i, Message: m})
	}
	steps := make([]domain.StepExecution, 3)
	for n := range steps {
		steps[n].Step = domain.AgentStep{ID: id.Step(n + 1), Number: n + 1}
	}
	for position := range 2 {
		steps[1].Step.ToolExecutions = append(steps[1].Step.ToolExecutions, domain.ToolExecution{
			ID: paid(position), Call: domain.ToolCall{ID: "c", Name: payTool}, Value: "paid",
		})
		got.ledger = append(got.ledger, effect{Tool: payTool, Call: paid(position), Key: "k"})
	}
	got.steps = [][]domain.StepExecution{steps}
	head := func(n, step int) domain.EventHeader {
		return domain.EventHeader{Sequence: int64(n), ExecutionID: id, Step: step}
	}
	calls := []domain.EventCall{{ToolExecutionID: paid(0), Tool: payTool}, {ToolExecutionID: paid(1), Tool: payTool}}
	got.events = [][]domain.Event{{
		{Type: domain.EventExecutionStarted, EventHeader: head(1, 0), Data: domain.AgentExecutionStarted{Number: 1}},
		{Type: domain.EventStepStarted, EventHeader: head(2, 2)},
		{Type: domain.EventToolCallStarted, EventHeader: head(3, 2), Data: calls[0]},
		{Type: domain.EventToolCallStarted, EventHeader: head(4, 2), Data: calls[1]},
		{Type: domain.EventToolCallCompleted, EventHeader: head(5, 2), Data: domain.ToolCallCompleted{EventCall: calls[0]}},
		{Type: domain.EventToolCallCompleted, EventHeader: head(6, 2), Data: domain.ToolCallCompleted{EventCall: calls[1]}},
		{Type: domain.EventStepCompleted, EventHeader: head(7, 2), Data: domain.AgentStepCompleted{StepType: domain.StepToolExecution, ToolCalls: 2}},
		{Type: domain.EventExecutionStopped, EventHeader: head(8, 0), Data: domain.StopEvent{Reason: domain.Completed}},
	}}
	got.ledger = append(got.ledger, effect{Hook: "1/0/before_step"}, effect{Hook: "1/1/before_step"})
	got.results = []client.Result{{Outcome: contract.Outcome{Number: 1, Status: domain.StatusCompleted, StopReason: domain.Completed, Steps: 3}, End: contract.End{Answer: "three"}}}
	return got
}

func leftOf(agents map[string]agentLeft) left { return left{agents: agents} }

// unknown makes a call's outcome unknown, as the workflow records it, and loses the call.
func (j *judged) unknown(position int) {
	j.one.steps[0][1].Step.ToolExecutions[position].Error = domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "unknown")
	events := j.one.events[0]
	completed := events[4+position].Data.(domain.ToolCallCompleted)
	completed.Code = domain.CodeOutcomeUnknown
	events[4+position].Data = completed
	step, stopped := events[6], events[7]
	ended := step.Data.(domain.AgentStepCompleted)
	ended.StepType, ended.Errors = domain.StepError, 1
	step.Data, step.Sequence, stopped.Sequence = ended, 8, 9
	j.one.events[0] = append(events[:6:6], domain.Event{Type: domain.EventWaitOpened, EventHeader: domain.EventHeader{Sequence: 7, Step: 2}, Data: domain.WaitOpened{EventCall: domain.EventCall{ToolExecutionID: paid(position)}, Kind: domain.WaitOutcome}}, step, stopped)
	j.one.messages[3+position].Message.ToolResult = &domain.ToolResult{CallID: "c", Name: payTool, Content: "outcome unknown: its worker was lost", IsError: true}
	j.one.unresolved = []domain.Wait{{ToolExecutionID: paid(position)}}
	j.lost(paid(position))
}

// lost lets the worker process 7 be lost with a call.
func (j *judged) lost(call domain.ToolExecutionID) {
	j.one.lost = map[domain.ToolExecutionID]int{call: 7}
}

// inFlight kills the worker while the second call is at work, whose outcome is unknown then.
func (j *judged) inFlight() {
	j.unknown(1)
	j.killed(atWork)
}

func atWork(k *killed) { k.inFlight = []domain.ToolExecutionID{paid(1)} }

// killed notes a kill of worker process 7, after which the run went on.
func (j *judged) killed(change func(*killed)) {
	k := &killed{Kill: &kill.Kill{PID: 7}, point: Point(contract.AfterEffect)}
	if change != nil {
		change(k)
	}
	j.kills = append(j.kills, k)
}

func (j *judged) hook(key string) { j.one.ledger = append(j.one.ledger, effect{Hook: key}) }

func promises(broken []report.Broken) (all []report.Promise) {
	for _, b := range broken {
		all = append(all, b.Promise)
	}
	return all
}

// TestJudge shows that each check can fail: every way in which a promise can be broken is found, and none where all is as it
// should be.
func TestJudge(t *testing.T) {
	t.Parallel()
	met := func(k *killed) { k.hooks = []string{"1/1/before_step"} }
	for _, broken := range []struct {
		promises []report.Promise
		by       map[string]func(*judged)
	}{
		{nil, map[string]func(*judged){
			"undisturbed": func(*judged) {},
			"in flight":   func(j *judged) { j.inFlight() },
			"in flight, and no effect": func(j *judged) {
				j.inFlight()
				j.one.ledger = slices.Delete(j.one.ledger, 1, 2)
			},
			"calls end in another order": func(j *judged) {
				one, other := j.one.events[0][4], j.one.events[0][5]
				one.Sequence, other.Sequence = other.Sequence, one.Sequence
				j.one.events[0][4], j.one.events[0][5] = other, one
			},
			"a hook again, by a kill": func(j *judged) { j.hook("1/1/before_step"); j.killed(met) },
			"a request more":          func(j *judged) { j.killed(func(k *killed) { k.extra = map[string]int{"a": 1, "b": 1} }) },
			"nothing left to do": func(j *judged) {
				j.killed(nil)
				j.down = j.kills[0]
				j.root().released(hit{Boundary: contract.BeforeRequest, ExecutionID: sampleExecution(), Step: j.root().number(sampleExecution()) + 2})
			},
		}},
		{[]report.Promise{PromiseAccount}, map[string]func(*judged){
			"two accounts": func(j *judged) { j.one.told = []string{"step 1: usage"} },
		}},
		{[]report.Promise{PromiseSteps}, map[string]func(*judged){
			"a step is missing":       func(j *judged) { j.one.steps[0] = j.one.steps[0][:2] },
			"a step is counted twice": func(j *judged) { j.one.results[0].Outcome.Steps = 4 },
		}},
		{[]report.Promise{PromiseOutcome}, map[string]func(*judged){
			"no execution":          func(j *judged) { j.one.results = nil },
			"another end":           func(j *judged) { j.one.results[0].Outcome.Status = domain.StatusFailed },
			"another reason to end": func(j *judged) { j.one.results[0].Outcome.StopReason = domain.StopRequested },
			"another answer":        func(j *judged) { j.one.results[0].Answer = "four" },
			"an agent too many":     func(j *judged) { j.got.agents["root, step 1, call 1"] = agentLeft{} },
		}},
		{[]report.Promise{PromiseTranscript}, map[string]func(*judged){
			"a message is missing":   func(j *judged) { j.one.messages = j.one.messages[:5] },
			"a message differs":      func(j *judged) { j.one.messages[1].Message = domain.UserMessage("one") },
			"a message out of place": func(j *judged) { j.one.messages[1].Index = 7 },
			"a result differs":       func(j *judged) { j.one.messages[3].Message.ToolResult.Content = "paid twice" },
		}},
		{[]report.Promise{PromiseUnknown}, map[string]func(*judged){
			"unknown without a kill":                 func(j *judged) { j.unknown(0) },
			"unknown by a worker that nobody killed": func(j *judged) { j.inFlight(); j.one.lost[paid(1)] = 8 },
			"unknown and not lost":                   func(j *judged) { j.inFlight(); j.one.lost = nil },
			"in flight and taken as done":            func(j *judged) { j.killed(atWork) },
			"lost and taken as done":                 func(j *judged) { j.lost(paid(1)); j.killed(nil) },
			"lost and in no step":                    func(j *judged) { j.lost(sampleExecution().Step(3).Tool(0)); j.killed(nil) },
			"the model is not told":                  func(j *judged) { j.inFlight(); j.one.messages[4].Message.ToolResult.Content = "paid" },
		}},
		{[]report.Promise{PromiseUnknown, PromiseTranscript}, map[string]func(*judged){
			"the model is told of one too many": func(j *judged) { j.one.messages[3].Message.ToolResult.Content = "outcome unknown" },
		}},
		{[]report.Promise{PromiseStatus}, map[string]func(*judged){
			"its status does not tell": func(j *judged) { j.inFlight(); j.one.unresolved = nil },
			"its status tells another": func(j *judged) { j.one.unresolved = []domain.Wait{{ToolExecutionID: paid(0)}} },
		}},
		{[]report.Promise{PromiseEvents, PromiseEvents}, map[string]func(*judged){
			"its events do not tell": func(j *judged) { j.inFlight(); j.one.events[0][6].Data = domain.EventCall{Tool: payTool} },
		}},
		{[]report.Promise{PromiseEffects}, map[string]func(*judged){
			"an effect twice":          func(j *judged) { j.one.ledger = append(j.one.ledger, j.one.ledger[1]) },
			"no effect":                func(j *judged) { j.one.ledger = j.one.ledger[1:] },
			"a void effect":            func(j *judged) { j.one.ledger[0].Void = true },
			"a hook again, by no kill": func(j *judged) { j.hook("1/0/before_step"); j.killed(met) },
			"a hook without effect":    func(j *judged) { j.one.ledger = j.one.ledger[:3] },
			"a hook too many":          func(j *judged) { j.hook("1/2/before_step") },
		}},
		{[]report.Promise{PromiseEvents}, map[string]func(*judged){
			"a gap in the events": func(j *judged) { j.one.events[0] = slices.Delete(j.one.events[0], 2, 3) },
			"an event more": func(j *judged) {
				j.one.events[0] = append(j.one.events[0], domain.Event{Type: domain.EventStepStarted, EventHeader: domain.EventHeader{Sequence: 9, Step: 3}})
			},
			"no events":      func(j *judged) { j.one.events[0] = nil },
			"another reason": func(j *judged) { j.one.events[0][7].Data = domain.StopEvent{Reason: domain.StopRequested} },
			"another step":   func(j *judged) { j.one.events[0][1].Step = 1 },
			"a call ends as it does not": func(j *judged) {
				event := j.one.events[0][5].Data.(domain.ToolCallCompleted)
				event.Code = domain.CodeTimeout
				j.one.events[0][5].Data = event
			},
		}},
		{[]report.Promise{PromiseRequests}, map[string]func(*judged){
			"two requests more": func(j *judged) { j.killed(func(k *killed) { k.extra = map[string]int{"a": 2} }) },
			"noted before":      func(j *judged) { j.noted = []report.Broken{{Promise: PromiseRequests}} },
		}},
		{[]report.Promise{PromiseGoesOn}, map[string]func(*judged){
			"it never went on": func(j *judged) { j.killed(nil); j.down = j.kills[0] },
			"never killed":     func(j *judged) { j.agent.points = treePoints() },
		}},
		{[]report.Promise{PromiseOrphans}, map[string]func(*judged){
			"it still runs": func(j *judged) { j.got.running = []string{"agent/x"} },
		}},
	} {
		for name, change := range broken.by {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				one := sampleLeft()
				j := &judged{run: newRun(sample()), one: &one, got: leftOf(map[string]agentLeft{})}
				change(j)
				j.got.agents[root] = one
				v := check(j.run, j.got, leftOf(map[string]agentLeft{root: sampleLeft()}))
				require.Equal(t, broken.promises, promises(v.broken), "%v", v.broken)
				require.Equal(t, !slices.Contains(broken.promises, PromiseTranscript), v.transcript)
				require.True(t, v.events || slices.Contains(broken.promises, PromiseEvents))
			})
		}
	}
}

// TestTreesAreJudged: each agent is compared with the one in its place, by all that TestJudge shows, and what all used with the
// budget.
func TestTreesAreJudged(t *testing.T) {
	t.Parallel()
	const leaf = "root, step 1, call 1"
	usage := domain.Usage{InputTokens: 10}
	agentOf := func() agentLeft {
		a := sampleLeft()
		a.own, a.events = client.TreeUse{Usage: usage, CostNanoUSD: new(int64(5))}, nil
		return a
	}
	treeOf := func() left {
		parent := agentOf()
		parent.results[0].Outcome.Usage, parent.results[0].Outcome.CostNanoUSD = usage.Add(usage), 10
		return left{
			agents: map[string]agentLeft{root: parent, leaf: agentOf()},
			total:  &client.TreeUse{Usage: usage.Add(usage), CostNanoUSD: new(int64(10))},
		}
	}
	for name, test := range map[string]struct {
		change func(j *judged, leaf *agentLeft)
		want   []report.Promise
	}{
		"undisturbed":         {func(*judged, *agentLeft) {}, nil},
		"another transcript":  {func(_ *judged, a *agentLeft) { a.messages[0].Message = domain.UserMessage("stay") }, []report.Promise{PromiseTranscript}},
		"an agent is missing": {func(j *judged, _ *agentLeft) { delete(j.got.agents, leaf) }, []report.Promise{PromiseOutcome, PromisePool, PromisePool}},
		"a leak of the pool":  {func(j *judged, _ *agentLeft) { j.one.results[0].Outcome.Usage.InputTokens = 19 }, []report.Promise{PromisePool}},
		"the tree tells less": {func(j *judged, _ *agentLeft) { j.got.total.Usage = usage }, []report.Promise{PromisePool}},
		"a cost that is lost": {func(j *judged, _ *agentLeft) { j.one.results[0].Outcome.CostNanoUSD = 9 }, []report.Promise{PromisePool}},
		"above the budget":    {func(j *judged, _ *agentLeft) { j.agent.Executions[0].Budget.MaxSteps = new(int64(5)) }, []report.Promise{PromisePool}},
		"never killed":        {func(j *judged, _ *agentLeft) { j.kills = nil }, []report.Promise{PromiseGoesOn}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, got := newRun(Trees()[0]), treeOf()
			parent, child := got.agents[root], got.agents[leaf]
			j := &judged{run: r, one: &parent, got: got}
			j.killed(nil)
			test.change(j, &child)
			j.got.agents[root] = parent
			if _, there := j.got.agents[leaf]; there {
				j.got.agents[leaf] = child
			}
			v := check(r, j.got, treeOf())
			require.Equal(t, test.want, promises(v.broken), "%v", v.broken)
		})
	}
}

// TestATightBudgetIsJudged by what was billed, counted and there, whichever of its ends the agent came to.
func TestATightBudgetIsJudged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		counted int64
		reason  domain.StopReason
		want    []report.Promise
	}{
		"within":              {counted: 200, reason: domain.TokenLimitReached},
		"billed and no more":  {counted: 160, reason: domain.Completed},
		"billed and not told": {counted: 159, reason: domain.Completed, want: []report.Promise{PromiseBudget}},
		"overdrawn":           {counted: 201, reason: domain.TokenLimitReached, want: []report.Promise{PromiseBudget}},
		"ended otherwise":     {counted: 200, reason: domain.ErrorForbade, want: []report.Promise{PromiseOutcome}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := sample()
			a.requestTokens, a.Executions[0].Budget.MaxTokens = 80, new(int64(200))
			r, base, got := newRun(a), sampleLeft(), sampleLeft()
			r.root().steps[stepKey{sampleExecution(), 1, false}] = &stepSeen{requests: 2}
			o := &got.results[0].Outcome
			o.StopReason, o.Usage.InputTokens = test.reason, test.counted
			if o.Status = domain.StatusStopped; test.reason == domain.Completed {
				o.Status = domain.StatusCompleted
			}
			v := check(r, leftOf(map[string]agentLeft{root: got}), leftOf(map[string]agentLeft{root: base}))
			require.Equal(t, test.want, promises(v.broken), "%v", v.broken)
		})
	}
}

// TestCallsAreJudged: what became of each call is what is said beforehand.
func TestCallsAreJudged(t *testing.T) {
	t.Parallel()
	agents := Calls()
	for name, test := range map[string]struct {
		change func(j *judged)
		want   []report.Promise
	}{
		"as promised":         {func(*judged) {}, nil},
		"twice by one key":    {func(j *judged) { j.one.ledger = append(j.one.ledger, effect{Key: "k"}) }, []report.Promise{PromiseEffects}},
		"never":               {func(j *judged) { j.one.ledger = nil }, []report.Promise{PromiseEffects}},
		"a result is missing": {func(j *judged) { j.one.messages = j.one.messages[:1] }, []report.Promise{PromiseSteps}},
		"no calls": {func(j *judged) {
			j.one.messages, j.one.steps[0][0].Step.ToolExecutions, j.one.steps[0][1].Step.ToolExecutions, j.one.unresolved = nil, nil, nil, nil
		}, []report.Promise{PromiseUnknown, PromiseEvents, PromiseSteps}},
		"it ran again":          {func(j *judged) { j.one.steps[0][1].Step.ToolExecutions[0].Error = nil }, []report.Promise{PromiseEffects, PromiseUnknown, PromiseUnknown}},
		"not run for another":   {func(j *judged) { j.one.steps[0][1].Step.ToolExecutions[0].Error.Code = domain.CodeNotRun }, []report.Promise{PromiseUnknown}},
		"the model is not told": {func(j *judged) { j.one.messages[0].Message.ToolResult.Content = "done" }, []report.Promise{PromiseUnknown}},
		"no event":              {func(j *judged) { j.one.events[0] = j.one.events[0][:1] }, []report.Promise{PromiseEvents}},
		"not in its status":     {func(j *judged) { j.one.unresolved = nil }, []report.Promise{PromiseStatus}},
		"another end":           {func(j *judged) { j.one.results[0].Answer = "No." }, []report.Promise{PromiseOutcome}},
		"unknown for no reason": {func(j *judged) { j.agent.expected.unknown = false }, []report.Promise{PromiseUnknown, PromiseUnknown}},
		"no kill":               {func(j *judged) { j.kills, j.one.lost = nil, nil }, []report.Promise{PromiseGoesOn, PromiseUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := agentNamed(agents, "at_most_once-in_effect")
			agent.expected = new(*agent.expected)
			j := &judged{run: newRun(agent), one: unknownLeft(agent)}
			j.killed(nil)
			test.change(j)
			v := check(j.run, leftOf(map[string]agentLeft{root: *j.one}), agent.expected.left)
			require.Equal(t, test.want, promises(v.broken), "%v", v.broken)
		})
	}
}

// unknownLeft is what an agent leaves of which nobody knows whether its first call took effect, all as promised: its model
// insisted, and the second call was not run.
func unknownLeft(agent Agent) *agentLeft {
	id := sampleExecution()
	var a agentLeft
	a.results = slices.Clone(agent.expected.agents[root].results)
	steps := make([]domain.StepExecution, a.results[0].Outcome.Steps)
	for n := range steps {
		steps[n].Step.Number = n + 1
	}
	for n, err := range []*domain.Error{
		domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "outcome unknown"), domain.CodedErrorf(domain.Denied, domain.CodeOutcomeUnresolved, "not run"),
	} {
		call := id.Step(n + 1).Tool(0)
		began := domain.ToolExecution{ID: call, Call: domain.ToolCall{Name: agent.Tools[0].Name}, Error: err}
		began.CompletedAt = began.CompletedAt.AddDate(1, 0, 0)
		if n == 0 {
			began.StartedAt = began.CompletedAt
		}
		steps[n].Step.ToolExecutions = []domain.ToolExecution{began}
		content := []string{"outcome unknown: its worker was lost", "not run"}[n]
		m := domain.ToolMessage(domain.ToolResult{Name: agent.Tools[0].Name, Content: content})
		a.messages = append(a.messages, domain.Entry{Message: domain.Tag{ToolExecutionID: call}.Apply(m)})
	}
	first := id.Step(1).Tool(0)
	a.steps = [][]domain.StepExecution{steps}
	a.events = [][]domain.Event{{{Type: domain.EventExecutionStarted, Data: domain.AgentExecutionStarted{}}, {Type: domain.EventWaitOpened, Data: domain.WaitOpened{EventCall: domain.EventCall{ToolExecutionID: first}, Kind: domain.WaitOutcome}}}}
	a.unresolved = []domain.Wait{{ToolExecutionID: first}}
	a.lost = map[domain.ToolExecutionID]int{first: 7}
	a.ledger = []effect{{Tool: agent.Tools[0].Name, Call: first, Key: "k"}}
	return &a
}

// TestEffectsOfAKey: a keyed one is made once a key, whatever was asked for; one that was made void is none.
func TestEffectsOfAKey(t *testing.T) {
	t.Parallel()
	of := func(kind domain.Effect, keys ...string) int {
		one := agentLeft{ledger: []effect{{Tool: payTool, Void: true}}}
		for _, key := range keys {
			one.ledger = append(one.ledger, effect{Tool: payTool, Key: key})
		}
		agent := Agent{Tools: []Tool{{Name: payTool, Effect: kind}}, Executions: []Execution{{}}}
		return (&checker{run: newRun(agent), got: leftOf(map[string]agentLeft{root: one})}).effects()
	}
	require.Equal(t, 1, of(domain.Keyed, "a", "a"))
	require.Equal(t, 2, of(domain.AtMostOnce, "a", "a"))
	require.Equal(t, 2, of(domain.Keyed, "a", "a", "b"))
}

// TestTheListIsJudged: it has the agents with unknown calls, each with as many as it has.
func TestTheListIsJudged(t *testing.T) {
	t.Parallel()
	r, one := newRun(sample()), sampleLeft()
	j := &judged{run: r, one: &one}
	j.unknown(1)
	unknown := &checker{run: r, got: leftOf(map[string]agentLeft{root: one})}
	none := &checker{run: newRun(sample()), got: leftOf(map[string]agentLeft{root: sampleLeft()})}
	all := []*checker{unknown, none}
	require.Empty(t, wronglyListed(all, map[string]int{r.id: 1, "another": 1}))
	for _, listed := range []map[string]int{{}, {r.id: 2}, {r.id: 1, none.run.id: 1}} {
		require.Equal(t, []report.Promise{PromiseStatus}, promises(wronglyListed(all, listed)))
	}
}

// TestStatusIsJudged covers each wrong answer.
func TestStatusIsJudged(t *testing.T) {
	t.Parallel()
	view := func(number, steps int, status domain.ExecutionStatus) account.Status {
		return account.Status{Execution: account.Execution{Outcome: contract.Outcome{Number: number, Steps: steps, Status: status}}}
	}
	second := standing{execution: 1, requested: 2}
	for name, test := range map[string]struct {
		earlier       account.Status
		view          account.Status
		before, after standing
		err           error
		took          time.Duration
		broken        bool
	}{
		"one step done":               {view: view(1, 1, domain.StatusInProgress), before: second, after: second},
		"the step has just ended":     {view: view(1, 2, domain.StatusInProgress), before: second, after: second},
		"nothing seen yet":            {view: view(1, 0, domain.StatusPending)},
		"ended":                       {view: view(1, 3, domain.StatusCompleted), before: standing{1, 3}, after: standing{1, 3}},
		"back":                        {earlier: view(1, 2, domain.StatusInProgress), view: view(1, 1, domain.StatusInProgress), before: second, after: second, broken: true},
		"too few":                     {view: view(1, 0, domain.StatusInProgress), before: second, after: second, broken: true},
		"too many":                    {view: view(1, 3, domain.StatusInProgress), before: second, after: second, broken: true},
		"ended too early":             {view: view(1, 2, domain.StatusCompleted), before: second, after: second, broken: true},
		"ended as it never":           {view: view(1, 3, domain.StatusFailed), before: standing{1, 3}, after: standing{1, 3}, broken: true},
		"stopped in its middle":       {view: view(1, 1, "waiting"), before: second, after: second, broken: true},
		"too late":                    {view: view(1, 1, domain.StatusInProgress), before: second, after: second, took: 2 * statusPatience, broken: true},
		"not at all":                  {view: view(1, 1, domain.StatusInProgress), before: second, after: second, err: errors.New("nobody answers"), broken: true},
		"an execution that never was": {view: view(2, 0, domain.StatusInProgress), before: second, after: second, broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(sample())
			if test.earlier.Number > 0 {
				r.answers = append(r.answers, statusAnswer{view: test.earlier, before: second, after: second})
			}
			r.answers = append(r.answers, statusAnswer{view: test.view, err: test.err, took: test.took, before: test.before, after: test.after})
			base := leftOf(map[string]agentLeft{root: sampleLeft()})
			v := check(r, base, base)
			require.Equal(t, test.broken, slices.Contains(promises(v.broken), PromiseStatus), v.broken)
		})
	}
}

// TestRows: a row adds up what the kills at its point did, and what belongs to a run counts once.
func TestRows(t *testing.T) {
	t.Parallel()
	config, err := Config{Kills: 1, Agents: Calls()}.checked()
	require.NoError(t, err)
	p := &proof{config: config, plan: newPlan(1, config.Points, 1)}
	for range 2 {
		for _, agent := range config.Agents {
			if !agent.expected.unknown {
				continue
			}
			r, one := newRun(agent), unknownLeft(agent)
			j := &judged{run: r, one: one}
			j.killed(func(k *killed) { k.point, k.WentOn = agent.points[0].Point, 1e9 })
			p.verdicts = append(p.verdicts, &checker{run: r, got: leftOf(map[string]agentLeft{root: *one}), unknown: one.lost})
		}
	}
	p.plan.unreachable("keyed, in_effect")
	last := p.verdicts[len(p.verdicts)-1].run
	last.seatless, last.kills[0].WentOn = true, 6e9
	found := p.report(1e9)
	require.Len(t, found.Rows, len(config.Points)+2)
	figures := func(name string) map[string]any {
		all := map[string]any{}
		for _, cell := range found.Row(name)[1:] {
			all[cell.Key] = cell.Value
		}
		return all
	}
	one := map[string]any{
		"kills": 2, "asked": 4, "most_effects": 1, "outcome_unknown": 2, "not_run": 2, "extra_requests": 0,
		"p50_seconds": p.verdicts[0].run.kills[0].WentOn, "p99_seconds": p.verdicts[0].run.kills[0].WentOn,
	}
	require.Equal(t, one, figures("at_most_once, in_effect"))
	all := maps.Clone(one)
	all["kills"], all["asked"], all["outcome_unknown"], all["not_run"] = 6, 12, 6, 6
	require.Equal(t, all, figures("all"))
	alone := maps.Clone(one)
	alone["kills"], alone["asked"], alone["outcome_unknown"], alone["not_run"] = 1, 2, 1, 1
	alone["p50_seconds"], alone["p99_seconds"] = last.kills[0].WentOn, last.kills[0].WentOn
	require.Equal(t, alone, figures(string(seatless)))
	require.Nil(t, found.Row("read_only, in_effect").Value("most_effects"))
	require.Equal(t, 0, found.Row("keyed, in_effect").Value("kills"))
	require.Equal(t, []report.Broken{{Promise: PromiseReached, Detail: "no agent reached keyed, in_effect, so kills were not made: 1"}}, found.Broken)
}
