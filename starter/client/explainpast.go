package client

import (
	"context"
	"iter"
	"math"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/domain"
)

// A past is what history alone tells of one execution, and of the newest run.
// It is used by one goroutine.
type past struct {
	reader reader
	want   domain.ExecutionID
	number int
	// before is the execution before the wanted one.
	before domain.ExecutionID

	startedAt, endedAt time.Time
	// budget is nil where nothing tells it, as is prior, which origins have used.
	budget *domain.ExecutionBudget
	prior  *domain.Spent
	origin domain.ExecutionID
	model  string
	// definition is the session's.
	definition domain.Definition
	// price, window and limit are those of the newest resolution.
	price  *domain.Price
	window int64
	limit  *domain.RateLimit
	// fill is about how many tokens the newest inference read and wrote.
	fill int64
	// stops are the requests of users to stop.
	stops []domain.StopSignal

	steps map[int]ExplainStep
	turn  *pastTurn
	// work are the activities of the run that have not ended.
	work map[int64]*pastWork
	// accepted are the requests of updates, by the event that accepted them.
	accepted map[int64]*updatepb.Input

	run pastRun
	// gone says that runs of the execution have been deleted.
	gone bool
}

// A pastRun is what is told of the run that is being read; at the end of the
// newest one.
type pastRun struct {
	// before counts the runs before it, base the bytes of its first event.
	before    int
	base      int64
	steps     map[domain.StepID]bool
	suggested bool
}

// history reads what is recorded of an execution: the runs in which it was, the oldest
// first, and the newest run.
func (c *Client) history(ctx context.Context, p position, want domain.ExecutionID, number int) (*past, error) {
	h := &past{reader: c.reader(), want: want, number: number, before: p.executionID(number - 1), steps: map[int]ExplainStep{}}
	runs, err := c.runsOf(ctx, p.snapshot, h)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(runs, p.runID()) {
		runs = append(runs, p.runID())
	}
	for _, runID := range runs {
		h.enter()
		for event, err := range c.forwards(ctx, p.workflowID(), runID) {
			if deleted(err) {
				h.gone = true
				break
			}
			if err != nil {
				return nil, err
			}
			h.take(event)
		}
	}
	return h, nil
}

// enter begins a run: event ids begin anew.
func (h *past) enter() {
	h.work, h.accepted = map[int64]*pastWork{}, map[int64]*updatepb.Input{}
	h.run = pastRun{steps: map[domain.StepID]bool{}}
}

// runsOf finds the runs in which an execution was, the oldest first, by what
// each took over from the one before.
func (c *Client) runsOf(ctx context.Context, s snapshot, h *past) ([]string, error) {
	var runs []string
	runID := s.runID()
	for runID != "" {
		started, err := c.first(ctx, s.workflowID(), runID)
		if deleted(err) {
			h.gone = true
			break
		}
		if err != nil {
			return nil, err
		}
		in, _ := h.reader.input(started)
		took := carried(in)
		began := took.number < h.number || took.begins && took.number == h.number
		if began || took.open == h.want {
			runs = append(runs, runID)
		}
		if began {
			break
		}
		if runID, err = c.previous(ctx, s, runID); err != nil {
			return nil, err
		}
	}
	slices.Reverse(runs)
	return runs, nil
}

// forwards yields the events of a run, the oldest first, without waiting for
// more.
func (c *Client) forwards(ctx context.Context, workflowID, runID string) iter.Seq2[*historypb.HistoryEvent, error] {
	return func(yield func(*historypb.HistoryEvent, error) bool) {
		var token []byte
		for {
			events, next, err := c.page(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
				Namespace:     c.cfg.Namespace,
				Execution:     &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
				NextPageToken: token,
				SkipArchival:  true,
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, event := range events {
				if !yield(event, nil) {
					return
				}
			}
			if len(next) == 0 || len(events) == 0 {
				return
			}
			token = next
		}
	}
}

// ordered are the steps in order, the one that was under way last included.
// running says that it still is.
func (h *past) ordered(running bool) []ExplainStep {
	h.flush(running)
	numbers := make([]int, 0, len(h.steps))
	for n := range h.steps {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	steps := make([]ExplainStep, 0, len(numbers))
	for _, n := range numbers {
		steps = append(steps, h.steps[n])
	}
	return steps
}

// Where servers suggest to continue as new, unless they are configured
// otherwise.
const (
	continueEvents = 4096
	continueBytes  = 4 << 20
)

// explainHistory says how long the newest run's history is.
func (h *past) explainHistory(s snapshot) ExplainHistory {
	e := ExplainHistory{
		Events: s.info().GetHistoryLength(), Bytes: s.info().GetHistorySizeBytes(), Runs: h.run.before + 1,
		Steps: len(h.run.steps), ContinueEvents: continueEvents, ContinueBytes: continueBytes, Suggested: h.run.suggested,
	}
	e.Share = min(max(float64(e.Events)/continueEvents, float64(e.Bytes)/continueBytes), 1)
	if e.Steps == 0 {
		return e
	}
	n := int64(e.Steps)
	e.BytesPerStep, e.EventsPerStep = new(max(e.Bytes-h.run.base, 0)/n), new(e.Events/n)
	left := int64(math.MaxInt64)
	if *e.BytesPerStep > 0 {
		left = min(left, max(continueBytes-e.Bytes, 0) / *e.BytesPerStep)
	}
	if *e.EventsPerStep > 0 {
		left = min(left, max(continueEvents-e.Events, 0) / *e.EventsPerStep)
	}
	if left < math.MaxInt64 {
		e.StepsLeft = &left
	}
	return e
}
