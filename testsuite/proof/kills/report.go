package kills

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"everstep/domain/contract"
	"everstep/starter/render"
)

// A Promise is what must hold whenever a worker dies.
type Promise string

// What is promised.
const (
	PromiseGoesOn     Promise = "goes_on"         // the agent goes on with another worker
	PromiseSteps      Promise = "steps"           // no step is lost
	PromiseEffects    Promise = "effects"         // none is missing, none made again that may not be, of hooks but by a kill
	PromiseUnknown    Promise = "outcome_unknown" // those of calls in flight at a kill that may not be repeated, and no others
	PromiseTranscript Promise = "transcript"      // it is the undisturbed one
	PromiseEvents     Promise = "events"          // they are the undisturbed ones, counted from 1 without a gap
	PromiseOutcome    Promise = "outcome"         // status, reason and answer are the undisturbed ones
	PromiseRequests   Promise = "requests"        // a kill costs at most one model request
	PromiseStatus     Promise = "status"          // status and step count are right throughout
	PromiseAccount    Promise = "account"         // history alone tells of the steps what the execution has kept
	PromisePool       Promise = "pool"            // what the agents of a tree used adds up, and is not above its budget
	PromiseOrphans    Promise = "orphans"         // nothing of a tree runs when it has ended
)

// A Broken promise.
type Broken struct {
	Promise Promise `json:"promise"`
	Agent   string  `json:"agent"`
	ID      string  `json:"id"`
	Detail  string  `json:"detail"`
}

// String is one line.
func (b Broken) String() string {
	return fmt.Sprintf("%s: agent %s (%s): %s", b.Promise, b.Agent, b.ID, b.Detail)
}

// A ChaosReport is what the kills did.
type ChaosReport struct {
	Seed      uint64  `json:"seed"`
	Lanes     int     `json:"lanes"`
	Agents    int     `json:"agents"` // counts runs under kills, Steps their steps
	Steps     int     `json:"steps"`
	Kinds     []Kind  `json:"kinds"`      // the agents, with what is on in each
	Summaries int     `json:"summaries"`  // counts those that conversations were made shorter by
	Seconds   float64 `json:"seconds"`    // how long it all took
	Rows      []Row   `json:"boundaries"` // by boundary, in the order of a step; Total is all of them
	Total     Row     `json:"total"`
	// Unreached counts the kills that were not made, by boundary, since no agent
	// got there.
	Unreached map[contract.Boundary]int `json:"unreached,omitempty"`
	Status    StatusReport              `json:"status"`
	Broken    []Broken                  `json:"broken"`
}

// A Row is what the kills at one boundary did. What belongs to an agent and not
// to one kill counts in each row that killed it, and once in the total.
type Row struct {
	Boundary contract.Boundary `json:"boundary,omitzero"`
	Kills    int               `json:"kills"`
	// StepsLost, EffectsDoubled and HooksAgain are of the agents that were killed there.
	StepsLost      int `json:"steps_lost"`
	EffectsDoubled int `json:"effects_doubled"`
	OutcomeUnknown int `json:"outcome_unknown"` // counts the calls that were in flight at these kills
	// After these kills transcript and events were the undisturbed ones.
	TranscriptsEqual int `json:"transcripts_equal"`
	EventsEqual      int `json:"events_equal"`
	HooksAgain       int `json:"hooks_again"`
	ExtraRequests    int `json:"extra_requests"` // counts the model requests that were made again
	// P50 and P99 are seconds to the agent's next request, effect or check.
	P50 float64 `json:"p50_seconds"`
	P99 float64 `json:"p99_seconds"`

	times []time.Duration
}

// A StatusReport is about the questions that were asked meanwhile.
type StatusReport struct {
	Answers int `json:"answers"`
	// Sources counts the answers by who gave them.
	Sources        map[contract.StatusSource]int `json:"sources"`
	SlowestSeconds float64                       `json:"slowest_seconds"`
}

// Held reports whether no promise was broken and every kill was made.
func (r ChaosReport) Held() bool { return len(r.Broken) == 0 && len(r.Unreached) == 0 }

// report sums up what was found so far.
func (p *chaos) report(took time.Duration) ChaosReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := ChaosReport{
		Seed: p.config.Seed, Lanes: p.config.Lanes, Agents: len(p.trials), Seconds: round(took),
		Broken: append([]Broken{}, p.broken...), Status: p.status,
	}
	p.pool.mu.Lock()
	if len(p.pool.lost) > 0 {
		r.Unreached = p.pool.lost
	}
	p.pool.mu.Unlock()
	for _, b := range p.config.Boundaries {
		r.Rows = append(r.Rows, p.row(b))
	}
	r.Total = p.row("")
	runs := make(map[string]int)
	for _, v := range p.trials {
		runs[v.trial.agent.Name]++
		r.Summaries += v.summaries
		for key, seen := range v.trial.steps {
			if seen.requests > 0 && !key.summary {
				r.Steps++
			}
		}
	}
	for _, a := range p.config.Agents {
		r.Kinds = append(r.Kinds, Kind{Name: a.Name, Runs: runs[a.Name], On: a.on()})
	}
	return r
}

// row is what the kills at a boundary did; empty: all kills, over all agents.
func (p *chaos) row(b contract.Boundary) Row {
	row := Row{Boundary: b}
	for _, v := range p.trials {
		hit := b == ""
		for _, k := range v.trial.kills {
			if b != "" && k.boundary != b {
				continue
			}
			hit = true
			row.Kills++
			row.OutcomeUnknown += v.unknown[k.pid]
			row.ExtraRequests += k.extra
			if v.equal {
				row.TranscriptsEqual++
			}
			if v.told {
				row.EventsEqual++
			}
			if k.wentOn > 0 {
				row.times = append(row.times, k.wentOn)
			}
		}
		if hit {
			row.StepsLost += v.lost
			row.EffectsDoubled += v.doubled
			row.HooksAgain += v.hooksAgain
		}
	}
	row.P50, row.P99 = round(percentile(row.times, 50)), round(percentile(row.times, 99))
	return row
}

// percentile is the smallest time that so many of a hundred do not exceed.
func percentile(times []time.Duration, hundredths int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)*hundredths+99)/100-1]
}

func round(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// Table is the report as people read it.
func (r ChaosReport) Table() render.Table {
	t := render.Table{Numbers: true, Head: []string{
		"boundary", "kills", "steps lost", "effects doubled", "outcome unknown", "transcripts equal", "events equal",
		"hooks again", "extra requests", "go on p50", "p99",
	}}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, row.cells(string(row.Boundary)))
	}
	t.Rows = append(t.Rows, r.Total.cells("all"))
	return t
}

func (r Row) cells(name string) []string {
	return []string{
		name, strconv.Itoa(r.Kills), strconv.Itoa(r.StepsLost), strconv.Itoa(r.EffectsDoubled), strconv.Itoa(r.OutcomeUnknown),
		fmt.Sprintf("%d of %d", r.TranscriptsEqual, r.Kills), fmt.Sprintf("%d of %d", r.EventsEqual, r.Kills),
		strconv.Itoa(r.HooksAgain), strconv.Itoa(r.ExtraRequests),
		r.time(r.P50), r.time(r.P99),
	}
}

func (r Row) time(seconds float64) string {
	if len(r.times) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f s", seconds)
}

// holds notes that a promise was broken unless it was kept, and reports which.
func (p *chaos) holds(kept bool, promise Promise, t *trial, format string, args ...any) bool {
	if !kept {
		p.broke(promise, t, format, args...)
	}
	return kept
}

// broke notes that a promise was broken.
func (p *chaos) broke(promise Promise, t *trial, format string, args ...any) {
	b := Broken{Promise: promise, Agent: t.agent.Name, ID: t.id, Detail: fmt.Sprintf(format, args...)}
	p.mu.Lock()
	p.broken = append(p.broken, b)
	p.mu.Unlock()
	p.config.Progress("BROKEN " + b.String())
}
