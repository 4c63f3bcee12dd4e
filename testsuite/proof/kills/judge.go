package kills

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/domain/progress"
	"everstep/starter/client"
)

// A verdict is what a trial showed.
type verdict struct {
	trial   *trial
	lost    int // counts the steps of the undisturbed run that are missing
	doubled int // counts the calls that may not be repeated and were
	// unknown counts the outcomes that nobody knows, by the worker that was
	// killed over them.
	unknown    map[int]int
	hooksAgain int // counts the effects of hooks that were made again
	// equal says that the transcript is the undisturbed one, and told that the
	// events are.
	equal, told bool
	summaries   int // counts those of the conversation
}

// judge holds a trial against the undisturbed run, the ledger and the histories.
func (p *chaos) judge(ctx context.Context, l *chaosLane, t *trial, got played, base played) (verdict, error) {
	lost, err := inFlight(ctx, l.agents, got)
	if err != nil {
		return verdict{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.hold(t, got, base, lost)
}

// hold is judge with what the histories say of calls that were lost.
func (p *chaos) hold(t *trial, got played, base played, inFlight map[domain.ToolExecutionID]int) (verdict, error) {
	v := verdict{trial: t, unknown: make(map[int]int)}
	p.judgeSteps(&v, got, base)
	for _, difference := range got.told {
		p.broke(PromiseAccount, t, "%s", difference)
	}
	unknown := p.judgeUnknown(&v, got, inFlight)
	p.judgeTranscript(&v, got, base, unknown)
	p.judgeEvents(&v, got, base, unknown)
	p.judgeHooks(&v, got, base)
	if err := p.judgeEffects(&v, got); err != nil {
		return v, err
	}
	for _, k := range t.kills {
		p.holds(k.extra <= 1, PromiseRequests, t, "%d model requests more after one kill %s", k.extra, k.boundary)
	}
	// Killed after its last inference, it has nothing left to ask: a session that waits may continue as new.
	n := len(base.results)
	if t.down != nil && (n == 0 || t.standing() != standing{n, base.results[n-1].Outcome.Steps}) {
		p.broke(PromiseGoesOn, t, "after the kill %s it never asked or called anything again", t.down.boundary)
	}
	return v, nil
}

func (p *chaos) judgeSteps(v *verdict, got played, base played) {
	for i, want := range base.results {
		result, steps := got.results[i], got.steps[i]
		o, undisturbed := result.Outcome, want.Outcome
		p.holds(o.Status == undisturbed.Status && o.StopReason == undisturbed.StopReason, PromiseOutcome, v.trial,
			"execution %d ended %s (%s), undisturbed %s (%s): %v", i+1, o.Status, o.StopReason, undisturbed.Status, undisturbed.StopReason, result.Error)
		p.holds(result.Answer == want.Answer, PromiseOutcome, v.trial, "execution %d answered %q, undisturbed %q", i+1,
			domain.Shorten(result.Answer, 100), domain.Shorten(want.Answer, 100))
		lost := undisturbed.Steps
		for k, step := range steps {
			if step.Step.Number == k+1 {
				lost--
			}
		}
		p.holds(lost == 0 && o.Steps == undisturbed.Steps, PromiseSteps, v.trial,
			"execution %d has %d steps and says %d, undisturbed %d", i+1, len(steps), o.Steps, undisturbed.Steps)
		v.lost += max(lost, 0)
	}
}

// judgeUnknown holds the calls whose outcome nobody knows against those that were
// in flight at a kill, by the server's word and by the controller's own.
func (p *chaos) judgeUnknown(v *verdict, got played, inFlight map[domain.ToolExecutionID]int) map[domain.ToolExecutionID]bool {
	unknown := make(map[domain.ToolExecutionID]bool)
	for _, t := range executionsOf(got) {
		if t.OutcomeUnknown() {
			unknown[t.ID] = true
		}
	}
	for id, pid := range inFlight {
		p.holds(unknown[id], PromiseUnknown, v.trial, "call %s was in flight when worker %d was killed, and is not unknown", id, pid)
	}
	for id := range unknown {
		pid, was := inFlight[id]
		byKill := slices.ContainsFunc(v.trial.kills, func(k *kill) bool { return k.pid == pid })
		if p.holds(was && byKill, PromiseUnknown, v.trial, "the outcome of call %s is unknown, and no kill accounts for it", id) {
			v.unknown[pid]++
		}
	}
	for _, t := range executionsOf(got) {
		for _, k := range v.trial.kills {
			p.holds(unknown[t.ID] || !v.trial.agent.once(t.Name()) || !slices.Contains(k.inFlight, t.ID), PromiseUnknown, v.trial,
				"call %s was at work at the kill %s, and is not unknown", t.ID, k.boundary)
		}
	}
	return unknown
}

// judgeTranscript compares messages but for ids, times and results nobody knows.
func (p *chaos) judgeTranscript(v *verdict, got played, base played, unknown map[domain.ToolExecutionID]bool) {
	if !p.holds(len(got.messages) == len(base.messages), PromiseTranscript, v.trial,
		"%d messages, undisturbed %d", len(got.messages), len(base.messages)) {
		return
	}
	summaries := 0
	for i, entry := range got.messages {
		mine, theirs := entry.Message, base.messages[i].Message
		if !p.holds(entry.Index == i, PromiseTranscript, v.trial, "message %d has index %d", i, entry.Index) ||
			!p.holds(same(mine, theirs, unknown[domain.TagOf(mine).ToolExecutionID]), PromiseTranscript, v.trial,
				"message %d is not the undisturbed one: %s; %s", i, excerpt(mine), excerpt(theirs)) {
			return
		}
		if entry.Section == domain.SectionSummary {
			summaries++
		}
	}
	v.equal, v.summaries = true, summaries
}

// judgeHooks: each effect of a hook is made, and again only by a kill that met it.
func (p *chaos) judgeHooks(v *verdict, got played, base played) {
	for key, n := range got.hooks {
		may := base.hooks[key]
		for _, k := range v.trial.kills {
			if k.hook == key {
				may++
			}
		}
		p.holds(n <= may, PromiseEffects, v.trial, "hook %s took effect %d times; undisturbed and with the kills that met it, it may %d times", key, n, may)
		v.hooksAgain += n - base.hooks[key]
	}
	for key, n := range base.hooks {
		p.holds(got.hooks[key] >= n, PromiseEffects, v.trial, "hook %s took effect %d times, undisturbed %d", key, got.hooks[key], n)
	}
}

// judgeEffects counts what the ledger says of calls that may not be repeated.
func (p *chaos) judgeEffects(v *verdict, got played) error {
	counts, err := effects(p.ledger, v.trial.workflowID)
	if err != nil {
		return err
	}
	for _, t := range executionsOf(got) {
		once, n := v.trial.agent.once(t.Name()), counts.calls[t.ID]
		switch {
		case once && n > 1:
			v.doubled++
			p.broke(PromiseEffects, v.trial, "call %s of %s took effect %d times", t.ID, t.Name(), n)
		case n == 0 && !t.HasError():
			p.broke(PromiseEffects, v.trial, "call %s of %s has a result and took no effect", t.ID, t.Name())
		}
	}
	return nil
}

func executionsOf(got played) []domain.ToolExecution {
	var all []domain.ToolExecution
	for _, steps := range got.steps {
		for _, step := range steps {
			all = append(all, step.Step.ToolExecutions...)
		}
	}
	return all
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

// inFlight reads from histories which calls that may not be repeated were lost with
// a worker, and which process that was.
func inFlight(ctx context.Context, agents *client.Client, got played) (map[domain.ToolExecutionID]int, error) {
	found := make(map[domain.ToolExecutionID]int)
	for _, runID := range got.runs {
		for recorded, err := range agents.History(ctx, got.begun.ID, runID) {
			if err != nil {
				return nil, fmt.Errorf("read the history of %s: %w", got.begun.WorkflowID, err)
			}
			lost, ok := recorded.Fact.(progress.Lost)
			if ok && lost.Tool != nil && lost.Loss.How == progress.TimedOut && !lost.Tool.Effect.Repeatable() {
				// An identity is the process's id, its host and its queue.
				pid, _, _ := strings.Cut(lost.Worker, "@")
				found[lost.Tool.ID()], _ = strconv.Atoi(pid) // zero is no process
			}
		}
	}
	return found, nil
}

// judgeEvents compares the events by type, step and reason, and counts them.
func (p *chaos) judgeEvents(v *verdict, got played, base played, unknown map[domain.ToolExecutionID]bool) {
	v.told = true
	for i := range base.events {
		wrong := wrongCount(got.events[i])
		if wrong == "" {
			mine := story{calls: positions(got.steps[i]), unknown: make(map[place]bool)}
			for id := range unknown {
				if at, here := mine.calls[id]; here {
					mine.unknown[at] = true
				}
			}
			theirs := story{calls: positions(base.steps[i]), unknown: mine.unknown}
			wrong = firstDifference(mine.of(got.events[i]), theirs.of(base.events[i]))
		}
		if wrong != "" {
			v.told = false
			p.broke(PromiseEvents, v.trial, "execution %d: %s", i+1, wrong)
		}
	}
}

// wrongCount says where the numbers of events do not follow one another from 1.
func wrongCount(events []domain.Event) string {
	for i, event := range events {
		if n := event.Head().Sequence; n != int64(i+1) {
			return fmt.Sprintf("event %d has number %d", i+1, n)
		}
	}
	return ""
}

// A place is where a tool call stands in its execution.
type place struct{ step, position int }

func positions(steps []domain.StepExecution) map[domain.ToolExecutionID]place {
	calls := make(map[domain.ToolExecutionID]place)
	for _, step := range steps {
		for position, call := range step.Step.ToolExecutions {
			calls[call.ID] = place{step.Step.Number, position}
		}
	}
	return calls
}

// A story is an execution's events in words, ids, times and usage aside.
type story struct {
	calls   map[domain.ToolExecutionID]place
	unknown map[place]bool // the places of calls of which it does not tell how they ended
}

// of tells of the events in their order, and then of calls as they ended in
// call order: which of several ends first is nobody's promise.
func (s story) of(events []domain.Event) []string {
	var lines, ends []string
	for _, event := range events {
		switch e := event.(type) {
		case domain.ToolCallStarted:
			lines = append(lines, told(e)+fmt.Sprint(s.calls[e.ToolExecutionID]))
		case domain.ToolCallBlocked:
			lines = append(lines, told(e)+fmt.Sprint(s.calls[e.ToolExecutionID]))
		case domain.ToolCallCompleted:
			at := s.calls[e.ToolExecutionID]
			if s.unknown[at] {
				e.Kind, e.Code = "", ""
			}
			ends = append(ends, fmt.Sprintf("%05d/%03d %s", at.step, at.position, told(e)))
		case domain.AgentStepCompleted:
			for at := range s.unknown {
				if at.step == e.Step { // it makes it another type of step
					e.StepType, e.Errors = "", 0
				}
			}
			lines = append(lines, told(e))
		case domain.ToolOutcomeUnknown:
			if !s.unknown[s.calls[e.ToolExecutionID]] {
				lines = append(lines, told(e))
			}
		default:
			lines = append(lines, told(e))
		}
	}
	slices.Sort(ends)
	return append(lines, ends...)
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

// told is an event without what differs from run to run.
func told(event domain.Event) string {
	fields := make(map[string]any)
	text, err := json.Marshal(domain.RecordedEvent{Event: event})
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return err.Error()
	}
	for _, key := range []string{
		"sequence", "time", "agent_id", "parent_agent_id", "execution_id", "step_id", "tool_execution_id", "child_agent_id",
		"attempts", "usage", "cost_nano_usd", "duration_ms",
	} {
		delete(fields, key)
	}
	if fields["origin"] != nil {
		fields["origin"] = "another"
	}
	if model, ok := fields["model"].(string); ok { // a script, in whichever folder
		fields["model"] = filepath.Base(model)
	}
	return fmt.Sprint(fields)
}
