package kills

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/testsuite/proof/report"
)

// What is promised whenever a worker dies.
const (
	PromiseGoesOn     report.Promise = "goes_on"         // the agent goes on with another worker
	PromiseSteps      report.Promise = "steps"           // no step is lost
	PromiseEffects    report.Promise = "effects"         // none is missing, none made again that may not be, of hooks but by a kill
	PromiseUnknown    report.Promise = "outcome_unknown" // those of calls in flight at a kill that may not be repeated, and no others
	PromiseTranscript report.Promise = "transcript"      // it is the undisturbed one
	PromiseEvents     report.Promise = "events"          // they are the undisturbed ones, counted from 1 without a gap
	PromiseOutcome    report.Promise = "outcome"         // status, reason and answer are the undisturbed ones
	PromiseRequests   report.Promise = "requests"        // a kill costs an agent at most one model request
	PromiseStatus     report.Promise = "status"          // status, step count and unknown calls are right
	PromiseAccount    report.Promise = "account"         // history alone tells of the steps what the execution has kept, and a replay what the workers would have told
	PromisePool       report.Promise = "pool"            // what the agents of a tree used adds up, and is not above its budget
	PromiseBudget     report.Promise = "budget"          // no execution uses more than its budget, and none less than it is billed
	PromiseOrphans    report.Promise = "orphans"         // nothing runs when the agent has ended
)

// A checker says what a run showed.
type checker struct {
	run     *run
	got     left
	broken  []report.Broken
	lost    int // counts the steps of the undisturbed run that are missing
	doubled int // counts the calls that may not be repeated and were
	// unknown are the outcomes that nobody knows, with the worker that was killed over each.
	unknown    map[domain.ToolExecutionID]int
	hooksAgain int // counts the effects of hooks that were made again
	// transcript and events say that they are the undisturbed ones.
	transcript, events bool
	summaries          int // counts those of the conversations

	place string // of the agent that is being judged
}

// check compares what a run left with what the undisturbed one did. What a kind of run has nothing of is empty in both, and so
// compares equal: the events of trees, and transcript and events where what must become of each call is said beforehand.
func check(r *run, got, base left) *checker {
	v := &checker{run: r, got: got, unknown: make(map[domain.ToolExecutionID]int), broken: r.noted, transcript: true, events: true, place: root}
	v.holds(len(r.kills) > 0 || !r.agent.once(), PromiseGoesOn, "the point was never reached, and no worker was killed")
	places := slices.Sorted(maps.Keys(base.agents))
	v.holds(slices.Equal(slices.Sorted(maps.Keys(got.agents)), places), PromiseOutcome, "there are %d agents, undisturbed %d", len(got.agents), len(base.agents))
	v.holds(len(got.running) == 0, PromiseOrphans, "still running: %v", got.running)
	for _, v.place = range places {
		if agent, ok := got.agents[v.place]; ok {
			v.checkAgent(agent, base.agents[v.place])
		}
	}
	v.place = root
	if r.agent.tight() {
		v.checkBudget()
		return v
	}
	v.checkStatus(base.agents[root])
	v.checkKills(base.agents[root])
	v.checkPool()
	return v
}

// holds notes that a promise was broken unless it was kept, and reports which.
func (v *checker) holds(kept bool, promise report.Promise, format string, args ...any) bool {
	if !kept {
		if v.place != root {
			format, args = "%s: "+format, append([]any{v.place}, args...)
		}
		v.broken = append(v.broken, v.run.broken(promise, format, args...))
	}
	return kept
}

func (v *checker) checkAgent(got, base agentLeft) {
	for _, difference := range got.told {
		v.holds(false, PromiseAccount, "%s", difference)
	}
	v.checkUnknown(got)
	if v.run.agent.tight() {
		return
	}
	v.checkSteps(got, base)
	v.checkEffects(got, base)
	if x := v.run.agent.expected; x != nil {
		v.checkExpected(got, *x)
		return
	}
	if !v.checkTranscript(got, base) {
		v.transcript = false
	}
	v.checkEvents(got, base)
}

func (v *checker) checkSteps(got, base agentLeft) {
	for i, want := range base.results {
		if !v.holds(i < len(got.results), PromiseOutcome, "there is no execution %d", i+1) {
			return
		}
		result, steps := got.results[i], got.steps[i]
		o, undisturbed := result.Outcome, want.Outcome
		v.holds(o.Status == undisturbed.Status && o.StopReason == undisturbed.StopReason, PromiseOutcome,
			"execution %d ended %s (%s), undisturbed %s (%s): %v", i+1, o.Status, o.StopReason, undisturbed.Status, undisturbed.StopReason, result.Error)
		v.holds(result.Answer == want.Answer, PromiseOutcome, "execution %d answered %q, undisturbed %q", i+1,
			domain.Shorten(result.Answer, 100), domain.Shorten(want.Answer, 100))
		lost := undisturbed.Steps
		for k, step := range steps {
			if step.Step.Number == k+1 {
				lost--
			}
		}
		v.holds(lost == 0 && o.Steps == undisturbed.Steps, PromiseSteps, "execution %d has %d steps and says %d, undisturbed %d", i+1, len(steps), o.Steps, undisturbed.Steps)
		v.lost += max(lost, 0)
	}
}

// checkUnknown compares the calls whose outcome nobody knows with those that were in flight at a kill, by the server's word and
// by the runner's own, and with what the model, the events and the status tell of them.
func (v *checker) checkUnknown(got agentLeft) {
	var unknown []domain.ToolExecutionID
	found := make(map[domain.ToolExecutionID]bool) // calls that may be lost without being unknown: their tools know
	for _, call := range got.calls() {
		tool, is := v.run.agent.tool(call.Name()), call.Outcome() == domain.ToolUnknown
		found[call.ID] = tool.Verified
		if pid, lost := got.lost[call.ID]; is {
			byKill := slices.ContainsFunc(v.run.kills, func(k *killed) bool { return k.PID == pid })
			v.holds(lost && byKill, PromiseUnknown, "the outcome of call %s is unknown, and no kill accounts for it", call.ID)
			v.unknown[call.ID] = pid
			unknown = append(unknown, call.ID)
		}
		for _, k := range v.run.kills {
			v.holds(is || !tool.once() || !slices.Contains(k.inFlight, call.ID), PromiseUnknown, "call %s was at work at the kill %s, and is not unknown", call.ID, k.point)
		}
	}
	for id, pid := range got.lost {
		_, is := v.unknown[id]
		v.holds(is || found[id], PromiseUnknown, "call %s was in flight when worker %d was killed, and is not unknown", id, pid)
	}
	for _, entry := range got.messages {
		if result := entry.Message.ToolResult; result != nil {
			_, is := v.unknown[domain.TagOf(entry.Message).ToolExecutionID]
			v.holds(strings.HasPrefix(result.Content, "outcome unknown") == is, PromiseUnknown, "of a call of %s (unknown: %t) the model read %q", result.Name, is, domain.Shorten(result.Content, 120))
		}
	}
	if len(got.events) > 0 {
		var told []domain.ToolExecutionID
		for _, event := range slices.Concat(got.events...) {
			if opened, is := event.Data.(domain.WaitOpened); is && opened.Kind == domain.WaitOutcome {
				told = append(told, opened.ToolExecutionID)
			}
		}
		v.holds(sameCalls(told, unknown), PromiseEvents, "its events tell of the unknown calls %s, and not %s", told, unknown)
	}
	var shown []domain.ToolExecutionID
	for _, call := range got.unresolved {
		shown = append(shown, call.ToolExecutionID)
	}
	v.holds(sameCalls(shown, unknown), PromiseStatus, "its status tells of the unknown calls %s, and not %s", shown, unknown)
}

func sameCalls(some, others []domain.ToolExecutionID) bool {
	order := func(a, b domain.ToolExecutionID) int { return cmp.Compare(a.String(), b.String()) }
	return slices.Equal(slices.SortedFunc(slices.Values(some), order), slices.SortedFunc(slices.Values(others), order))
}

// checkEffects counts what the ledger says of calls, and of hooks: their effects are made, and again only by a kill that met them.
func (v *checker) checkEffects(got, base agentLeft) {
	made, undisturbed := countEffects(got.ledger), countEffects(base.ledger)
	for _, call := range got.calls() {
		tool, n := v.run.agent.tool(call.Name()), made.calls[call.ID]
		if tool.Name == "" {
			continue // it is the loop's own, such as the start of a sub-agent
		}
		v.holds(n > 0 || call.HasError(), PromiseEffects, "call %s of %s has a result and took no effect", call.ID, call.Name())
		if !v.holds(n <= 1 || !tool.once(), PromiseEffects, "call %s of %s took effect %d times", call.ID, call.Name(), n) {
			v.doubled++
		}
	}
	for key, n := range made.hooks {
		may := undisturbed.hooks[key]
		for _, k := range v.run.kills {
			if slices.Contains(k.hooks, key) {
				may++
			}
		}
		v.holds(n <= may, PromiseEffects, "hook %s took effect %d times; undisturbed and with the kills that met it, it may %d times", key, n, may)
		v.hooksAgain += n - undisturbed.hooks[key]
	}
	for key, n := range undisturbed.hooks {
		v.holds(made.hooks[key] >= n, PromiseEffects, "hook %s took effect %d times, undisturbed %d", key, made.hooks[key], n)
	}
}

// checkExpected compares each call with what must become of it, and the effects of all by their keys.
func (v *checker) checkExpected(got agentLeft, want expected) {
	if most := v.effects(); want.bounded {
		v.holds(most == want.effects, PromiseEffects, "%d effects by one key, and not %d", most, want.effects)
	}
	calls, results := got.calls(), 0
	for _, entry := range got.messages {
		if entry.Message.ToolResult != nil {
			results++
		}
	}
	v.holds(len(calls) > 0 && results == len(calls), PromiseSteps, "%d calls have %d results", len(calls), results)
	for i, call := range calls {
		outcome := want.outcome(i)
		v.holds(call.Outcome() == outcome, PromiseUnknown, "call %d is %s, and not %s", i+1, call.Outcome(), outcome)
		v.holds(outcome != domain.ToolNotRun || !want.unknown || call.Error != nil && call.Error.Code == domain.CodeOutcomeUnresolved,
			PromiseUnknown, "call %d was not run, and not for the first", i+1)
	}
}

// effects counts what was done by one key at the most: of a keyed tool the other side does one once, however often it is asked.
func (v *checker) effects() int {
	var keys []string
	for _, e := range v.got.agents[root].ledger {
		if !e.Void && (v.run.agent.tool(e.Tool).Effect != domain.Keyed || !slices.Contains(keys, e.Key)) {
			keys = append(keys, e.Key)
		}
	}
	return len(keys)
}

// checkTranscript compares messages but for ids, times and results that nobody knows.
func (v *checker) checkTranscript(got, base agentLeft) bool {
	if !v.holds(len(got.messages) == len(base.messages), PromiseTranscript, "%d messages, undisturbed %d", len(got.messages), len(base.messages)) {
		return false
	}
	summaries := 0
	for i, entry := range got.messages {
		mine, theirs := anyOutcome(entry.Message), anyOutcome(base.messages[i].Message)
		_, unknown := v.unknown[domain.TagOf(mine).ToolExecutionID]
		if !v.holds(entry.Index == i, PromiseTranscript, "message %d has index %d", i, entry.Index) ||
			!v.holds(same(mine, theirs, unknown), PromiseTranscript, "message %d is not the undisturbed one: %s; %s", i, excerpt(mine), excerpt(theirs)) {
			return false
		}
		if entry.Section == domain.SectionSummary {
			summaries++
		}
	}
	v.summaries += summaries
	return true
}

// anyOutcome is a message in which a sub-agent does not say of its calls with effects which of them nobody knows the outcome of:
// kills decide that. How many they were it says.
func anyOutcome(m domain.Message) domain.Message {
	if m.ToolResult == nil || m.ToolResult.Name != domain.SpawnSubagent {
		return m
	}
	var result contract.ChildResult
	if json.Unmarshal([]byte(m.ToolResult.Content), &result) == nil {
		for i, call := range result.Calls {
			result.Calls[i].Done, result.Calls[i].Unknown = call.Done+call.Unknown, 0
		}
		text, _ := json.Marshal(result) // it was JSON
		changed := *m.ToolResult
		changed.Content, m.ToolResult = string(text), &changed
	}
	return m
}

// same compares two messages. Of a result that nobody knows only the call counts.
func same(a, b domain.Message, unknown bool) bool {
	if a.Role != b.Role || a.Name != b.Name || !slices.Equal(a.ToolCalls, b.ToolCalls) ||
		!slices.EqualFunc(a.Parts, b.Parts, func(x, y domain.Part) bool { return x.Type == y.Type && x.Text == y.Text }) {
		return false
	}
	if a.ToolResult == nil || b.ToolResult == nil {
		return a.ToolResult == b.ToolResult
	}
	if unknown {
		return a.ToolResult.CallID == b.ToolResult.CallID && a.ToolResult.Name == b.ToolResult.Name
	}
	return *a.ToolResult == *b.ToolResult
}

func excerpt(m domain.Message) string {
	text := m.Text()
	if m.ToolResult != nil {
		text = m.ToolResult.Content
	}
	return string(m.Role) + " " + domain.Shorten(strings.Join(strings.Fields(text), " "), 120)
}

// checkKills looks at what each kill cost, and whether the agent went on after the last one.
func (v *checker) checkKills(base agentLeft) {
	for _, k := range v.run.kills {
		for workflow, n := range k.extra {
			v.holds(n <= 1, PromiseRequests, "%d model requests of %s more after one kill %s", n, workflow, k.point)
		}
	}
	// Killed after its last inference, it has nothing left to ask: a session that waits may continue as new.
	n := len(base.results)
	if down := v.run.down; down != nil {
		over := n > 0 && v.run.root().standing() == standing{n, base.results[n-1].Outcome.Steps}
		v.holds(over, PromiseGoesOn, "after the kill %s it never asked or called anything again", down.point)
	}
}

// statusPatience is how long a status may take to tell.
const statusPatience = 5 * time.Second

// checkStatus compares what the agent's status was told to be with what the runner had seen by then, and with how it ends.
func (v *checker) checkStatus(base agentLeft) {
	holds := func(kept bool, format string, args ...any) bool { return v.holds(kept, PromiseStatus, format, args...) }
	var number, steps int // of the answer before
	for _, a := range v.run.answers {
		view := a.view
		if !holds(a.err == nil, "it could not be told: %v", a.err) {
			continue
		}
		holds(a.took <= statusPatience, "it took %s to tell", a.took.Round(time.Millisecond))
		holds(view.Number > number || view.Number == number && view.Steps >= steps,
			"it went back from step %d of execution %d to step %d of execution %d (told by %s)", steps, number, view.Steps, view.Number, view.Server.Source)
		number, steps = view.Number, view.Steps
		// A step is complete when the next one's inference begins, and no more are than inferences have begun.
		holds(number != a.before.execution || steps >= a.before.requested-1,
			"%d steps were told of execution %d when step %d had begun (told by %s)", steps, number, a.before.requested, view.Server.Source)
		holds(number != a.after.execution || steps <= a.after.requested,
			"%d steps were told of execution %d when step %d was the newest (told by %s)", steps, number, a.after.requested, view.Server.Source)
		switch {
		case number < 1 || number > len(base.results):
			holds(false, "execution %d was told", number)
		case view.Status.Terminal():
			want := base.results[number-1].Outcome
			holds(view.Status == want.Status && steps == want.Steps,
				"execution %d was told to have ended %s after %d steps; undisturbed it ends %s after %d (told by %s)",
				number, view.Status, steps, want.Status, want.Steps, view.Server.Source)
		default:
			holds(view.Status == domain.StatusInProgress || view.Status == domain.StatusPending, "execution %d was told to be %s", number, view.Status)
		}
	}
}

// checkPool: what the agents of a tree used adds up to what the root has counted, and is never above its budget.
func (v *checker) checkPool() {
	total := v.got.total
	if total == nil {
		return
	}
	var tokens, cost, steps, calls int64
	for _, a := range v.got.agents {
		tokens += a.own.Usage.TotalTokens()
		if a.own.CostNanoUSD != nil {
			cost += *a.own.CostNanoUSD
		}
		for _, step := range slices.Concat(a.steps...) {
			steps++
			calls += int64(len(step.Step.ExecutedToolCalls()))
		}
	}
	o, budget := v.got.agents[root].results[0].Outcome, v.run.agent.Executions[0].Budget
	v.holds(tokens == total.Usage.TotalTokens() && tokens == o.Usage.TotalTokens(), PromisePool,
		"the agents used %d tokens, the tree tells %d, and the root has counted %d", tokens, total.Usage.TotalTokens(), o.Usage.TotalTokens())
	v.holds(total.CostNanoUSD != nil && cost == *total.CostNanoUSD && cost == o.CostNanoUSD, PromisePool, "the agents cost %d nano-dollars, and the root has counted %d", cost, o.CostNanoUSD)
	v.holds(tokens <= *budget.MaxTokens && cost <= *budget.MaxCostNanoUSD && steps <= *budget.MaxSteps && calls <= *budget.MaxToolCalls, PromisePool,
		"%d tokens, %d nano-dollars, %d steps and %d calls are above the budget", tokens, cost, steps, calls)
}

// checkBudget: of a tight budget, all that was billed is counted, and no more than there is. What ends early was at its limit.
func (v *checker) checkBudget() {
	o, most := v.got.agents[root].results[0].Outcome, *v.run.agent.Executions[0].Budget.MaxTokens
	requests := 0
	for _, step := range v.run.root().steps {
		requests += step.requests
	}
	billed, counted := int64(requests*v.run.agent.requestTokens), o.Usage.TotalTokens()
	v.holds(billed <= counted && counted <= most, PromiseBudget, "%d tokens were billed and %d counted, of %d", billed, counted, most)
	v.holds(o.Status == domain.StatusCompleted || o.StopReason == domain.TokenLimitReached, PromiseOutcome, "it ended %s (%s)", o.Status, o.StopReason)
}

// checkEvents compares the events by type, step and reason, and their numbers.
func (v *checker) checkEvents(got, base agentLeft) {
	for i := range base.events {
		wrong := ""
		for n, event := range got.events[i] {
			if sequence := event.Sequence; sequence != int64(n+1) && wrong == "" {
				wrong = fmt.Sprintf("event %d has number %d", n+1, sequence)
			}
		}
		if wrong == "" {
			mine, theirs := placesOf(got.steps[i]), placesOf(base.steps[i])
			unknown := make(map[place]bool)
			for id := range v.unknown {
				if at, here := mine[id.String()]; here {
					unknown[at] = true
				}
			}
			wrong = firstDifference(lines(got.events[i], mine, unknown), lines(base.events[i], theirs, unknown))
		}
		if !v.holds(wrong == "", PromiseEvents, "execution %d: %s", i+1, wrong) {
			v.events = false
		}
	}
}

// A place is where a tool call stands in its execution.
type place struct{ step, position int }

// placesOf are the places of tool calls, by their ids.
func placesOf(steps []domain.StepExecution) map[string]place {
	calls := make(map[string]place)
	for _, step := range steps {
		for position, call := range step.Step.ToolExecutions {
			calls[call.ID.String()] = place{step.Step.Number, position}
		}
	}
	return calls
}

// lines are events without what differs from run to run, a line each: in their order, and then, in call order, how calls ended, since
// which of several ends first is nobody's promise. How the unknown calls ended, and their steps for it, is left out.
func lines(events []domain.Event, calls map[string]place, unknown map[place]bool) []string {
	var lines, ends []string
	for _, event := range events {
		fields := fieldsOf(event)
		id, _ := fields["tool_execution_id"].(string)
		at, isCall := calls[id]
		for _, key := range []string{
			"sequence", "time", "agent_id", "parent_agent_id", "execution_id", "step_id", "tool_execution_id", "child_agent_id",
			"attempts", "usage", "cost_nano_usd", "step_usage", "step_cost_nano_usd", "duration_ms",
		} {
			delete(fields, key)
		}
		switch event.Type {
		case domain.EventToolCallRetried, domain.EventPaused, domain.EventResumed, domain.EventMessageWaiting:
			continue // a kill has a call made again, the runner pauses for one, and whether a message has to wait is a matter of time
		case domain.EventWaitOpened: // a kill has made the outcome unknown
			if unknown[at] {
				continue
			}
		case domain.EventToolCallCompleted:
			if unknown[at] {
				delete(fields, "error_kind")
				delete(fields, "error_code")
			}
			ends = append(ends, fmt.Sprintf("%05d/%03d %v", at.step, at.position, fields))
			continue
		case domain.EventStepCompleted:
			for at := range unknown {
				if at.step == event.Step { // an unknown call makes it another type of step
					delete(fields, "step_type")
					delete(fields, "errors")
				}
			}
		}
		if isCall {
			fields["call"] = at
		}
		lines = append(lines, fmt.Sprint(fields))
	}
	slices.Sort(ends)
	return append(lines, ends...)
}

// fieldsOf are those of an event, in which another execution or script is like any other.
func fieldsOf(event domain.Event) map[string]any {
	fields := make(map[string]any)
	text, err := json.Marshal(event)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		panic(err) // it has been decoded before
	}
	if fields["origin"] != nil {
		fields["origin"] = "another"
	}
	if model, ok := fields["model"].(string); ok { // a script, in whichever folder
		fields["model"] = filepath.Base(model)
	}
	return fields
}

func firstDifference(mine, theirs []string) string {
	for i := range max(len(mine), len(theirs)) {
		switch {
		case i >= len(mine):
			return fmt.Sprintf("the events end where undisturbed there is %q", theirs[i])
		case i >= len(theirs):
			return fmt.Sprintf("there is %q more than undisturbed", mine[i])
		case mine[i] != theirs[i]:
			return fmt.Sprintf("there is %q where undisturbed there is %q", mine[i], theirs[i])
		}
	}
	return ""
}

// wronglyListed compares the list of agents with unknown calls, and how many each has, with the runs that have some.
func wronglyListed(verdicts []*checker, listed map[string]int) (wrong []report.Broken) {
	for _, v := range verdicts {
		unknown := 0
		for _, call := range v.got.agents[root].calls() {
			if call.Outcome() == domain.ToolUnknown {
				unknown++
			}
		}
		if listed[v.run.id] != unknown {
			wrong = append(wrong, v.run.broken(PromiseStatus, "the list of agents with unknown calls has %d of it, and not %d", listed[v.run.id], unknown))
		}
	}
	return wrong
}
