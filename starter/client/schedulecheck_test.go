package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain/contract"
)

// TestSchedulesThatAreRefused before anything is created, by the field that is wrong.
func TestSchedulesThatAreRefused(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	good := func() Schedule {
		return Schedule{Name: "digest", When: When{Cron: []string{"@yearly"}}, Start: Start{Prompt: "go", Definition: scriptedAgent()}}
	}
	require.NoError(t, good().Check(now))
	for says, change := range map[string]func(*Schedule){
		"never comes: day of month":     func(s *Schedule) { s.When.Cron = []string{"0 0 31 2 *"} },
		"cron, every: neither is given": func(s *Schedule) { s.When = When{} },
		"every: is 500ms":               func(s *Schedule) { s.When = When{Every: contract.Span(500 * time.Millisecond)} },
		"every: is -1m0s":               func(s *Schedule) { s.When = When{Every: contract.Span(-time.Minute)} },
		"offset: is 2m0s": func(s *Schedule) {
			s.When = When{Every: contract.Span(time.Minute), Offset: contract.Span(2 * time.Minute)}
		},
		`time_zone: there is no "Mars/Olympus"`:   func(s *Schedule) { s.When.TimeZone = "Mars/Olympus" },
		"time_zone: Local":                        func(s *Schedule) { s.When.TimeZone = "Local" },
		"never comes before end_at, 2030-01-31":   func(s *Schedule) { s.When.EndAt = now.Add(time.Minute) },
		"never comes before end_at, 2020-":        func(s *Schedule) { s.When.EndAt = now.AddDate(-10, 0, 0) },
		"name: has ' '":                           func(s *Schedule) { s.Name = "two words" },
		"name: is empty":                          func(s *Schedule) { s.Name = "" },
		`overlap: "Sometimes" is none of Skip`:    func(s *Schedule) { s.Overlap = "Sometimes" },
		"overlap: TerminateOther is none":         func(s *Schedule) { s.Start.ID, s.Overlap = "notes", OverlapTerminateOther },
		"overlap: AllowAll is none for a session": func(s *Schedule) { s.Start.ID, s.Overlap = "notes", OverlapAllowAll },
		"deadline: is one time":                   func(s *Schedule) { s.Start.Budget.Deadline = &now },
		"catchup_window: is 1s":                   func(s *Schedule) { s.CatchupWindow = time.Second },
		`id: "a/b" is no name of a session`:       func(s *Schedule) { s.Start.ID = "a/b" },
	} {
		schedule := good()
		change(&schedule)
		err := schedule.Check(now)
		requireClass(t, err, Invalid)
		require.ErrorContains(t, err, says)
	}
}
