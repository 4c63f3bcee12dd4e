package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"everstep/activities/output"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// Result returns how an execution ended and what it answered, without waiting:
// it is refused where the execution is in progress. Number zero is the newest.
// The workflow is asked first; where no worker answers, history is read.
func (c *Client) Result(ctx context.Context, id string, number int) (Result, error) {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return Result{}, err
	}
	outcome, err := c.outcome(ctx, p, number)
	if errors.Is(err, errUnfinished) {
		return Result{}, errorf(Refused, err, "execution %d of %s is in progress; wait for it, or ask again later", number, id)
	}
	if err != nil {
		return Result{}, fail(ctx, id, "reading the history of "+id, err)
	}
	return c.result(ctx, p, p.runID(), outcome)
}

// result adds the answer to an outcome. last is the newest run in which the
// execution was.
func (c *Client) result(ctx context.Context, p position, last string, outcome contract.Outcome) (Result, error) {
	r := Result{Execution: p.execution(outcome.Number), Outcome: outcome, Source: contract.FromWorkflow}
	r.RunID = last
	if _, byServer := p.serverEnd(); !byServer {
		if page, ok := c.told(ctx, p, outcome); ok {
			r.Answer, r.Error, r.Signal = page.Answer, page.Error, page.Signal
			return c.withOutput(ctx, p, r), nil
		}
	}
	if outcome.Rewritten {
		return Result{}, errorf(Unreachable, nil, "a hook has changed the answer of execution %d of %s, so history does not hold it: it takes a worker to tell it; start one with `starter worker` or `starter dev`", outcome.Number, p.called())
	}
	answer, failure, err := c.recorded(ctx, p.snapshot, last, outcome.ExecutionID)
	if err != nil {
		return Result{}, fail(ctx, p.called(), "reading the history of "+p.called(), err)
	}
	r.Answer, r.Source = answer, contract.FromHistory
	if outcome.Status == domain.StatusFailed {
		r.Error = failure
		if r.Error == nil || outcome.Code != "" && r.Error.Code != outcome.Code {
			r.Error = failureOf(outcome)
		}
	}
	return c.withOutput(ctx, p, r), nil
}

// told asks the workflow for the answer of an execution. It reports false where
// no worker answers, or the workflow knows of a later execution only.
func (c *Client) told(ctx context.Context, p position, outcome contract.Outcome) (contract.StepsPage, bool) {
	q, wait := question{workflowID: p.workflowID(), deadline: askTimeout}, patience
	if outcome.Rewritten {
		// Nothing else can tell.
		q.deadline, wait = readTimeout, readTimeout
	}
	if p.left {
		q.runID = p.runID()
	}
	page, err := within(ctx, wait, func(ctx context.Context) (contract.StepsPage, error) {
		return ask(ctx, c, q, contract.QuerySteps, contract.StepsRequest{Number: outcome.Number, From: math.MaxInt32})
	})
	held := err == nil && page.ExecutionID == outcome.ExecutionID && page.Outcome != nil
	return page, held
}

// recorded reads history backwards, from a run on, for what the last inference
// of an execution answered, or why it did not. Both are absent where the
// execution made none. A summary of the conversation is no answer.
func (c *Client) recorded(ctx context.Context, s snapshot, last string, id domain.ExecutionID) (answer string, failure *domain.Error, err error) {
	for recorded, err := range c.reader(s.agent).BackwardsChain(ctx, last) {
		if err != nil {
			return "", nil, goneIfDeleted(err, "the answer of %s: its run has been deleted", s.called())
		}
		var work progress.Work
		switch f := recorded.Fact.(type) {
		case progress.ModelReplied:
			work, failure = f.Work, f.Reply.Error
			if f.Reply.Message != nil {
				answer = f.Reply.Message.Text()
			}
		case progress.Lost:
			work, failure = f.Work, f.Loss.Err()
		case progress.Asked:
			work = f.Work
		}
		if work.Model != nil && work.Execution() == id && work.Model.Summary == nil {
			return answer, failure, nil
		}
		answer, failure = "", nil
	}
	return "", nil, nil
}

// failureOf says in words why an execution failed of which only the outcome is
// known.
func failureOf(o contract.Outcome) *domain.Error {
	switch o.Code {
	case domain.CodeTerminated:
		return domain.CodedErrorf(domain.Denied, o.Code, "an operator terminated the workflow").From("server")
	case domain.CodeTimedOut:
		return domain.CodedErrorf(domain.Denied, o.Code, "the workflow reached its time-out").From("server")
	case "":
		return domain.Errorf(cmp.Or(o.Kind, domain.Internal), "the execution failed; explain says more")
	default:
		return domain.CodedErrorf(cmp.Or(o.Kind, domain.Internal), o.Code, "the execution failed: %s; explain says more", o.Code)
	}
}

// Wait waits until an execution has ended, in whatever way, and returns its
// result. Number zero is the newest execution at the time of the call. It
// polls nothing and needs no worker; it outlives restarts of the server.
func (c *Client) Wait(ctx context.Context, id string, number int) (Result, error) {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return Result{}, err
	}
	outcome, err := c.outcome(ctx, p, number)
	last := p.runID()
	if errors.Is(err, errUnfinished) {
		outcome, last, err = c.await(ctx, p, number)
	}
	if err != nil {
		return Result{}, fail(ctx, id, "waiting for "+id, err)
	}
	return c.result(ctx, p, last, outcome)
}

// locateExecution locates an agent and the execution that a caller means; zero
// is the newest.
func (c *Client) locateExecution(ctx context.Context, id string, number int) (position, int, error) {
	if number < 0 {
		return position{}, 0, errorf(Invalid, nil, "execution: is %d; executions are counted from 1", number)
	}
	p, err := c.locate(ctx, id)
	switch {
	case err != nil:
		return position{}, 0, err
	case number > p.number:
		return position{}, 0, errorf(NotFound, nil, "execution: %s has no execution %d; its newest is %d", id, number, p.number)
	case number == 0:
		number = p.number
	case number < p.number && p.name == "":
		p, err = c.earlier(ctx, p, number)
		return p, number, err
	}
	return p, number, nil
}

// errUnfinished says that an execution is in progress.
var errUnfinished = errors.New("the execution is in progress")

// outcome returns how an execution ended, or errUnfinished.
func (c *Client) outcome(ctx context.Context, p position, number int) (contract.Outcome, error) {
	switch {
	case number < p.number:
		return c.past(ctx, p.snapshot, number)
	case p.ended == nil:
		return contract.Outcome{}, errUnfinished
	}
	return *p.ended, nil
}

// await follows the history until an execution has ended, and says in which run.
func (c *Client) await(ctx context.Context, p position, number int) (contract.Outcome, string, error) {
	last := p.runID()
	for it, err := range c.chain(ctx, p.snapshot, p.runID()) {
		if err != nil {
			return contract.Outcome{}, "", err
		}
		c.connection(it)
		if it.Fact == nil {
			continue
		}
		last = it.Run
		outcome, ok := progress.OutcomeOf(it.Fact)
		if ok && outcome.Number == number {
			return outcome, last, nil
		}
		if ok && outcome.Number > number {
			outcome, err := c.past(ctx, p.snapshot, number)
			return outcome, last, err
		}
	}
	outcome, err := c.closed(ctx, p, number)
	return outcome, last, err
}

// closed returns the outcome of an execution whose workflow has ended without
// saying it.
func (c *Client) closed(ctx context.Context, p position, number int) (contract.Outcome, error) {
	now, err := c.locate(ctx, p.called())
	if err != nil {
		return contract.Outcome{}, err
	}
	if now.firstRunID() == p.firstRunID() && now.number == number && now.ended != nil {
		return *now.ended, nil
	}
	return contract.Outcome{}, gone("execution: nothing is left of execution %d of %s", number, p.called())
}

// past looks through the runs, the newest first, for how an earlier execution
// ended.
func (c *Client) past(ctx context.Context, s snapshot, number int) (contract.Outcome, error) {
	for recorded, err := range c.reader(s.agent).BackwardsChain(ctx, s.runID()) {
		if err != nil {
			return contract.Outcome{}, goneIfDeleted(err, "execution %d of %s: its run has been deleted", number, s.called())
		}
		if outcome, ok := progress.OutcomeOf(recorded.Fact); ok && outcome.Number == number {
			return outcome, nil
		}
	}
	return contract.Outcome{}, gone("execution: nothing is left of execution %d of %s", number, s.called())
}

// FormatOf returns the response format whose answers are values of a Go type:
// its JSON Schema under a name of letters, digits, _ and -. The empty name is
// the type's own. The fields of structs are described by their tags json and
// jsonschema, as package jsonschema of google/jsonschema-go says. A type that
// has no schema, a recursive one among them, is an error of class Invalid.
func FormatOf[T any](name string) (domain.ResponseFormat, error) {
	if name == "" {
		name = plainName(reflect.TypeFor[T]().Name())
	}
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return domain.ResponseFormat{}, errorf(Invalid, err, "response_format: %s has no JSON Schema: %s", reflect.TypeFor[T](), err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return domain.ResponseFormat{}, errorf(Invalid, err, "response_format: the schema of %s cannot be written: %s", reflect.TypeFor[T](), err)
	}
	format := domain.ResponseFormat{Type: domain.FormatSchema, Name: name, Schema: text}
	if _, err := output.Compile(format); err != nil {
		return domain.ResponseFormat{}, invalid(err)
	}
	return format, nil
}

// plainName keeps of a type's name what a format's name may hold.
func plainName(name string) string {
	name, _, _ = strings.Cut(name, "[")
	plain := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return -1
	}, name)
	if plain == "" {
		return "answer"
	}
	return plain
}

// Output waits until an execution has ended, as Wait does, and returns its
// answer as a Go value. Number zero is the newest execution. It fails where the
// execution did not complete, and where the answer is no such value: give the
// agent the format that FormatOf returns for the type.
func Output[T any](ctx context.Context, c *Client, id string, number int) (T, error) {
	var none T
	r, err := c.Wait(ctx, id, number)
	if err != nil {
		return none, err
	}
	if r.Outcome.Status != domain.StatusCompleted {
		why := string(r.Outcome.StopReason)
		if r.Error != nil {
			why = r.Error.Message
		}
		return none, errorf(Failed, nil, "execution %d of %s has no answer to read: it is %s (%s)", r.Number, id, r.Outcome.Status, why)
	}
	value, err := domain.Decode[T]([]byte(r.Answer))
	if err != nil {
		return none, errorf(Failed, err, "the answer of execution %d of %s is no %s: %s", r.Number, id, reflect.TypeFor[T](), err)
	}
	return value, nil
}

// withOutput adds the answer as a JSON value. What cannot be told is left out:
// the answer itself is there.
func (c *Client) withOutput(ctx context.Context, p position, r Result) Result {
	if r.Outcome.Status != domain.StatusCompleted || !json.Valid([]byte(r.Answer)) {
		return r
	}
	began, err := c.reader(p.agent).First(ctx, r.RunID)
	if err != nil {
		return r
	}
	switch began.Input.Definition.Format.Type {
	case domain.FormatJSON, domain.FormatSchema:
		r.Output = json.RawMessage(strings.TrimSpace(r.Answer))
	case domain.FormatText, "":
	}
	return r
}

// Priced reports whether what an execution costs is known: without a price of
// the model all its costs are zero. Number zero is the newest. For one that is
// in progress it needs a worker.
func (c *Client) Priced(ctx context.Context, id string, number int) (bool, error) {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return false, err
	}
	outcome, err := c.outcome(ctx, p, number)
	switch {
	case err == nil:
		return outcome.Priced || outcome.CostNanoUSD > 0, nil
	case !errors.Is(err, errUnfinished):
		return false, fail(ctx, id, "reading the history of "+id, err)
	}
	page, err := read(ctx, c, p.snapshot, p.runID(), contract.QuerySteps, contract.StepsRequest{Number: number, From: math.MaxInt32})
	if err != nil {
		return false, readFailure(ctx, id, "reading the steps of "+id, err)
	}
	return page.Priced, nil
}
