package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	schedulepb "go.temporal.io/api/schedule/v1"

	"everstep/domain"
)

// TestACalendarOfAnotherProgramIsNotLost: an update that would write it anew is refused, since nobody knows its line.
func TestACalendarOfAnotherProgramIsNotLost(t *testing.T) {
	t.Parallel()
	when := whenOf(&schedulepb.ScheduleSpec{StructuredCalendar: []*schedulepb.StructuredCalendarSpec{{}, {Comment: "@daily"}}})
	require.Equal(t, []string{otherCalendar, "@daily"}, when.Cron)
	require.ErrorContains(t, when.check(time.Now()), `cron: "(by another program)" has 3 fields`)
}

func TestWhatAnUpdateOfAScheduleChanges(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	schedule := Schedule{When: When{Cron: []string{"@daily"}, StartAt: start}}
	schedule.Start.Definition.Budget.MaxSteps = new(int64(5))
	for name, c := range map[string]struct {
		change func(*Schedule)
		fields []string
	}{
		"nothing":                      {func(*Schedule) {}, nil},
		"the same time":                {func(s *Schedule) { s.When.StartAt = start.In(time.FixedZone("east", 3600)) }, nil},
		"no values where none were":    {func(s *Schedule) { s.Start.Trusted, s.When.Jitter = domain.Trusted{}, 0 }, nil},
		"the default overlap":          {func(s *Schedule) { s.Overlap = OverlapSkip }, nil},
		"where the definition is from": {func(s *Schedule) { s.Start.Definition.Source = "b.md" }, nil},
		"when it runs":                 {func(s *Schedule) { s.When = When{Every: 60e9} }, []string{"cron", "every", "start_at"}},
		"a limit":                      {func(s *Schedule) { s.Start.Budget.MaxSteps = new(int64(3)) }, []string{"budget"}},
		"a limit that caps nothing":    {func(s *Schedule) { s.Start.Budget.MaxSteps = new(int64(9)) }, []string{"budget"}},
		"the definition's limit": {func(s *Schedule) {
			s.Start.Budget.MaxSteps, s.Start.Definition.Budget.MaxSteps = new(int64(5)), new(int64(9))
		}, []string{"budget", "budget_of_definition"}},
		"a model of a run's own":  {func(s *Schedule) { s.Model = &domain.LLMConfig{Model: "m"} }, nil},
		"a model of the session":  {func(s *Schedule) { s.Start.ID, s.Model = "notes", &domain.LLMConfig{Model: "m"} }, []string{"session", "session_model"}},
		"tools and what it is to": {func(s *Schedule) { s.Start.Definition.Tools, s.Start.Prompt = []string{"pay"}, "go" }, []string{"prompt", "tools"}},
	} {
		after := schedule
		c.change(&after)
		changed, err := schedule.differing(after)
		require.NoError(t, err, name)
		var fields []string
		for _, d := range changed {
			fields = append(fields, d.Field)
		}
		require.Equal(t, c.fields, fields, name)
	}
	after := schedule
	after.Start.Trusted = domain.Trusted{"customer": []byte("{")}
	_, err := schedule.differing(after)
	require.Error(t, err, "it cannot be written")
}
