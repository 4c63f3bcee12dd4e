package client

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	enumspb "go.temporal.io/api/enums/v1"

	"everstep/activities/output"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// Result returns how an execution ended and what it answered, without waiting:
// it is refused where the execution is in progress. Number zero is the newest.
// The workflow is asked first; where no worker answers, history is read.
func (c *Client) Result(ctx context.Context, id string, number int) (Result, error) {
	t, err := c.target(ctx, id, number)
	if err == nil && t.outcome == nil && !t.unread && !t.endedUnreadably() {
		err = refused("execution %d of %s is in progress; wait for it, or ask again later", t.asked, id)
	}
	return c.resultOf(ctx, id, number, &t, err)
}

// resultOf is the result of an execution that has ended, or, where the server has lost it, what records tell of the one that was
// asked for.
func (c *Client) resultOf(ctx context.Context, id string, number int, t *target, lost error) (live Result, _ error) {
	switch {
	case lost != nil:
	case t.outcome == nil:
		live, lost = c.unreadable(ctx, *t)
	default:
		live, lost = c.result(ctx, *t)
	}
	if c.cfg.Records == nil || !lostToServer(lost) {
		return live, lost
	}
	all, err := c.execution(ctx, id, number, account.State)
	if err == nil && number == 0 {
		err = c.checkNewest(all)
	}
	if err != nil {
		return live, err
	}
	if len(all.Executions) == 0 || all.Executions[0].Ended == nil {
		return live, lost
	}
	a, _ := agentOf(id) // it was read
	x := all.Executions[0]
	state, err := domain.DecodeAgentState(x.State)
	if err != nil {
		return live, unreadableState(id, err)
	}
	r := Result{Execution: a.begun(x.Number, x.ExecutionID, x.RunID), Outcome: x.Outcome, End: *x.Ended, Source: contract.FromRecords, ImportedAt: x.Imported}
	return r.withOutput(state.ResponseFormat), nil
}

func (c *Client) result(ctx context.Context, t target) (none Result, _ error) {
	r := Result{Execution: t.execution(t.outcome.Number), Outcome: *t.outcome, Source: contract.FromWorkflow}
	r.Outcome.End = nil
	end := t.outcome.End
	if end == nil && t.info().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED { // to ask it would have it replayed
		if ended, err := c.reader(t.agent).End(ctx, t.runID()); err == nil && ended.Outcome != nil && ended.Outcome.ExecutionID == t.outcome.ExecutionID {
			end = ended.Outcome.End
		}
	}
	if _, byServer := t.serverEnd(); !byServer && end != nil {
		r.End = *end
		return c.formatted(ctx, t.agent, r), nil
	}
	s, a, err := c.accountWith(ctx, t.called(), account.RequestOf(t.asked, account.Executions, account.State))
	if err == nil {
		var e explanation
		if e, err = newExplanation(s, a, t.asked); err == nil && e.asked.Ended != nil {
			return c.formatted(ctx, t.agent, r.explained(e)), nil
		}
	}
	if lostToServer(err) {
		return none, err
	}
	// One of an earlier workflow has another id than it would have in this one.
	if _, err := c.lastAnswer(ctx, t, cmp.Or(t.outcome.ExecutionID, t.executionID(t.asked)), &r); err != nil {
		return none, t.fail(ctx, "reading the history of", err)
	}
	if r.Outcome.Status == domain.StatusFailed {
		r.Error = failureOf(r.Outcome)
	}
	return c.formatted(ctx, t.agent, r), nil
}

// explained returns the result as the agent's account tells it. Of an execution that the server has ended the workflow knows of no
// end: its state tells.
func (r Result) explained(e explanation) Result {
	if r.Source = e.Server.Source; !e.cut() {
		r.End = *e.asked.Ended
		return r
	}
	r.Source, r.Answer, r.Outcome = contract.FromHistory, e.state.Answer(), e.asked.Outcome
	r.Outcome.EffectCounts = e.state.Effects()
	r.Outcome.Unknown = r.Outcome.Unknown || len(e.Head.Children) > 0
	if strings.TrimSpace(r.Answer) == "" {
		r.SaidLast = e.state.SaidLast()
	}
	if r.Outcome.Status == domain.StatusFailed {
		r.Error = e.error()
	}
	r.Signal = e.counted()
	return r
}

// endedUnreadably reports whether the workflow has noted the end of an execution in a way that this build cannot read.
func (s snapshot) endedUnreadably() bool {
	_, noted := s.info().GetMemo().GetFields()[contract.MemoOutcome]
	return s.outcome == nil && (noted || s.info().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
}

// unreadable is the result where nobody can read how an execution has ended: of the one that is meant where others came after
// it, else of the newest.
func (c *Client) unreadable(ctx context.Context, t target) (Result, error) {
	of := domain.ExecutionID{}
	r := Result{Execution: t.begun(0, of, t.runID())}
	if t.unread {
		r.Number, of = t.asked, t.executionID(t.asked)
	}
	gone, err := c.lastAnswer(ctx, t, of, &r)
	switch {
	case err != nil || r.Event > 0:
	case gone:
		err = t.vanished(t.asked)
	default:
		err = errorf(Failed, nil, "nobody can read how %s has ended, and no inference of it either: another build has written its history", t.called())
	}
	return r, t.fail(ctx, "reading the history of", err)
}

// lastAnswer has the last inference of an execution tell the answer, or of any, in the newest run that has one. It says whether runs
// before those that have none have been deleted.
func (c *Client) lastAnswer(ctx context.Context, t target, of domain.ExecutionID, r *Result) (gone bool, err error) {
	r.Source, r.Build = contract.FromRawHistory, t.builds.Newest()
	for runID := t.runID(); runID != ""; {
		events, err := c.reader(t.agent).Events(ctx, runID)
		if deleted(err) {
			return true, nil
		}
		if err != nil || len(events) == 0 {
			return false, err
		}
		if text, event := history.LastAnswer(c.cfg.Converter, events, of); event > 0 {
			r.Answer, r.RunID, r.Event = text, runID, event
			return false, nil
		}
		runID = history.Began(c.cfg.Converter, events[0]).Previous()
	}
	return false, nil
}

// FormatOf returns the response format whose answers are values of a Go type:
// its JSON Schema under a name of letters, digits, _ and -. The empty name is
// the type's own. The fields of structs are described by their tags json and
// jsonschema, as package jsonschema of google/jsonschema-go says. A type that
// has no schema, a recursive one among them, is an error of class Invalid.
func FormatOf[T any](name string) (none domain.ResponseFormat, _ error) {
	if name == "" {
		name, _, _ = strings.Cut(reflect.TypeFor[T]().Name(), "[")
		name = output.NameOf(name)
	}
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return none, errorf(Invalid, err, "response_format: %s has no JSON Schema: %s", reflect.TypeFor[T](), err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return none, errorf(Invalid, err, "response_format: the schema of %s cannot be written: %s", reflect.TypeFor[T](), err)
	}
	format := domain.ResponseFormat{Type: domain.FormatSchema, Name: name, Schema: text}
	if _, err := output.Compile(format); err != nil {
		return none, invalid(err)
	}
	return format, nil
}

// Output waits for an execution, as Wait does, and returns its answer as a Go value. It fails where the
// execution did not complete, and where the answer is no such value: give the agent the format that
// FormatOf returns for the type.
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
	var value T
	if err := domain.DecodeTyped([]byte(r.Answer), &value); err != nil {
		return none, errorf(Failed, err, "the answer of execution %d of %s is no %s: %s", r.Number, id, reflect.TypeFor[T](), err)
	}
	return value, nil
}

// formatted adds the answer as a JSON value, where the agent's definition asks for one.
func (c *Client) formatted(ctx context.Context, a agent, r Result) Result {
	if r.Outcome.Status == domain.StatusCompleted && json.Valid([]byte(r.Answer)) { // else the server need not be asked
		began, _ := c.reader(a).First(ctx, r.RunID)
		r = r.withOutput(began.Input.Definition.Format)
	}
	return r
}

// withOutput adds the answer as a JSON value, where the format asks for one.
func (r Result) withOutput(format domain.ResponseFormat) Result {
	asked := format.Type == domain.FormatJSON || format.Type == domain.FormatSchema
	if asked && r.Outcome.Status == domain.StatusCompleted && json.Valid([]byte(r.Answer)) {
		r.Output = json.RawMessage(strings.TrimSpace(r.Answer))
	}
	return r
}

// Priced reports whether the model of an execution has a price. Without one, what a step cost that says zero is unknown. Number
// zero is the newest.
func (c *Client) Priced(ctx context.Context, id string, number int) (bool, error) {
	all, err := c.execution(ctx, id, number)
	if err != nil || len(all.Executions) == 0 {
		return false, err
	}
	return all.Executions[0].Priced, nil
}
