package inference_test

import (
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
		"seconds":                {http.Header{"Retry-After": {"3"}}, 3 * time.Second, true},
		"fractions":              {http.Header{"Retry-After": {" 0.25 "}}, 250 * time.Millisecond, true},
		"milliseconds first":     {http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"5"}}, 5 * time.Millisecond, true},
		"zero milliseconds":      {http.Header{"Retry-After-Ms": {"0"}}, 0, true},
		"junk, then seconds":     {http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"x"}}, 2 * time.Second, true},
		"a date":                 {http.Header{"Retry-After": {now.Add(time.Minute).Format(http.TimeFormat)}}, time.Minute, true},
		"a date that has passed": {http.Header{"Retry-After": {now.Add(-time.Minute).Format(http.TimeFormat)}}, 0, true},
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
