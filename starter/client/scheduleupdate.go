package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
	"everstep/starter/process"
)

// An UpdatedSchedule is a schedule as it is after an update, and what of it is another by that.
type UpdatedSchedule struct {
	ScheduleView
	// Changed is empty where nothing was another, and nothing was written.
	Changed []ScheduleDifference `json:"changed"`
}

// A ScheduleDifference is a field of a schedule as it was and as it is: null where it has none.
type ScheduleDifference struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

const (
	// updateTries bounds how often an update may meet another change of the same schedule.
	updateTries = 5
	// updatePatience is how long a server may take to show what it has accepted.
	updatePatience = 5 * time.Second
)

// UpdateSchedule changes a schedule: change gets it as it is, and leaves it as it is to be. All of that holds at once, or
// none of it; what change returns as an error ends it. It may be called again, where somebody else has changed the
// schedule meanwhile. Whether it is paused stays: see PauseSchedule. Runs under way go on as they began. What is wrong
// is told before anything is changed, as by CreateSchedule. It needs no worker.
func (c *Client) UpdateSchedule(ctx context.Context, name string, change func(*Schedule) error) (UpdatedSchedule, error) {
	for range updateTries {
		changed, done, err := c.updateSchedule(ctx, name, change)
		if err != nil {
			return UpdatedSchedule{}, err
		}
		if !done {
			continue
		}
		view, err := c.Schedule(ctx, name)
		return UpdatedSchedule{view, changed}, err
	}
	return UpdatedSchedule{}, errorf(Refused, nil, "schedule %s: others change it all the time; nothing was changed by this, try again", name)
}

// updateSchedule answers false where somebody else was faster.
func (c *Client) updateSchedule(ctx context.Context, name string, change func(*Schedule) error) ([]ScheduleDifference, bool, error) {
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	// What it is described as after that is no older, so that the token is refused where it is another.
	kept, err := c.keptSchedule(call, name)
	if err != nil {
		return nil, false, err
	}
	before, told, err := c.readSchedule(ctx, name)
	if err != nil {
		return nil, false, err
	}
	after := before
	after.When.Cron = slices.Clone(before.When.Cron)
	if err := change(&after); err != nil {
		return nil, false, err
	}
	after.Name, after.Paused = before.Name, before.Paused
	changed := before.differing(after)
	if len(changed) == 0 {
		return changed, true, nil
	}
	wanted, err := c.rewritten(ctx, kept.GetSchedule(), told, before, after)
	if err != nil {
		return nil, false, err
	}
	id := uuid.NewString()
	noteUpdate(startOf(wanted), id)
	_, err = c.temporal.WorkflowService().UpdateSchedule(call, &workflowservice.UpdateScheduleRequest{
		Namespace: c.cfg.Namespace, ScheduleId: name, Schedule: wanted, ConflictToken: kept.GetConflictToken(),
		Identity: c.cfg.By.Identity, RequestId: id,
	})
	if _, conflict := errors.AsType[*serviceerror.FailedPrecondition](err); conflict {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, c.failSchedule(ctx, name, "updating schedule "+name, err)
	}
	done, err := c.tookSchedule(ctx, name, kept.GetConflictToken(), id)
	return changed, done, err
}

// tookSchedule reports whether the server has taken an update. Some drop one that meets another change without a word.
func (c *Client) tookSchedule(ctx context.Context, name string, token []byte, update string) (bool, error) {
	for until := time.Now().Add(updatePatience); ; {
		call, cancel := context.WithTimeout(ctx, history.CallTimeout)
		now, err := c.keptSchedule(call, name)
		cancel()
		if err != nil {
			return false, err
		}
		switch {
		case !bytes.Equal(now.GetConflictToken(), token):
			return slices.Contains(notedUpdates(startOf(now.GetSchedule())), update), nil
		case time.Now().After(until):
			return false, errorf(Unreachable, nil, "schedule %s: the server has accepted the update and does not show it yet", name).next("`schedule show %s` tells whether it holds", name)
		}
		if err := process.Pause(ctx, askAgain); err != nil {
			return false, fail(ctx, name, "waiting for the update of schedule "+name, err)
		}
	}
}

const (
	// updatesHeader is the header of a schedule's runs that lists its newest updates by their ids. Every update takes the
	// list over and adds itself, so that whoever finds theirs there knows that it was taken, though others have come since.
	updatesHeader = "everstep-schedule-updates"
	// maxNotedUpdates is more than can come between an update and the look whether it was taken.
	maxNotedUpdates = 16
)

func noteUpdate(start *workflowpb.NewWorkflowExecutionInfo, id string) {
	noted := append(notedUpdates(start), id)
	encoded, _ := json.Marshal(noted[max(0, len(noted)-maxNotedUpdates):]) // texts cannot fail
	if start.GetHeader().GetFields() == nil {
		start.Header = &commonpb.Header{Fields: map[string]*commonpb.Payload{}}
	}
	start.Header.Fields[updatesHeader] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: encoded}
}

func notedUpdates(start *workflowpb.NewWorkflowExecutionInfo) (ids []string) {
	_ = json.Unmarshal(start.GetHeader().GetFields()[updatesHeader].GetData(), &ids) // of a schedule that nobody has updated there are none
	return ids
}

func startOf(s *schedulepb.Schedule) *workflowpb.NewWorkflowExecutionInfo {
	return s.GetAction().GetStartWorkflow()
}

// keptSchedule is a schedule as the server keeps it.
func (c *Client) keptSchedule(ctx context.Context, name string) (*workflowservice.DescribeScheduleResponse, error) {
	if err := checkScheduleName(name); err != nil {
		return nil, invalid(err)
	}
	kept, err := history.RetryWhileAway(ctx, func() (*workflowservice.DescribeScheduleResponse, error) {
		return c.temporal.WorkflowService().DescribeSchedule(ctx, &workflowservice.DescribeScheduleRequest{Namespace: c.cfg.Namespace, ScheduleId: name})
	})
	return kept, c.failSchedule(ctx, name, "reading schedule "+name, err)
}

// readSchedule is a schedule as it would be created, and what the server's list tells of it.
func (c *Client) readSchedule(ctx context.Context, name string) (Schedule, scheduleMemo, error) {
	d, action, err := c.describeSchedule(ctx, name)
	if err != nil {
		return Schedule{}, scheduleMemo{}, err
	}
	in, err := c.scheduledBy(action)
	if err != nil {
		return Schedule{}, scheduleMemo{}, errorf(Refused, err, "schedule %s: what its runs begin with cannot be read; delete it and create it anew", name)
	}
	state, policy := d.Schedule.State, d.Schedule.Policy
	s := Schedule{
		Name: name, Start: Start{ID: in.Start.Name, Prompt: in.Start.Prompt, Definition: in.Start.Definition, Budget: in.Start.Budget},
		Model: in.Model, When: whenOf(d.Schedule.Spec), Overlap: overlapOf(policy.Overlap), CatchupWindow: policy.CatchupWindow,
		PauseOnFailure: policy.PauseOnFailure, Paused: state.Paused, TaskQueue: action.TaskQueue,
	}
	if given := in.Start.Given; given != nil {
		s.Start.Metadata, s.Start.Messages, s.Start.Trusted = given.Metadata, given.Messages, given.Trusted
	}
	return s, c.memoOf(d.Memo), nil
}

// scheduledBy is what a schedule starts its runs with.
func (c *Client) scheduledBy(action *sdk.ScheduleWorkflowAction) (in contract.ScheduledInput, err error) {
	if len(action.Args) == 0 {
		return in, errors.New("there is nothing")
	}
	payload, ok := action.Args[0].(*commonpb.Payload)
	if !ok {
		return in, errors.New("it is no payload")
	}
	return in, c.cfg.Converter.FromPayload(payload, &in)
}

// rewritten is what the server is to keep. What is not of ours stays as it is there.
func (c *Client) rewritten(ctx context.Context, kept *schedulepb.Schedule, told scheduleMemo, before, after Schedule) (*schedulepb.Schedule, error) {
	if err := after.check(); err != nil {
		return nil, invalid(err)
	}
	wanted, ok := proto.Clone(kept).(*schedulepb.Schedule)
	if !ok || startOf(wanted) == nil {
		return nil, errorf(Refused, nil, "schedule %s: is none of agents", after.Name)
	}
	if wanted.Spec == nil {
		wanted.Spec = &schedulepb.ScheduleSpec{}
	}
	if !slices.Equal(whens(before.When), whens(after.When)) {
		if slices.Contains(after.When.Cron, otherCalendar) {
			return nil, errorf(Refused, nil, "cron: another program has written a calendar of schedule %s, which would be lost; say anew when it runs, by cron or every", after.Name)
		}
		spec, err := after.When.check(time.Now())
		if err != nil {
			return nil, invalid(err)
		}
		wanted.Spec = specFor(spec)
	}
	if is := after.memo(); is.Session == told.Session && is.Model == told.Model {
		wanted.Spec.ExcludeStructuredCalendar = nil
	} else {
		wanted.Spec.ExcludeStructuredCalendar = marked(scheduleMark{is.Session, is.Model})
	}
	in, err := c.scheduledInput(ctx, after)
	if err != nil {
		return nil, err
	}
	start := startOf(wanted)
	if start.Input, err = c.cfg.Converter.ToPayloads(in); err != nil {
		return nil, invalid(err)
	}
	if start.GetTaskQueue().GetName() != after.TaskQueue {
		start.TaskQueue = &taskqueuepb.TaskQueue{Name: after.TaskQueue}
	}
	if wanted.Policies == nil {
		wanted.Policies = &schedulepb.SchedulePolicies{}
	}
	wanted.Policies.OverlapPolicy, wanted.Policies.PauseOnFailure = overlapPolicies[after.overlap()], after.PauseOnFailure
	if after.CatchupWindow != before.CatchupWindow {
		wanted.Policies.CatchupWindow = durationpb.New(after.CatchupWindow)
	}
	return wanted, nil
}

// specFor is a spec as the server takes it.
func specFor(s sdk.ScheduleSpec) *schedulepb.ScheduleSpec {
	spec := &schedulepb.ScheduleSpec{TimezoneName: s.TimeZoneName, Jitter: durationpb.New(s.Jitter)}
	ranges := func(all []sdk.ScheduleRange) (of []*schedulepb.Range) {
		for _, r := range all {
			of = append(of, &schedulepb.Range{Start: int32(r.Start), End: int32(r.End), Step: int32(r.Step)}) //nolint:gosec // no field of a cron line is that large
		}
		return of
	}
	for _, at := range s.Calendars {
		spec.StructuredCalendar = append(spec.StructuredCalendar, &schedulepb.StructuredCalendarSpec{
			Second: ranges(at.Second), Minute: ranges(at.Minute), Hour: ranges(at.Hour), DayOfMonth: ranges(at.DayOfMonth),
			Month: ranges(at.Month), DayOfWeek: ranges(at.DayOfWeek), Year: ranges(at.Year), Comment: at.Comment,
		})
	}
	for _, every := range s.Intervals {
		spec.Interval = append(spec.Interval, &schedulepb.IntervalSpec{Interval: durationpb.New(every.Every), Phase: durationpb.New(every.Offset)})
	}
	if !s.StartAt.IsZero() {
		spec.StartTime = timestamppb.New(s.StartAt)
	}
	if !s.EndAt.IsZero() {
		spec.EndTime = timestamppb.New(s.EndAt)
	}
	return spec
}

// markYear is over, so that what is left out of it is nothing.
const markYear = 2000

// A scheduleMark is what the server's list tells of a schedule that was updated, where its memo, which never changes,
// tells another thing. It is the comment of an exclusion that excludes nothing.
type scheduleMark struct {
	Session string `json:"session,omitzero"`
	Model   string `json:"model,omitzero"`
}

// maxComment is the longest comment, in bytes, that the server takes.
const maxComment = 200

// marked are the exclusions whose comments, joined, are the mark.
func marked(mark scheduleMark) (all []*schedulepb.StructuredCalendarSpec) {
	mark.Model = domain.Shorten(mark.Model, maxComment*(listedLines-2)) // a script's path may be long; the list shows how it begins
	encoded, _ := json.Marshal(mark)                                    // texts cannot fail
	for rest := string(encoded); rest != ""; {
		part := domain.Shorten(rest, maxComment)
		rest = rest[len(part):]
		all = append(all, &schedulepb.StructuredCalendarSpec{Year: []*schedulepb.Range{{Start: markYear, End: markYear, Step: 1}}, Comment: part})
	}
	return all
}

// over is what the memo tells, with the mark over it where there is one.
func (m scheduleMemo) over(spec *sdk.ScheduleSpec) scheduleMemo {
	if spec == nil {
		return m
	}
	var text string
	for _, skip := range spec.Skip {
		if len(skip.Year) == 1 && skip.Year[0].Start == markYear {
			text += skip.Comment
		}
	}
	if mark := (scheduleMark{}); text != "" && json.Unmarshal([]byte(text), &mark) == nil {
		m.Session, m.Model = mark.Session, mark.Model
	}
	if now := whenOf(spec); !slices.Equal(whens(now), whens(m.When)) && !m.cut(now) {
		m.When = now
	}
	return m
}

// cut reports whether a list has told but the first lines of what the memo has.
func (m scheduleMemo) cut(told When) bool {
	n := len(told.Cron)
	return n >= listedLines && len(m.When.Cron) > n && slices.Equal(m.When.Cron[:n], told.Cron)
}

// listedLines is how many lines of cron the server's list has of a schedule at the most.
const listedLines = 10

// otherCalendar stands for a calendar that has no line of cron: another program has written it.
const otherCalendar = "(a calendar of another program)"

// whenOf is when a schedule runs as its spec says. A calendar that is none of ours is named by what its writer noted.
func whenOf(spec *sdk.ScheduleSpec) (w When) {
	if spec == nil {
		return w
	}
	for _, at := range spec.Calendars {
		w.Cron = append(w.Cron, cmp.Or(at.Comment, otherCalendar))
	}
	if len(spec.Intervals) > 0 {
		w.Every, w.Offset = contract.Span(spec.Intervals[0].Every), contract.Span(spec.Intervals[0].Offset)
	}
	w.TimeZone, w.Jitter, w.StartAt, w.EndAt = spec.TimeZoneName, contract.Span(spec.Jitter), spec.StartAt, spec.EndAt
	return w
}
