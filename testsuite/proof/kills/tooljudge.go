package kills

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/process"
	"everstep/starter/render"
)

// unknown reports whether the first call must be one of unknown outcome: no other one may be.
func (t *toolTrial) unknown() bool { return t.class == ClassOnce && t.point != PointBeforeDispatch }

// effects counts what the other side has done by one key at the most: as a keyed call it does one once.
func (t *toolTrial) effects() int {
	var keys []string
	for _, line := range t.lines {
		if !line.Void && (t.class != ClassKeyed || !slices.Contains(keys, line.Key)) {
			keys = append(keys, line.Key)
		}
	}
	return len(keys)
}

// wanted is how many effects there are to be, where they are bounded.
func (t *toolTrial) wanted() int {
	if t.class == ClassOnce && t.point == PointBeforeEffect {
		return 0
	}
	return 1
}

// judge holds what an agent left against what is promised.
func (p *toolKills) judge(t *toolTrial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, t)
	holds := func(kept bool, promise Promise, format string, args ...any) {
		if !kept {
			b := Broken{Promise: promise, Agent: string(t.class) + " " + string(t.point), ID: t.id, Detail: fmt.Sprintf(format, args...)}
			p.broken = append(p.broken, b)
			p.config.Progress("BROKEN " + b.String())
		}
	}
	holds(!t.killed.IsZero(), PromiseGoesOn, "no worker was killed")
	holds(t.result.Outcome.Status == domain.StatusCompleted, PromiseOutcome, "it ended %s: %v", t.result.Outcome.Status, t.result.Error)
	holds(!t.class.bounded() || t.effects() == t.wanted(), PromiseEffects, "%d effects by one key, and not %d", t.effects(), t.wanted())
	if len(t.calls) == 0 || len(t.told) != len(t.calls) {
		holds(false, PromiseSteps, "%d calls have %d results", len(t.calls), len(t.told))
		return
	}
	for i, call := range t.calls {
		want := t.outcomeOf(i)
		holds(call.Outcome() == want, PromiseUnknown, "call %d is %s, and not %s", i+1, call.Outcome(), want)
		holds(strings.HasPrefix(t.told[i], "outcome unknown") == (want == domain.ToolUnknown), PromiseUnknown, "of call %d the model read %q", i+1, domain.Shorten(t.told[i], 120))
		holds(want != domain.ToolNotRun || !t.unknown() || call.Error != nil && call.Error.Code == domain.CodeUnsettled, PromiseUnknown, "call %d was not run, and not for the first", i+1)
	}
	var unknown []domain.ToolExecutionID
	if t.unknown() {
		unknown = append(unknown, t.calls[0].ID)
	}
	holds(slices.Equal(unknown, t.toldUnknown()), PromiseEvents, "its events tell of the unknown calls %s, and not %s", t.toldUnknown(), unknown)
	var shown []domain.ToolExecutionID
	for _, call := range t.status {
		shown = append(shown, call.ID)
	}
	holds(slices.Equal(unknown, shown), PromiseStatus, "its status tells of the unknown calls %s, and not %s", shown, unknown)
}

// outcomeOf is how one of the calls must have ended.
func (t *toolTrial) outcomeOf(i int) domain.ToolOutcome {
	switch {
	case t.unknown() && i == 0:
		return domain.ToolUnknown
	case t.unknown(), t.class == ClassVerified && t.point == PointBeforeEffect && i == 0:
		return domain.ToolNotRun
	}
	return domain.ToolOK
}

func (t *toolTrial) toldUnknown() (ids []domain.ToolExecutionID) {
	for _, event := range t.events {
		if e, ok := event.(domain.ToolOutcomeUnknown); ok {
			ids = append(ids, e.ToolExecutionID)
		}
	}
	return ids
}

// listPatience is how long the server may take until it lists an agent as it is.
const listPatience = 30 * time.Second

// judgeList holds the list of agents with unknown calls against those that have one.
func (p *toolKills) judgeList(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	for {
		wrong, err := p.wronglyListed(ctx)
		if err == nil && len(wrong) > 0 && process.Pause(ctx, askAgain) == nil {
			continue
		}
		for _, t := range wrong {
			p.broken = append(p.broken, Broken{Promise: PromiseStatus, Agent: string(t.class) + " " + string(t.point), ID: t.id, Detail: "the list of agents with unknown calls is wrong about it"})
		}
		return err
	}
}

func (p *toolKills) wronglyListed(ctx context.Context) (wrong []*toolTrial, err error) {
	listed := map[string]bool{}
	for a, err := range p.agents.List(ctx, client.ListOptions{Unknown: true}) {
		if err != nil {
			return nil, err
		}
		listed[a.ID] = a.Unknown == 1
	}
	for _, t := range p.done {
		if listed[t.id] != t.unknown() {
			wrong = append(wrong, t)
		}
	}
	return wrong, nil
}

// A ToolsReport is what the kills did.
type ToolsReport struct {
	Kills   int       `json:"kills"`
	Lanes   int       `json:"lanes"`
	Seconds float64   `json:"seconds"`
	Rows    []ToolRow `json:"rows"`
	Broken  []Broken  `json:"broken"`
}

// A ToolRow is what the kills over calls of one class at one point did.
type ToolRow struct {
	Class ToolClass `json:"class"`
	Point ToolPoint `json:"point"`
	Kills int       `json:"kills"`
	// Asked counts the calls that the models asked for.
	Asked int `json:"asked"`
	// MostEffects is how many effects one key has at the most; nil where there may be any number.
	MostEffects *int `json:"most_effects"`
	// OutcomeUnknown counts the calls of unknown outcome, and NotRun those that were not run because of them.
	OutcomeUnknown int `json:"outcome_unknown"`
	NotRun         int `json:"not_run"`
	// P50 and P99 are seconds from the kill to the next thing that the agent did.
	P50 float64 `json:"p50_seconds"`
	P99 float64 `json:"p99_seconds"`
}

func (p *toolKills) report(took time.Duration) ToolsReport {
	r := ToolsReport{Kills: len(p.done), Lanes: p.config.Lanes, Seconds: round(took), Rows: []ToolRow{}, Broken: append([]Broken{}, p.broken...)}
	for _, class := range ToolClasses() {
		for _, point := range ToolPoints() {
			r.Rows = append(r.Rows, p.row(toolJob{class, point}))
		}
	}
	return r
}

func (p *toolKills) row(of toolJob) ToolRow {
	row := ToolRow{Class: of.class, Point: of.point}
	var times []time.Duration
	for _, t := range p.done {
		if t.toolJob != of {
			continue
		}
		row.Kills++
		row.Asked += len(t.calls)
		times = append(times, t.wentOn)
		if of.class.bounded() {
			row.MostEffects = new(max(t.effects(), value(row.MostEffects)))
		}
		for _, call := range t.calls {
			switch call.Outcome() {
			case domain.ToolUnknown:
				row.OutcomeUnknown++
			case domain.ToolNotRun:
				row.NotRun++
			case domain.ToolOK, domain.ToolFailed, domain.ToolBlocked, domain.ToolRunning:
			}
		}
	}
	row.P50, row.P99 = round(percentile(times, 50)), round(percentile(times, 99))
	return row
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// Table is the report as people read it.
func (r ToolsReport) Table() render.Table {
	t := render.Table{Numbers: true, Head: []string{"class, killed", "kills", "calls asked for", "most effects", "outcome unknown", "not run", "go on p50", "p99"}}
	for _, row := range r.Rows {
		most := "any"
		if row.MostEffects != nil {
			most = strconv.Itoa(*row.MostEffects)
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%s, %s", row.Class, row.Point), strconv.Itoa(row.Kills), strconv.Itoa(row.Asked), most, strconv.Itoa(row.OutcomeUnknown),
			strconv.Itoa(row.NotRun), fmt.Sprintf("%.2f s", row.P50), fmt.Sprintf("%.2f s", row.P99),
		})
	}
	return t
}
