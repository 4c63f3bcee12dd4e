package inference_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		header http.Header
		want   time.Duration
		asked  bool
	}{
		"none":                   {},
		"a list with dates":      {http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:05:05 GMT, 5"}}, time.Minute, true},
		"a list with a date":     {http.Header{"Retry-After": {"120, Friday, 02-Jan-26 03:05:05 GMT"}}, 2 * time.Minute, true},
		"a zone by its name":     {http.Header{"Retry-After": {"Thu, 01 Jan 2026 19:05:05 PST"}}, time.Minute, true},
		"no day of the week":     {http.Header{"Retry-After": {"2 Jan 2026 03:05:05 UTC"}}, time.Minute, true},
		"one digit, no space":    {http.Header{"Retry-After": {"Fri,2 Jan 2026 04:05:05 +0100"}}, time.Minute, true},
		"C's form":               {http.Header{"Retry-After": {"Fri Jan  2 03:05:05 2026"}}, time.Minute, true},
		"UTC by its name":        {http.Header{"Retry-After": {"2026-01-02 03:05:05 UTC"}}, time.Minute, true},
		"no seconds":             {http.Header{"Retry-After": {"2026-01-02T03:05Z"}}, 55 * time.Second, true},
		"ISO 8601, short":        {http.Header{"Retry-After": {"20260102T030505Z"}}, time.Minute, true},
		"a day alone":            {http.Header{"Retry-After": {"2026-01-03"}}, 20*time.Hour + 55*time.Minute + 55*time.Second, true},
		"in quotes":              {http.Header{"Retry-After": {`"2026-01-02T03:05:05Z"`}}, time.Minute, true},
		"seconds":                {http.Header{"Retry-After": {"3"}}, 3 * time.Second, true},
		"fractions":              {http.Header{"Retry-After": {" 0.25 "}}, 250 * time.Millisecond, true},
		"milliseconds first":     {http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"5"}}, 5 * time.Millisecond, true},
		"zero milliseconds":      {http.Header{"Retry-After-Ms": {"0"}}, 0, true},
		"junk, then seconds":     {http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"x"}}, 2 * time.Second, true},
		"a date":                 {http.Header{"Retry-After": {now.Add(time.Minute).Format(http.TimeFormat)}}, time.Minute, true},
		"a date that has passed": {http.Header{"Retry-After": {now.Add(-time.Minute).Format(http.TimeFormat)}}, 0, true},
		"a zone":                 {http.Header{"Retry-After": {now.Add(time.Minute).In(time.FixedZone("", 3600)).Format(time.RFC1123Z)}}, time.Minute, true},
		"a date in UTC":          {http.Header{"Retry-After": {now.Add(time.Minute).Format(time.RFC1123)}}, time.Minute, true},
		"an older date":          {http.Header{"Retry-After": {now.Add(time.Minute).Format("Monday, 02-Jan-06 15:04:05 GMT")}}, time.Minute, true},
		"its zone":               {http.Header{"Retry-After": {now.Add(time.Minute).Format("Monday, 02-Jan-06 15:04:05 -0700")}}, time.Minute, true},
		"RFC 3339":               {http.Header{"Retry-After": {"2026-01-02T04:05:05.5+01:00"}}, time.Minute + time.Second/2, true},
		"ISO 8601":               {http.Header{"Retry-After": {"2026-01-02T04:05:05+0100"}}, time.Minute, true},
		"no zone":                {http.Header{"Retry-After": {"2026-01-02 03:05:05"}}, time.Minute, true},
		"since 1970":             {http.Header{"Retry-After": {fmt.Sprint(now.Unix() + 7)}}, 7 * time.Second, true},
		"a list":                 {http.Header{"Retry-After": {"5, 10"}}, 10 * time.Second, true},
		"a list with junk":       {http.Header{"Retry-After": {"soon, 10, 3"}}, 10 * time.Second, true},
		"lines":                  {http.Header{"Retry-After": {"5", now.Add(time.Minute).Format(http.TimeFormat)}}, time.Minute, true},
		"words":                  {http.Header{"Retry-After": {"12 seconds"}}, 12 * time.Second, true},
		"ISO 8601, a duration":   {http.Header{"Retry-After": {"PT1M30S"}}, 90 * time.Second, true},
		"by another name":        {http.Header{"X-Ratelimit-Retry-After": {"12"}}, 12 * time.Second, true},
		"of Azure, in any order": {http.Header{"X-Ms-Retry-After-Ms": {"1500"}, "Retry-After": {"9"}}, 1500 * time.Millisecond, true},
		"of a body":              {http.Header{"retry_after_seconds": {"12"}}, 12 * time.Second, true},
		"units":                  {http.Header{"Retry-After": {"1m30s"}}, 90 * time.Second, true},
		"junk":                   {http.Header{"Retry-After": {"soon"}}, 0, false},
		"negative":               {http.Header{"Retry-After": {"-5"}}, 0, false},
		"no number":              {http.Header{"Retry-After": {"NaN"}}, 0, false},
		"a day":                  {http.Header{"Retry-After": {"86400"}}, 24 * time.Hour, true},
		"for years":              {http.Header{"Retry-After": {"1e9"}}, 30 * 24 * time.Hour, true},
		"for ever":               {http.Header{"Retry-After": {"1e300"}}, 30 * 24 * time.Hour, true},
		"beyond numbers":         {http.Header{"Retry-After": {"1e999"}}, 30 * 24 * time.Hour, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			delay, asked := inference.RetryAfter(test.header, now)
			require.Equal(t, test.want, delay)
			require.Equal(t, test.asked, asked)
		})
	}
}

func TestWaitIn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for message, want := range map[string]time.Duration{
		"Rate limit reached. Please try again in 2.3s. Visit https://example.com/5s": 2300 * time.Millisecond,
		"Please retry in 1m30s.":                                   90 * time.Second,
		"try again in 350ms":                                       350 * time.Millisecond,
		"Try again in 6m0s":                                        6 * time.Minute,
		"Please retry after 26 seconds.":                           26 * time.Second,
		"please wait 2 minutes and 5 seconds":                      125 * time.Second,
		"Please wait for 1 hour, 2 min before you try again":       62 * time.Minute,
		"Request was throttled. Expected available in 15 seconds.": 15 * time.Second,
		"Please wait 5 more seconds":                               5 * time.Second,
		"Please retry your requests after 20 seconds.":             20 * time.Second,
		"retry in ~30 seconds":                                     30 * time.Second,
		"Too many requests, come back in 10 s":                     10 * time.Second,
		"please send the next request in 15 seconds":               15 * time.Second,
		"try again within 5 seconds":                               5 * time.Second,
		"Resource exhausted, retryDelay: 12s":                      12 * time.Second,
		"back off for 1h30m":                                       90 * time.Minute,
		"You can try again at 2026-01-02T03:05:05Z":                time.Minute,
		"The limit resets on 2026-01-02 03:05:05 UTC.":             time.Minute,
		"You can try again at 2026-01-02 03:05:05.":                time.Minute,
		"available again at 2026-01-02T04:05:05+01:00, not before": time.Minute,
		"try again with 3 models":                                  0,
		"wait for 5 more results":                                  0,
		"retry 3 hosts":                                            0,
		"use again 4 different":                                    0,
		"Retry-After: none":                                        0,
		"try again later":                                          0,
		"try again in 3":                                           0,
		"limit of 30 s for 5m models":                              0,
		"try again in 99999999999999999999 days":                   30 * 24 * time.Hour,
	} {
		delay, asked := inference.WaitIn(message, now)
		require.Equal(t, want, delay, message)
		require.Equal(t, want > 0, asked, message)
	}
}

func TestLimitReset(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"none": {},
		"of what is used up": {map[string]string{
			"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "8.64s",
			"X-Ratelimit-Remaining-Tokens": "100", "X-Ratelimit-Reset-Tokens": "6m0s",
		}, 8640 * time.Millisecond},
		"the latest":           {map[string]string{"X-Ratelimit-Reset-Requests": "1s", "X-Ratelimit-Reset-Tokens": "6m0s"}, 6 * time.Minute},
		"a moment":             {map[string]string{"Anthropic-Ratelimit-Tokens-Reset": "2026-01-02T03:04:08Z", "Anthropic-Ratelimit-Tokens-Remaining": "0"}, 3 * time.Second},
		"milliseconds of 1970": {map[string]string{"X-Ratelimit-Reset": fmt.Sprint(now.UnixMilli() + 1500)}, 1500 * time.Millisecond},
		"the standard":         {map[string]string{"Ratelimit": `"api";r=0;t=30`}, 30 * time.Second},
		"its older form":       {map[string]string{"Ratelimit": "limit=10, remaining=0, reset=30"}, 30 * time.Second},
		"something is left":    {map[string]string{"Ratelimit": `"api";r=7;t=30`}, 0},
		"junk":                 {map[string]string{"X-Ratelimit-Reset": "soon"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			for k, v := range test.header {
				header.Set(k, v)
			}
			require.Equal(t, test.want, inference.LimitReset(header, now))
		})
	}
}
