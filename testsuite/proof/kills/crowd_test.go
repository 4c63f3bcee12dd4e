package kills

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestQuota: the provider takes what the quota allows over a minute and over a
// second, and says when the next may come.
func TestQuota(t *testing.T) {
	t.Parallel()
	p := &quotaServer{CrowdConfig: CrowdConfig{Agents: 2, Steps: 30, RequestsPerMinute: 40}, asked: make([]int, 2)}
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

// TestCrowdJudge names each promise that a report breaks.
func TestCrowdJudge(t *testing.T) {
	t.Parallel()
	good := CrowdReport{Agents: 2, Completed: 2, Limited: true, Requests: 100, Refused: 1, Fairness: 0.99, Waiting: 1}
	require.Empty(t, good.judge())
	for want, change := range map[string]func(*CrowdReport){
		"1 of 2 agents did not complete":                           func(r *CrowdReport) { r.Completed = 1 },
		"the provider refused 2 requests beside the 100 it took":   func(r *CrowdReport) { r.Refused = 2 },
		"at half time the agents had not had the same: 0.940 of 1": func(r *CrowdReport) { r.Fairness = 0.94 },
		"no status said that an agent waits for its turn":          func(r *CrowdReport) { r.Waiting = 0 },
	} {
		r := good
		change(&r)
		require.Equal(t, []string{want}, r.judge())
		r.Limited = false
		if r.Completed == r.Agents {
			require.Empty(t, r.judge(), "without a limit the rest is only shown")
		}
	}
}
