package kills

import (
	"context"
	"fmt"
	"time"

	"everstep/domain"
)

// block is how many turns of a long session are one row of its report.
const block = 30

// A chain adds up the bytes of a session's histories, run by run.
type chain struct {
	load     *load
	workflow string
	// run is the newest, runs how many there were, and closed what those before it take.
	run    string
	runs   int
	closed int64
}

// grown is what all runs take by now.
func (c *chain) grown(ctx context.Context) (int64, error) {
	described, err := c.load.temporal.DescribeWorkflowExecution(ctx, c.workflow, "")
	if err != nil {
		return 0, err
	}
	info := described.GetWorkflowExecutionInfo()
	if run := info.GetExecution().GetRunId(); run != c.run {
		if c.run != "" {
			before, err := c.load.temporal.DescribeWorkflowExecution(ctx, c.workflow, c.run)
			if err != nil {
				return 0, err
			}
			c.closed += before.GetWorkflowExecutionInfo().GetHistorySizeBytes()
		}
		c.run, c.runs = run, c.runs+1
	}
	return c.closed + info.GetHistorySizeBytes(), nil
}

// turns has one session converse for long, and measures each turn.
func (l *load) turns(ctx context.Context) (*TurnsReport, error) {
	id := l.prefix + "-long"
	c := &chain{load: l, workflow: domain.WorkflowID(id)}
	r := &TurnsReport{Turns: l.Turns}
	var times []time.Duration
	var before, grown int64
	told := time.Now()
	for n := 1; n <= l.Turns; n++ {
		began := time.Now()
		var err error
		if n == 1 {
			err = l.open(ctx, id)
		} else {
			err = l.turn(ctx, id, n)
		}
		times = append(times, time.Since(began))
		if err == nil {
			grown, err = c.grown(ctx)
		}
		if err != nil {
			return r, fmt.Errorf("turn %d of %d: %w", n, l.Turns, err)
		}
		if n%block == 0 || n == l.Turns {
			r.Blocks = append(r.Blocks, TurnBlock{
				From: n - len(times) + 1, To: n, Runs: c.runs, BytesATurn: (grown - before) / int64(len(times)),
				P50: round(percentile(times, 50)), Slowest: round(percentile(times, 100)),
			})
			times, before = nil, grown
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			l.Progress(fmt.Sprintf("%d of %d turns", n, l.Turns))
		}
	}
	r.Bytes, r.Runs = grown, c.runs
	return r, nil
}
