package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/testsuite/proof/report"
)

// TestQuota: the provider takes what the quota allows over a minute and over a
// second, and says when the next may come.
func TestQuota(t *testing.T) {
	t.Parallel()
	p := newQuotaServer(&crowd{Agents: 2, Steps: 30, RequestsPerMinute: 40})
	now := time.Unix(0, 0)
	require.Zero(t, p.take(0, now))
	require.Zero(t, p.take(1, now))
	require.Equal(t, time.Second, p.take(0, now), "two a second")
	for range 19 {
		now = now.Add(time.Second)
		require.Zero(t, p.take(0, now))
		require.Zero(t, p.take(1, now))
	}
	now = now.Add(time.Second)
	require.Equal(t, 40*time.Second, p.take(0, now), "forty a minute, the first of which were 20 s ago")
	now = now.Add(40 * time.Second)
	require.Zero(t, p.take(0, now))
	require.Equal(t, 41, len(p.taken))
	require.Equal(t, 2, p.refused)
	require.Equal(t, 40, p.busiest(time.Minute))
	require.Equal(t, 2, p.busiest(time.Second))
	require.Equal(t, []int{15, 15}, p.halfway)
}

func TestJain(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 1, jain([]int{3, 3, 3}), 1e-9)
	require.InDelta(t, 0.25, jain([]int{8, 0, 0, 0}), 1e-9)
	require.Zero(t, jain(nil))
	require.InDelta(t, 1, fairness([]int{2, 2, 1, 2, 1, 1}), 1e-9, "nine requests cannot be shared out among six otherwise")
	require.InDelta(t, 0.25, fairness([]int{8, 0, 0, 0}), 1e-9)
	require.Less(t, fairness([]int{3, 2, 2, 1, 1, 0}), leastFair)
	require.Zero(t, fairness([]int{0, 0}))
	require.Zero(t, fairness(nil))
}

// TestBrokenCrowds names each promise that a crowd breaks.
func TestBrokenCrowds(t *testing.T) {
	t.Parallel()
	for detail, change := range map[string]func(*crowd){
		"":                               func(*crowd) {},
		"1 of 2 agents did not complete": func(c *crowd) { c.found.completed = 1 },
		"the provider refused 2 requests beside the 100 it took":   func(c *crowd) { c.quota.refused = 2 },
		"at half time the agents had not had the same: 0.500 of 1": func(c *crowd) { c.quota.halfway = []int{50, 0} },
		"no status said that an agent waits for its turn":          func(c *crowd) { c.found.waiting = 0 },
	} {
		c := &crowd{Agents: 2, found: crowdFigures{completed: 2, waiting: 1}}
		c.quota = newQuotaServer(c)
		c.quota.taken, c.quota.refused, c.quota.halfway = make([]time.Time, 100), 1, []int{25, 25}
		change(c)
		var want []string
		if detail != "" {
			want = []string{detail}
		}
		require.Equal(t, want, details(c.report()))
		if c.Unlimited = true; c.found.completed == c.Agents {
			require.Empty(t, c.report().Broken, "without a limit the rest is only shown")
		}
	}
}

func details(r report.Report) (all []string) {
	for _, b := range r.Broken {
		all = append(all, b.Detail)
	}
	return all
}
