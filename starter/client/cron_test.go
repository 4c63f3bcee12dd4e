package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
		"30 40 14 23 11 * 2026": "2026-11-23T14:40:30Z",
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
	for _, line := range []string{"0 0 31 2 *", "0 0 31 4,6,9 *", "0 0 1 1 * 2020", "0 0 29 2 * 2027", "0 0 25 12 MON 2027"} {
		c, err := readCron(line)
		require.NoError(t, err, line)
		_, ok := c.next(from)
		require.False(t, ok, line)
		require.ErrorContains(t, When{Cron: []string{line}}.check(from), "never comes: day of month, month, day of week and year have to match together, and do on no day from 2026-11-23 to 2100", line)
	}
}

func TestCronIsRefused(t *testing.T) {
	t.Parallel()
	for line, why := range map[string]string{
		"": "has 0 fields", "* * * *": "has 4 fields; give 5", "60 * * * *": `minute: "60" is none of *, numbers from 0 to 59, ranges such as 0-4`,
		"* 24 * * *": "hour:", "* * 0 * *": "day of month:", "* * * 13 *": "month:", "* * * * 8": "day of week:",
		"* * * FOO *": "their names such as FEB", "*/0 * * * *": `minute: "*/0"`, "30-10 * * * *": `minute: "30-10"`, "*/99999999999999999999 * * * *": "minute:",
		"@every 5m": "give it as every", "@often": "or one of @hourly", "TZ=UTC * * * * *": "names a time zone",
		"0 0 1 1 * 1999": "year:", "0/-1 * * * *": "minute:", ", * * * *": "minute:", "0 9 * * 1 #x": "year:", "@daily #x": "has 2 fields",
	} {
		_, err := readCron(line)
		require.ErrorContains(t, err, why, line)
	}
}

func TestCronStepsOverSunday(t *testing.T) {
	t.Parallel()
	c, err := readCron("*/30  9-10 * * 5-7")
	require.NoError(t, err)
	require.Equal(t, cron{{0}, {0, 30}, {9, 10}, c[dayOfMonth], c[month], {0, 5, 6}, c[year]}, c)
}
