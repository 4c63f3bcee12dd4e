package kills

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/testsuite/proof/report"
)

// PromiseReached says that all kills were made.
const PromiseReached report.Promise = "reached"

// seatless is the point of the row for all kills of workers without a seat.
const seatless Point = "without a seat"

// report sums up what was found so far: a row for each point, one for workers without a seat, and one for all, in which what
// belongs to a run and not to one kill counts once; then a row for each agent.
func (p *proof) report(took time.Duration) report.Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	var r report.Report
	for _, point := range p.config.Points {
		r.Rows = append(r.Rows, p.row(point))
	}
	if p.config.Lanes > 1 {
		r.Rows = append(r.Rows, p.row(seatless))
	}
	all := p.row("")
	r.Rows = append(r.Rows, all)
	agents, steps, summaries, answers := 0, 0, 0, 0
	runs, sources, slowest := make(map[string]int), make(map[contract.StatusSource]int), time.Duration(0)
	for _, v := range p.verdicts {
		runs[v.run.agent.Name]++
		summaries += v.summaries
		agents += len(v.got.agents)
		answers += len(v.run.answers)
		for _, a := range v.run.answers {
			sources[a.view.Server.Source]++
			slowest = max(slowest, a.took)
		}
		for _, s := range v.run.agents {
			for key, step := range s.steps {
				if step.requests > 0 && !key.summary {
					steps++
				}
			}
		}
	}
	if !p.config.Agents[0].once() {
		for _, a := range p.config.Agents {
			var row report.Row
			row.Add("agent", "agent", a.Name)
			row.Add("runs", "runs under kills", runs[a.Name])
			row.Add("has", "has", a.has())
			r.Rows = append(r.Rows, row)
		}
	}
	r.Facts.Add("seed", "seed", p.config.Seed)
	r.Facts.Add("lanes", "lanes", p.config.Lanes)
	r.Facts.Add("kills", "kills", all.Value("kills"))
	r.Facts.Add("agents", "agents", agents)
	r.Facts.Add("steps", "steps", steps)
	r.Facts.Add("summaries", "summaries", summaries)
	r.Facts.Add("seconds", "took", took)
	r.Facts.Add("status_answers", "statuses told", answers)
	for _, source := range slices.Sorted(maps.Keys(sources)) {
		r.Facts.Add("status_by_"+string(source), "by "+string(source), sources[source])
	}
	r.Facts.Add("status_slowest_seconds", "the slowest after", slowest)
	r.Broken = p.broken
	p.plan.mu.Lock()
	defer p.plan.mu.Unlock()
	for _, point := range p.config.Points {
		if n := p.plan.lost[point]; n > 0 {
			r.Broken = append(r.Broken, report.Broken{Promise: PromiseReached, Detail: fmt.Sprintf("no agent reached %s, so kills were not made: %d", point, n)})
		}
	}
	return r
}

// row is what the kills at a point did; empty: all kills, over all agents. How soon an agent goes on is said of workers with a
// seat, but in the row for those without.
func (p *proof) row(point Point) report.Row {
	var kills, agents, lost, doubled, unknown, notRun, asked, hooksAgain, transcripts, events, extra, running int
	var most any // there may be any number of effects
	var times []time.Duration
	for _, v := range p.verdicts {
		hit := point == ""
		for _, k := range v.run.kills {
			if point == seatless && !v.run.seatless || point != "" && point != seatless && k.point != point {
				continue
			}
			hit = true
			kills++
			for _, pid := range v.unknown {
				unknown += count(pid == k.PID)
			}
			for _, n := range k.extra {
				extra += n
			}
			transcripts += count(v.transcript)
			events += count(v.events)
			if k.WentOn > 0 && v.run.seatless == (point == seatless) {
				times = append(times, k.WentOn)
			}
		}
		if !hit {
			continue
		}
		agents += len(v.got.agents)
		lost += v.lost
		doubled += v.doubled
		hooksAgain += v.hooksAgain
		running += len(v.got.running)
		for _, call := range v.got.agents[root].calls() {
			asked++
			notRun += count(call.Outcome() == domain.ToolNotRun)
		}
		if x := v.run.agent.expected; x != nil && x.bounded {
			before, _ := most.(int)
			most = max(before, v.effects())
		}
	}
	if point == "" {
		point = "all"
	}
	one := p.config.Agents[0] // all are of its kind
	calls, tree := one.expected != nil, len(one.Subagents) > 0
	var row report.Row
	row.Add("point", "killed at", string(point))
	row.Add("kills", "kills", kills)
	if tree {
		row.Add("agents", "agents", agents)
	}
	if calls {
		row.Add("asked", "calls asked for", asked)
		row.Add("most_effects", "most effects", most)
	} else {
		row.Add("steps_lost", "steps lost", lost)
		row.Add("effects_doubled", "effects doubled", doubled)
	}
	row.Add("outcome_unknown", "outcome unknown", unknown)
	if calls {
		row.Add("not_run", "not run", notRun)
	} else {
		row.Add("transcripts_equal", "transcripts equal", report.Share{N: transcripts, Of: kills})
	}
	if tree {
		row.Add("left_running", "left running", running)
	}
	if !calls && !tree {
		row.Add("events_equal", "events equal", report.Share{N: events, Of: kills})
		row.Add("hooks_again", "hooks again", hooksAgain)
	}
	row.Add("extra_requests", "extra requests", extra)
	row.Add("p50_seconds", "go on p50", report.Percentile(times, 50))
	row.Add("p99_seconds", "p99", report.Percentile(times, 99))
	return row
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
