package crowd

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// A Report is what a crowd did.
type Report struct {
	Agents            int  `json:"agents"`
	Workers           int  `json:"workers"`
	RequestsPerMinute int  `json:"requests_per_minute"`
	Limited           bool `json:"limited"`
	// Completed counts the agents that ended as they should.
	Completed int `json:"completed"`
	// Requests were taken by the provider, Refused were too many.
	Requests int `json:"requests"`
	Refused  int `json:"refused"`
	// BusiestMinute and BusiestSecond are the most that were taken within any
	// such time.
	BusiestMinute int `json:"busiest_minute"`
	BusiestSecond int `json:"busiest_second"`
	// Fairness is Jain's index of the agents' requests when half of all were
	// taken: 1 where each has had the same, 1/Agents where one has had all.
	// (Jain, Chiu and Hawe, 1984: (Σx)² / (n·Σx²).)
	Fairness float64 `json:"fairness"`
	// First and Last are when agents ended.
	FirstSeconds float64 `json:"first_end_seconds"`
	LastSeconds  float64 `json:"last_end_seconds"`
	// Statuses were asked for while agents worked; Waiting of them said that the
	// agent waits for its turn.
	Statuses int `json:"statuses"`
	Waiting  int `json:"statuses_waiting"`
	// Retried counts inferences that took more than one attempt.
	Retried int `json:"inferences_retried"`
	// Broken says which promises were not kept; empty: all were.
	Broken []string `json:"broken,omitempty"`
}

// Table is the report as people read it.
func (r Report) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, format string, values ...any) {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, values...)) // a builder takes all
	}
	row("agents completed", "%d of %d, on %d workers", r.Completed, r.Agents, r.Workers)
	row("requests taken", "%d", r.Requests)
	row("requests refused (429)", "%d", r.Refused)
	row("busiest minute", "%d requests; the quota is %d", r.BusiestMinute, r.RequestsPerMinute)
	row("busiest second", "%d requests", r.BusiestSecond)
	row("fairness at half time", "%.3f of 1", r.Fairness)
	row("agents ended", "after %.1f to %.1f s", r.FirstSeconds, r.LastSeconds)
	row("statuses that said waiting", "%d of %d", r.Waiting, r.Statuses)
	row("inferences retried", "%d", r.Retried)
	_ = w.Flush() // a builder takes all
	return b.String()
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
	// leastFair is the index below which agents have not had their share.
	leastFair = 0.95
	// mostRefused is the share of requests above which refusals are a storm, in
	// percent.
	mostRefused = 1
)

// judge says which promises were broken. Without a limit there are none.
func (r Report) judge() []string {
	var broken []string
	if r.Completed < r.Agents {
		broken = append(broken, fmt.Sprintf("%d of %d agents did not complete", r.Agents-r.Completed, r.Agents))
	}
	if !r.Limited {
		return broken
	}
	if r.Refused*100 > r.Requests*mostRefused {
		broken = append(broken, fmt.Sprintf("the provider refused %d requests beside the %d it took", r.Refused, r.Requests))
	}
	if r.Fairness < leastFair {
		broken = append(broken, fmt.Sprintf("at half time the agents had not had the same: %.3f of 1", r.Fairness))
	}
	if r.Waiting == 0 {
		broken = append(broken, "no status said that an agent waits for its turn")
	}
	return broken
}
