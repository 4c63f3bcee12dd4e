package client

import (
	"context"
	"fmt"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
	"everstep/starter/client/internal/history"
)

// An explanation is what is known of an execution, by who told it.
type explanation struct {
	target
	// pending is the work that has not ended.
	pending []history.Pending
	// older means that the agent has begun an execution after this one.
	older bool

	// then is what history tells of the agent while the execution was its newest,
	// at of the execution; run is the newest run. gone says that runs of the
	// execution have been deleted.
	then progress.Agent
	at   progress.Execution
	run  progress.Run
	gone bool
	// answer is what its last inference answered, empty where that did not.
	answer string

	// told means that a worker answered: the fields below are set by it.
	told    bool
	steps   []domain.StepExecution
	failure *domain.Error
	// status and state are of the newest execution only.
	status *contract.StatusView
	state  *domain.ExecutionState
	// heard are the signals of an earlier execution by its events; nil where
	// they cannot be read.
	heard *domain.Continuation

	missing []string
}

// miss notes what cannot be told.
func (e *explanation) miss(format string, args ...any) {
	e.missing = append(e.missing, fmt.Sprintf(format, args...))
}

// read reads what is recorded of the execution: the runs in which it was, the
// oldest first, and the newest run.
func (e *explanation) read(ctx context.Context, c *Client) error {
	runs, err := e.runs(ctx, c)
	if err != nil {
		return err
	}
	if !slices.Contains(runs, e.runID()) {
		runs = append(runs, e.runID())
	}
	a := progress.NewAgent(e.id, e.firstRunID())
	for _, runID := range runs {
		for recorded, err := range c.reader(e.agent).Forwards(ctx, runID) {
			if deleted(err) {
				e.gone = true
				break
			}
			if err != nil {
				return err
			}
			if a = a.With(recorded.Fact, recorded.At); a.Execution.Number == e.asked {
				e.then, e.at = a, a.Execution
				e.answered(recorded.Fact)
			}
		}
	}
	e.run = a.Run
	for _, unread := range a.Unread {
		e.miss("%s", unread)
	}
	return nil
}

// answered notes what an inference of the execution came to. A summary of the
// conversation is no answer.
func (e *explanation) answered(fact progress.Fact) {
	var work progress.Work
	answer := ""
	switch f := fact.(type) {
	case progress.ModelReplied:
		if work = f.Work; f.Reply.Message != nil {
			answer = f.Reply.Message.Text()
		}
	case progress.Lost:
		work = f.Work
	case progress.Asked:
		work = f.Work
	}
	if work.Model != nil && work.Model.Summary == nil {
		e.answer = answer
	}
}

// runs finds the runs in which the execution was, the oldest first, by what each
// took over from the one before.
func (e *explanation) runs(ctx context.Context, c *Client) ([]string, error) {
	var runs []string
	for runID := e.runID(); runID != ""; {
		began, err := c.reader(e.agent).First(ctx, runID)
		if deleted(err) {
			e.gone = true
			break
		}
		if err != nil {
			return nil, err
		}
		took := progress.Carried(began.Input)
		here := took.Number < e.asked || took.Begins && took.Number == e.asked
		if here || took.Open && took.Execution == e.want() {
			runs = append(runs, runID)
		}
		if here {
			break
		}
		runID = began.Previous()
	}
	slices.Reverse(runs)
	return runs, nil
}

// recorded are the steps as history tells them, in order.
func (e *explanation) recorded() []ExplainStep {
	at := e.at
	at.Running = at.Running && e.outcome == nil
	steps, open := at.Steps(len(e.then.Open) > 0)
	all := make([]ExplainStep, len(steps))
	for i, s := range steps {
		all[i] = explainRecorded(s, e.then.Price != nil, open && i == len(steps)-1)
	}
	return all
}

// byServerHere reports whether the server ended this execution, and not an
// outcome of ours.
func (e *explanation) byServerHere() bool { return e.byServer && e.asked == e.number }

// hear reads the events of an execution that has ended for its signals: all, in
// order, without their messages.
func (e *explanation) hear(ctx context.Context, c *Client) {
	var heard domain.Continuation
	to := &heard.StopSignals
	for event, err := range c.Events(ctx, e.called(), EventsOptions{Number: e.asked}) {
		if err != nil {
			return
		}
		switch event := event.(type) {
		case domain.StopSignalReceived:
			*to = append(*to, domain.StopSignal{Reason: event.Reason, Source: event.Source})
		case domain.AgentExecutionStopped:
			to = &heard.Late
		}
	}
	e.heard = &heard
}

// continuation is what is known of the signals; whole is false where others may
// have come.
func (e *explanation) continuation() (c domain.Continuation, whole bool) {
	switch {
	case e.state != nil:
		return e.state.Continuation(), true
	case len(e.steps) > 0:
		c = e.steps[len(e.steps)-1].Continuation
	case !e.told:
		return domain.Continuation{StopSignals: e.at.Signals()}, false
	}
	if e.heard == nil {
		return c, false
	}
	// Those that came after the last step follow those that it knew.
	known := min(len(c.StopSignals)+len(c.Overridden), len(e.heard.StopSignals))
	c.StopSignals = append(slices.Clip(c.StopSignals), e.heard.StopSignals[known:]...)
	c.Late = append(slices.Clip(c.Late), e.heard.Late...)
	return c, true
}

// error is why the execution failed.
func (e *explanation) error() *domain.Error {
	if e.failure != nil {
		return e.failure
	}
	if e.status != nil && e.status.Error != nil {
		return e.status.Error
	}
	told := failureOf(*e.outcome)
	if e.byServerHere() {
		return told
	}
	recorded := e.recorded()
	if n := len(recorded); n > 0 && len(recorded[n-1].Errors) > 0 {
		last := recorded[n-1].Errors[len(recorded[n-1].Errors)-1]
		if e.outcome.Code == "" || e.outcome.Code == last.Code {
			return &last
		}
	}
	return told
}
