package kills

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A CrowdReport is what a crowd did.
type CrowdReport struct {
	Agents            int  `json:"agents"`
	Workers           int  `json:"workers"`
	RequestsPerMinute int  `json:"requests_per_minute"`
	Limited           bool `json:"limited"`
	Completed         int  `json:"completed"` // counts the agents that ended as they should
	Requests          int  `json:"requests"`  // those that the provider took; Refused were too many
	Refused           int  `json:"refused"`
	// BusiestMinute and BusiestSecond are the most that were taken within any
	// such time.
	BusiestMinute int `json:"busiest_minute"`
	BusiestSecond int `json:"busiest_second"`
	// Fairness is Jain's index of the agents' requests when half of all were
	// taken: 1 where each has had the same, as far as whole requests can be shared out, about
	// 1/Agents where one has had all. (Jain, Chiu and Hawe, 1984: (Σx)² / (n·Σx²).)
	Fairness     float64 `json:"fairness"`
	FirstSeconds float64 `json:"first_end_seconds"` // First and Last are when agents ended
	LastSeconds  float64 `json:"last_end_seconds"`
	// Statuses were asked for meanwhile; Waiting of them said that the agent waits.
	Statuses int `json:"statuses"`
	Waiting  int `json:"statuses_waiting"`
	Retried  int `json:"inferences_retried"` // counts inferences that took more than one attempt
	// Broken says which promises were not kept; empty: all were.
	Broken []string `json:"broken,omitempty"`
}

// Table is the report as people read it.
func (r CrowdReport) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"agents completed", fmt.Sprintf("%d of %d, on %d workers", r.Completed, r.Agents, r.Workers)},
		{"requests taken", strconv.Itoa(r.Requests)},
		{"requests refused (429)", strconv.Itoa(r.Refused)},
		{"busiest minute", fmt.Sprintf("%d requests; the quota is %d", r.BusiestMinute, r.RequestsPerMinute)},
		{"busiest second", fmt.Sprintf("%d requests", r.BusiestSecond)},
		{"fairness at half time", fmt.Sprintf("%.3f of 1", r.Fairness)},
		{"agents ended", fmt.Sprintf("after %.1f to %.1f s", r.FirstSeconds, r.LastSeconds)},
		{"statuses that said waiting", fmt.Sprintf("%d of %d", r.Waiting, r.Statuses)},
		{"inferences retried", strconv.Itoa(r.Retried)},
	} {
		_, _ = fmt.Fprintln(w, row[0]+"\t"+row[1]) // a builder takes all
	}
	_ = w.Flush()
	return b.String()
}

// fairness is Jain's index, of the best that there can be where the sum does not divide.
func fairness(shares []int) float64 {
	even, sum := make([]int, len(shares)), 0
	for _, x := range shares {
		sum += x
	}
	if sum == 0 {
		return 0
	}
	for i := range even {
		even[i] = (sum + i) / len(shares)
	}
	return jain(shares) / jain(even)
}

// jain is Jain's index of fairness.
func jain(shares []int) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

const (
	leastFair   = 0.95 // the index below which agents have not had their share
	mostRefused = 1    // percent of requests above which refusals are a storm
)

// judge says which promises were broken. Without a limit there are none but that
// all complete.
func (r CrowdReport) judge() []string {
	var broken []string
	hold := func(kept bool, format string, values ...any) {
		if !kept {
			broken = append(broken, fmt.Sprintf(format, values...))
		}
	}
	hold(r.Completed >= r.Agents, "%d of %d agents did not complete", r.Agents-r.Completed, r.Agents)
	if r.Limited {
		hold(r.Refused*100 <= r.Requests*mostRefused, "the provider refused %d requests beside the %d it took", r.Refused, r.Requests)
		hold(r.Fairness >= leastFair, "at half time the agents had not had the same: %.3f of 1", r.Fairness)
		hold(r.Waiting > 0, "no status said that an agent waits for its turn")
	}
	return broken
}
