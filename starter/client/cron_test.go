package client

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain/contract"
)

func TestCronComes(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 23, 14, 40, 30, 0, time.UTC) // a Monday
	for line, want := range map[string]string{
		"* * * * *":             "2026-11-23T14:41:00Z",
		"*/15 * * * *":          "2026-11-23T14:45:00Z",
		"0 9 * * MON-FRI":       "2026-11-24T09:00:00Z",
		"0 9 * * 7":             "2026-11-29T09:00:00Z",
		"0 9 * * sat,0":         "2026-11-28T09:00:00Z",
		"0 0 29 2 *":            "2028-02-29T00:00:00Z",
		"0 0 29 FEB MON":        "2044-02-29T00:00:00Z",
		"30 40 14 23 11 ? 2026": "2026-11-23T14:40:30Z",
		"0 0 1 1 * 2099":        "2099-01-01T00:00:00Z",
		"@monthly":              "2026-12-01T00:00:00Z",
		"10-20/5,50 14 * * *":   "2026-11-23T14:50:00Z",
		"5/20 3 * * *":          "2026-11-24T03:05:00Z",
	} {
		c, err := readCron(line)
		require.NoError(t, err, line)
		at, ok := c.next(from)
		require.True(t, ok, line)
		require.Equal(t, want, at.Format(time.RFC3339), line)
	}
	for line, why := range map[string]string{
		"0 0 31 2 *":         "day of month: no month that it names has a day 31",
		"0 0 31 4,6,9 *":     "has a day 31",
		"0 0 1 1 * 2020":     "year: 2020 is over",
		"0 0 29 2 * 2027":    "no date up to 2100 fits",
		"0 0 25 12 MON 2027": "no date up to 2100 fits",
	} {
		c, err := readCron(line)
		require.NoError(t, err, line)
		_, ok := c.next(from)
		require.False(t, ok, line)
		require.ErrorContains(t, c.never(from), why, line)
	}
}

func TestCronIsRefused(t *testing.T) {
	t.Parallel()
	for line, why := range map[string]string{
		"": "is empty", "* * * *": "has 4 fields; give 5", "60 * * * *": `minute: "60" is no number from 0 to 59`,
		"* 24 * * *": "hour:", "* * 0 * *": "day of month:", "* * * 13 *": "month:", "* * * * 8": "day of week:",
		"* * * FOO *": "or a name such as FEB", "*/0 * * * *": "is no step", "30-10 * * * *": "ends before it begins",
		"@every 5m": "give it as every", "@often": "is none of @hourly", "TZ=UTC * * * * *": "names a time zone",
		"0 0 1 1 * 1999": "year:", "0/-1 * * * *": "is no step", ", * * * *": "minute:",
	} {
		_, err := readCron(line)
		require.ErrorContains(t, err, why, line)
	}
}

func TestCronAsTheServerTakesIt(t *testing.T) {
	t.Parallel()
	c, err := readCron("*/30  9-10 * * 5-7")
	require.NoError(t, err)
	spec := c.spec()
	one := func(low, high int) sdk.ScheduleRange { return sdk.ScheduleRange{Start: low, End: high, Step: 1} }
	require.Equal(t, []sdk.ScheduleRange{one(0, 0), one(30, 30)}, spec.Minute)
	require.Equal(t, []sdk.ScheduleRange{one(9, 10)}, spec.Hour)
	require.Equal(t, []sdk.ScheduleRange{one(1, 31)}, spec.DayOfMonth)
	require.Equal(t, []sdk.ScheduleRange{one(0, 0), one(5, 6)}, spec.DayOfWeek)
	require.Nil(t, spec.Year)
	require.Equal(t, "*/30 9-10 * * 5-7", spec.Comment)
}

// TestWhatAListTellsOfAnUpdatedSchedule: the mark and the spec before the memo, which never changes, but for lines that
// the server's list leaves out.
func TestWhatAListTellsOfAnUpdatedSchedule(t *testing.T) {
	t.Parallel()
	memo := scheduleMemo{Model: "scripted/a", When: When{Cron: []string{"@daily"}}}
	require.Equal(t, memo, memo.over(nil))
	require.Equal(t, memo, memo.over(&sdk.ScheduleSpec{Calendars: []sdk.ScheduleCalendarSpec{{Comment: "@daily"}}}))
	now := memo.over(&sdk.ScheduleSpec{Intervals: []sdk.ScheduleIntervalSpec{{Every: time.Hour}}})
	require.Equal(t, When{Every: contract.Span(time.Hour)}, now.When)

	for _, mark := range []scheduleMark{{}, {Session: "notes"}, {Session: strings.Repeat("é", 90), Model: "scripted/" + strings.Repeat("ü/", 400)}} {
		spec := sdk.ScheduleSpec{Calendars: []sdk.ScheduleCalendarSpec{{Comment: "@daily"}}}
		for _, skip := range marked(mark) {
			require.LessOrEqual(t, len(skip.GetComment()), maxComment)
			require.True(t, utf8.ValidString(skip.GetComment()))
			spec.Skip = append(spec.Skip, sdk.ScheduleCalendarSpec{Year: []sdk.ScheduleRange{{Start: markYear, End: markYear}}, Comment: skip.GetComment()})
		}
		require.LessOrEqual(t, len(spec.Skip), listedLines)
		require.Equal(t, scheduleMemo{mark.Session, mark.Model, memo.When}, memo.over(&spec))
	}

	var many When
	var listed sdk.ScheduleSpec
	for hour := range 12 {
		many.Cron = append(many.Cron, fmt.Sprintf("0 %d * * *", hour))
	}
	for _, line := range many.Cron[:listedLines] {
		listed.Calendars = append(listed.Calendars, sdk.ScheduleCalendarSpec{Comment: line})
	}
	require.Equal(t, many, scheduleMemo{When: many}.over(&listed).When, "the server's list has ten of them")
	listed.Calendars[0].Comment = "@hourly"
	require.Equal(t, "@hourly", scheduleMemo{When: many}.over(&listed).When.Cron[0], "it was updated")
	require.Equal(t, []string{otherCalendar}, whenOf(&sdk.ScheduleSpec{Calendars: make([]sdk.ScheduleCalendarSpec, 1)}).Cron)
}
