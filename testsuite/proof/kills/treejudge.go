package kills

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"everstep/domain"
	"everstep/domain/progress"
	"everstep/starter/render"
)

// A treeVerdict is what one kill did to a tree.
type treeVerdict struct {
	lost, doubled, unknown int
	equal                  bool // the transcripts of all agents are the undisturbed ones
}

func (p *treeKills) holds(kept bool, promise Promise, t *treeTrial, format string, args ...any) bool {
	if !kept {
		p.broken = append(p.broken, Broken{Promise: promise, Agent: "tree", ID: t.id, Detail: string(t.point) + ": " + fmt.Sprintf(format, args...)})
	}
	return kept
}

// judge holds each agent of a tree against the one in its place of the undisturbed tree.
func (p *treeKills) judge(t *treeTrial, base map[string]treeAgent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, t)
	p.holds(!t.killed.IsZero(), PromiseGoesOn, t, "the point was never reached")
	p.holds(slices.Equal(slices.Sorted(maps.Keys(t.agents)), slices.Sorted(maps.Keys(base))), PromiseOutcome, t, "there are %d agents, undisturbed %d", len(t.agents), len(base))
	p.holds(len(t.running) == 0, PromiseOrphans, t, "still running: %v", t.running)
	t.verdict.equal = true
	for _, place := range slices.Sorted(maps.Keys(base)) {
		if got, ok := t.agents[place]; ok {
			p.judgeAgent(t, place, got, base[place])
		}
	}
	p.judgePool(t)
}

func (p *treeKills) judgeAgent(t *treeTrial, place string, got, base treeAgent) {
	p.holds(got.Status == base.Status && got.StopReason == base.StopReason, PromiseOutcome, t,
		"%s ended %s (%s), undisturbed %s (%s)", place, got.Status, got.StopReason, base.Status, base.StopReason)
	if !p.holds(len(got.steps) == len(base.steps) && got.Steps != nil && *got.Steps == len(base.steps), PromiseSteps, t, "%s has %d steps, undisturbed %d", place, len(got.steps), len(base.steps)) {
		t.verdict.lost += max(len(base.steps)-len(got.steps), 0)
	}
	for _, difference := range got.told {
		p.holds(false, PromiseAccount, t, "%s: %s", place, difference)
	}
	unknown := map[domain.ToolExecutionID]bool{}
	for _, step := range got.steps {
		for _, call := range step.Step.ToolExecutions {
			n := got.effects[call.ID]
			switch {
			case call.Name() == domain.SpawnSubagent:
				continue
			case call.OutcomeUnknown():
				t.verdict.unknown++
				unknown[call.ID] = true
				pid, was := got.inFlight[call.ID]
				p.holds(was && pid == t.pid, PromiseUnknown, t, "%s: the outcome of call %s of %s is unknown, and no kill accounts for it", place, call.ID, call.Name())
			default:
				p.holds(n > 0 || call.HasError(), PromiseEffects, t, "%s: call %s of %s has a result and took no effect", place, call.ID, call.Name())
			}
			if !p.holds(call.Name() != payTool || n <= 1, PromiseEffects, t, "%s: call %s of %s took effect %d times", place, call.ID, call.Name(), n) {
				t.verdict.doubled++
			}
		}
	}
	for id, pid := range got.inFlight {
		p.holds(unknown[id], PromiseUnknown, t, "%s: call %s was in flight when worker %d was killed, and is not unknown", place, id, pid)
	}
	if wrong := differs(got, base, unknown); wrong != "" {
		t.verdict.equal = false
		p.holds(false, PromiseTranscript, t, "%s: %s", place, wrong)
	}
}

// differs compares the transcripts of two agents but for ids, times, and results that nobody knows.
func differs(got, base treeAgent, unknown map[domain.ToolExecutionID]bool) string {
	if len(got.messages) != len(base.messages) {
		return fmt.Sprintf("%d messages, undisturbed %d", len(got.messages), len(base.messages))
	}
	for i, entry := range got.messages {
		mine, theirs := spokenOf(entry.Message), spokenOf(base.messages[i].Message)
		if !same(mine, theirs, unknown[domain.TagOf(mine).ToolExecutionID]) {
			return fmt.Sprintf("message %d is not the undisturbed one: %s; %s", i, excerpt(mine), excerpt(theirs))
		}
	}
	return ""
}

// spokenOf is a message in which a sub-agent does not say of its calls with effects which of them nobody knows the outcome
// of: kills decide that. How many they were it says.
func spokenOf(m domain.Message) domain.Message {
	if m.ToolResult == nil || m.ToolResult.Name != domain.SpawnSubagent {
		return m
	}
	var result progress.ChildResult
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

// judgePool: what the agents used adds up to what the root has counted, and is never above its budget.
func (p *treeKills) judgePool(t *treeTrial) {
	budget, total := treeBudget(), t.tree.Total
	var tokens, cost, steps, calls int64
	for _, a := range t.agents {
		tokens += a.Own.Usage.TotalTokens
		steps += int64(len(a.steps))
		if a.Own.CostNanoUSD != nil {
			cost += *a.Own.CostNanoUSD
		}
		for _, step := range a.steps {
			calls += int64(len(step.Step.ExecutedToolCalls()))
		}
	}
	o := t.result.Outcome
	p.holds(tokens == total.Usage.TotalTokens && tokens == o.Usage.TotalTokens(), PromisePool, t,
		"the agents used %d tokens, the tree tells %d, and the root has counted %d", tokens, total.Usage.TotalTokens, o.Usage.TotalTokens())
	p.holds(total.CostNanoUSD != nil && cost == *total.CostNanoUSD && cost == o.CostNanoUSD, PromisePool, t, "the agents cost %d nano-dollars, and the root has counted %d", cost, o.CostNanoUSD)
	p.holds(tokens <= *budget.MaxTokens && cost <= *budget.MaxCostNanoUSD && steps <= *budget.MaxSteps && calls <= *budget.MaxToolCalls, PromisePool, t,
		"%d tokens, %d nano-dollars, %d steps and %d calls are above the budget", tokens, cost, steps, calls)
}

// A TreesReport is what the kills did.
type TreesReport struct {
	Kills   int       `json:"kills"`
	Lanes   int       `json:"lanes"`
	Agents  int       `json:"agents"` // counts those of all trees
	Seconds float64   `json:"seconds"`
	Rows    []TreeRow `json:"rows"`
	Broken  []Broken  `json:"broken"`
}

// A TreeRow is what the kills at one point did.
type TreeRow struct {
	Point          TreePoint `json:"point"`
	Kills          int       `json:"kills"`
	Agents         int       `json:"agents"`
	StepsLost      int       `json:"steps_lost"`
	EffectsDoubled int       `json:"effects_doubled"`
	// OutcomeUnknown counts the calls that may not be repeated and were in flight.
	OutcomeUnknown int `json:"outcome_unknown"`
	// TranscriptsEqual counts the trees of which all transcripts are the undisturbed ones.
	TranscriptsEqual int `json:"transcripts_equal"`
	// LeftRunning counts the workflows that were running after their trees had ended.
	LeftRunning int `json:"left_running"`
	// P50 and P99 are seconds from the kill to the next thing that any agent of the tree did.
	P50 float64 `json:"p50_seconds"`
	P99 float64 `json:"p99_seconds"`
}

func (p *treeKills) report(took time.Duration) TreesReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := TreesReport{Kills: len(p.done), Lanes: p.config.Lanes, Seconds: round(took), Rows: []TreeRow{}, Broken: append([]Broken{}, p.broken...)}
	for _, point := range p.config.Points {
		row := TreeRow{Point: point}
		var times []time.Duration
		for _, t := range p.done {
			if t.point != point {
				continue
			}
			row.Kills++
			row.Agents += len(t.agents)
			row.StepsLost += t.verdict.lost
			row.EffectsDoubled += t.verdict.doubled
			row.OutcomeUnknown += t.verdict.unknown
			row.LeftRunning += len(t.running)
			if t.verdict.equal {
				row.TranscriptsEqual++
			}
			if t.wentOn > 0 {
				times = append(times, t.wentOn)
			}
		}
		row.P50, row.P99 = round(percentile(times, 50)), round(percentile(times, 99))
		r.Agents += row.Agents
		r.Rows = append(r.Rows, row)
	}
	return r
}

// Table is the report as people read it.
func (r TreesReport) Table() render.Table {
	t := render.Table{Numbers: true, Head: []string{
		"killed at", "kills", "agents", "steps lost", "effects doubled", "outcome unknown", "transcripts equal", "left running", "go on p50", "p99",
	}}
	for _, row := range r.Rows {
		cells := []string{string(row.Point)}
		for _, n := range []int{row.Kills, row.Agents, row.StepsLost, row.EffectsDoubled, row.OutcomeUnknown, row.TranscriptsEqual, row.LeftRunning} {
			cells = append(cells, strconv.Itoa(n))
		}
		t.Rows = append(t.Rows, append(cells, fmt.Sprintf("%.2f s", row.P50), fmt.Sprintf("%.2f s", row.P99)))
	}
	return t
}
