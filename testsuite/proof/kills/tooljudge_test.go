package kills

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// unknownTrial is one of which nobody knows whether its first call took effect, all as promised: the model insisted.
func unknownTrial() *toolTrial {
	t := &toolTrial{toolJob: toolJob{ClassOnce, PointInEffect}, id: "0e9a4f0c-7c52-4c8a-9b1e-2f6f5f0d3c11", killed: time.Now(), wentOn: time.Second}
	t.result.Outcome.Status = domain.StatusCompleted
	first, second := domain.ToolExecutionID{UUID: uuid.UUID{1}}, domain.ToolExecutionID{UUID: uuid.UUID{2}}
	t.calls = []domain.ToolExecution{
		{ID: first, StartedAt: time.Now(), CompletedAt: time.Now(), Error: domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "outcome unknown")},
		{ID: second, CompletedAt: time.Now(), Error: domain.CodedErrorf(domain.Denied, domain.CodeUnsettled, "not run")},
	}
	t.told = []string{"outcome unknown: its worker was lost", "not run"}
	t.events = []domain.Event{domain.ToolOutcomeUnknown{ToolExecutionID: first}}
	t.status = []domain.UnknownCall{{ID: first}}
	t.lines = []effect{{Call: first, Key: "k"}}
	return t
}

// TestToolsAreJudged: whatever is not as promised is found.
func TestToolsAreJudged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil  func(*toolTrial)
		broken []Promise
	}{
		"as promised":           {func(*toolTrial) {}, nil},
		"no kill":               {func(one *toolTrial) { one.killed = time.Time{} }, []Promise{PromiseGoesOn}},
		"it failed":             {func(one *toolTrial) { one.result.Outcome.Status = domain.StatusFailed }, []Promise{PromiseOutcome}},
		"twice":                 {func(one *toolTrial) { one.lines = append(one.lines, one.lines[0]) }, []Promise{PromiseEffects}},
		"never":                 {func(one *toolTrial) { one.lines = nil }, []Promise{PromiseEffects}},
		"a result is missing":   {func(one *toolTrial) { one.told = one.told[:1] }, []Promise{PromiseSteps}},
		"it ran again":          {func(one *toolTrial) { one.calls[1].Error, one.calls[1].StartedAt = nil, time.Now() }, []Promise{PromiseUnknown, PromiseUnknown}},
		"not run for another":   {func(one *toolTrial) { one.calls[1].Error.Code = domain.CodeNotRun }, []Promise{PromiseUnknown}},
		"the model is not told": {func(one *toolTrial) { one.told[0] = "done" }, []Promise{PromiseUnknown}},
		"no event":              {func(one *toolTrial) { one.events = nil }, []Promise{PromiseEvents}},
		"not in its status":     {func(one *toolTrial) { one.status = nil }, []Promise{PromiseStatus}},
		"unknown for no reason": {func(one *toolTrial) { one.point = PointBeforeDispatch },
			[]Promise{PromiseUnknown, PromiseUnknown, PromiseUnknown, PromiseEvents, PromiseStatus}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, one := &toolKills{config: ToolsConfig{Progress: func(string) {}}}, unknownTrial()
			test.spoil(one)
			p.judge(one)
			var broken []Promise
			for _, b := range p.broken {
				broken = append(broken, b.Promise)
			}
			require.Equal(t, test.broken, broken, "%v", p.broken)
		})
	}
}

// TestEffectsOfAKey: a keyed one is made once a key, whatever was asked for; one that was made void is none.
func TestEffectsOfAKey(t *testing.T) {
	t.Parallel()
	lines := []effect{{Key: "a"}, {Key: "a"}, {Void: true}}
	require.Equal(t, 1, (&toolTrial{toolJob: toolJob{class: ClassKeyed}, lines: lines}).effects())
	require.Equal(t, 2, (&toolTrial{toolJob: toolJob{class: ClassOnce}, lines: lines}).effects())
	require.Equal(t, 2, (&toolTrial{toolJob: toolJob{class: ClassKeyed}, lines: append(lines, effect{Key: "b"})}).effects())
}

// TestToolRows: a row adds up what the kills of its kind did.
func TestToolRows(t *testing.T) {
	t.Parallel()
	p := &toolKills{done: []*toolTrial{unknownTrial(), unknownTrial(), {toolJob: toolJob{ClassReadOnly, PointInEffect}}}}
	row := p.row(toolJob{ClassOnce, PointInEffect})
	require.Equal(t, ToolRow{
		Class: ClassOnce, Point: PointInEffect, Kills: 2, Asked: 4, MostEffects: new(1), OutcomeUnknown: 2, P50: 1, P99: 1, NotRun: 2,
	}, row)
	require.Nil(t, p.row(toolJob{ClassReadOnly, PointInEffect}).MostEffects)
	report := p.report(time.Second)
	require.Len(t, report.Rows, len(ToolClasses())*len(ToolPoints()))
	require.Equal(t, 3, report.Kills)
	require.Len(t, report.Table().Rows, len(report.Rows))
}
