package client

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // so that this program has all time zones, whatever the machine has

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client/internal/history"
)

// A Schedule has agents begin by themselves, on Temporal's own schedules.
type Schedule struct {
	// Name is the schedule's id on the server. The rules are those of agents' names.
	Name string
	// Start is what each run begins. Without an ID each has an agent of its own. With the name of one it is a message to
	// that session, once it is idle, or opens it where none is open. Explicit is not for schedules: an open session keeps its
	// definition.
	Start Start
	// Model, where given, replaces that of a session that is open. Nil: it keeps its own.
	Model *domain.LLMConfig
	// When is when it runs.
	When When
	// Overlap says what becomes of a run that is due while another is under way. Empty: OverlapSkip.
	Overlap Overlap
	// CatchupWindow is how late a run may begin that was due while the server was away. Zero: as the server does, a year.
	CatchupWindow time.Duration
	// PauseOnFailure pauses the schedule when an execution of its fails. One that was stopped has not failed.
	PauseOnFailure bool
	// Paused has it begin nothing until it is unpaused, but for Trigger.
	Paused bool
	// TaskQueue is where its runs go. Empty: Config.TaskQueue.
	TaskQueue string
}

// When says when a schedule runs: whenever one of its lines or its interval says so.
type When struct {
	// Cron are lines of 5 fields, of 6 with the year last, or of 7 with the second first. All fields have to match.
	Cron []string `json:"cron,omitempty"`
	// Every is an interval from 1970 on, in whole seconds, and Offset how long after its beginning.
	Every  contract.Span `json:"every,omitzero"`
	Offset contract.Span `json:"offset,omitzero"`
	// TimeZone is that of Cron, such as Europe/Berlin. Empty: UTC.
	TimeZone string `json:"time_zone,omitzero"`
	// Jitter delays each run by up to so much, by chance.
	Jitter contract.Span `json:"jitter,omitzero"`
	// StartAt and EndAt bound it, where they are set.
	StartAt time.Time `json:"start_at,omitzero"`
	EndAt   time.Time `json:"end_at,omitzero"`
}

// An Overlap says what becomes of a run that is due while another is under way, by Temporal's own names.
type Overlap string

const (
	// OverlapSkip leaves it out. It is the default.
	OverlapSkip Overlap = "Skip"
	// OverlapBufferOne has one wait; what is due beside it is left out.
	OverlapBufferOne Overlap = "BufferOne"
	// OverlapBufferAll has all wait.
	OverlapBufferAll Overlap = "BufferAll"
	// OverlapCancelOther stops the execution under way, and begins when that has ended.
	OverlapCancelOther Overlap = "CancelOther"
	// OverlapTerminateOther terminates the agent under way by force.
	OverlapTerminateOther Overlap = "TerminateOther"
	// OverlapAllowAll has them run side by side.
	OverlapAllowAll Overlap = "AllowAll"
)

// UnmarshalText accepts the known policies, and reads the empty text as OverlapSkip.
func (o *Overlap) UnmarshalText(text []byte) error {
	return enum.DecodeOr(o, text, "overlap", OverlapSkip, OverlapSkip, OverlapBufferOne, OverlapBufferAll, OverlapCancelOther, OverlapTerminateOther, OverlapAllowAll)
}

// policy is the server's value of that name; unspecified for none.
func (o Overlap) policy() enumspb.ScheduleOverlapPolicy {
	policy, _ := enumspb.ScheduleOverlapPolicyFromString(string(o)) // Check has refused others
	return policy
}

// longestSpan bounds what is a duration: beyond it a mistake is more likely.
const longestSpan = 10 * 366 * 24 * time.Hour

// check says what is wrong with it, such as a line of cron that never comes after now.
func (w When) check(now time.Time) error {
	zone, zoneErr := time.LoadLocation(w.TimeZone)
	every, offset := time.Duration(w.Every), time.Duration(w.Offset)
	err := cmp.Or(checkSpan("every", every, time.Second, longestSpan), checkSpan("offset", offset, 0, max(every-time.Second, 0)),
		checkSpan("jitter", time.Duration(w.Jitter), 0, longestSpan))
	switch {
	case w.TimeZone == "Local":
		return invalidf("time_zone: Local is another one on each machine; name it, such as Europe/Berlin")
	case zoneErr != nil:
		return invalidf("time_zone: there is no %q; give a name such as Europe/Berlin or America/New_York", domain.Shorten(w.TimeZone, 60))
	case err != nil:
		return err
	case len(w.Cron) == 0 && every == 0:
		return invalidf("cron, every: neither is given; say when to run, such as --cron \"0 9 * * MON-FRI\" or --every 1h")
	}
	from := now.In(zone)
	if w.StartAt.After(now) {
		from = w.StartAt.In(zone)
	}
	checkEnd := func(what string, first time.Time) error {
		if w.EndAt.IsZero() || !first.After(w.EndAt) {
			return nil
		}
		return invalidf("%s: never comes before end_at, %s; it comes at %s for the first time", what, w.EndAt.Format(time.RFC3339), first.Format(time.RFC3339))
	}
	for _, line := range w.Cron {
		c, err := readCron(line)
		if err != nil {
			return err
		}
		first, ok := c.next(from)
		if !ok {
			return invalidf("cron: %q never comes: day of month, month, day of week and year have to match together, and do on no day from %s to %d",
				domain.Shorten(line, 60), from.Format(time.DateOnly), lastYear)
		}
		if err := checkEnd(fmt.Sprintf("cron: %q", domain.Shorten(line, 60)), first); err != nil {
			return err
		}
	}
	if every > 0 {
		since := from.Sub(time.Unix(0, 0).Add(offset))
		return checkEnd("every", from.Add((every-since%every)%every))
	}
	return nil
}

// checkSpan takes zero, which says nothing, and whole seconds between two bounds.
func checkSpan(field string, span, least, most time.Duration) error {
	if span == 0 || span >= least && span <= most && span%time.Second == 0 {
		return nil
	}
	return invalidf("%s: is %s; give whole seconds, from %s to %s", field, span, least, most)
}

// spec is it as the server takes it. The server keeps what follows # in a line of cron, and so tells the line as it was given.
func (w When) spec() *schedulepb.ScheduleSpec {
	spec := &schedulepb.ScheduleSpec{TimezoneName: w.TimeZone, Jitter: durationpb.New(time.Duration(w.Jitter))}
	for _, line := range w.Cron {
		spec.CronString = append(spec.CronString, line+" # "+strings.Join(strings.Fields(line), " "))
	}
	if w.Every > 0 {
		spec.Interval = []*schedulepb.IntervalSpec{{Interval: durationpb.New(time.Duration(w.Every)), Phase: durationpb.New(time.Duration(w.Offset))}}
	}
	if !w.StartAt.IsZero() {
		spec.StartTime = timestamppb.New(w.StartAt)
	}
	if !w.EndAt.IsZero() {
		spec.EndTime = timestamppb.New(w.EndAt)
	}
	return spec
}

// otherCalendar stands for a calendar that has no line of cron, as another program has written it. It is no line, so that an
// update that would write it is refused.
const otherCalendar = "(by another program)"

// whenOf is when a schedule runs as the server tells it.
func whenOf(spec *schedulepb.ScheduleSpec) When {
	w := When{TimeZone: spec.GetTimezoneName(), Jitter: contract.Span(spec.GetJitter().AsDuration())}
	for _, calendar := range spec.GetStructuredCalendar() {
		w.Cron = append(w.Cron, cmp.Or(calendar.GetComment(), otherCalendar))
	}
	for _, interval := range spec.GetInterval() {
		w.Every, w.Offset = contract.Span(interval.GetInterval().AsDuration()), contract.Span(interval.GetPhase().AsDuration())
	}
	if spec.GetStartTime() != nil {
		w.StartAt = spec.GetStartTime().AsTime()
	}
	if spec.GetEndTime() != nil {
		w.EndAt = spec.GetEndTime().AsTime()
	}
	return w
}

// Check says what is wrong with a schedule as far as that takes no server, such as a time that never comes after now.
func (s Schedule) Check(now time.Time) error { return cmp.Or(s.check(), s.When.check(now)) }

// check is Check but for when it runs.
func (s Schedule) check() error {
	session := s.Start.ID != ""
	err := cmp.Or(checkScheduleName(s.Name), domain.CheckWord(s.Overlap),
		checkSpan("catchup_window", s.CatchupWindow, 10*time.Second, longestSpan)) // the least is the server's own bound
	switch {
	case err != nil:
		return invalid(err)
	case session && domain.CheckAgentName(s.Start.ID) != nil:
		return invalidf("id: %q is no name of a session; give a name, or leave it out for an agent of each run's own", domain.Shorten(s.Start.ID, 60))
	case session && (s.Overlap == OverlapTerminateOther || s.Overlap == OverlapAllowAll):
		return invalidf("overlap: %s is none for a session, which does one thing at a time and outlives its runs; CancelOther stops what it does, BufferAll has all runs wait for their turn", s.Overlap)
	case s.Start.Budget.Deadline != nil || s.Start.Definition.Budget.Deadline != nil:
		return invalidf("deadline: is one time, which all runs after it would miss; give max_seconds instead")
	}
	return nil
}

// checkScheduleName says what is wrong with a schedule's name.
func checkScheduleName(name string) error {
	if err := domain.CheckAgentName(name); err != nil {
		return invalidf("name: %s", domain.AsError(err).Message[len("id: "):])
	}
	return nil
}

// CreateSchedule creates a schedule. What is wrong with it is told before anything is created: a time that never comes
// too. It is refused where there is one of that name. It needs no worker; its runs do.
func (c *Client) CreateSchedule(ctx context.Context, s Schedule) (none ScheduleView, _ error) {
	if err := s.Check(time.Now()); err != nil {
		return none, err
	}
	s.TaskQueue = cmp.Or(s.TaskQueue, c.cfg.TaskQueue)
	summary, _ := c.cfg.Converter.ToPayload("schedule " + s.Name) // a text cannot fail
	_, task := c.cfg.timing()
	kept := &schedulepb.Schedule{
		Spec: s.When.spec(), State: &schedulepb.ScheduleState{Paused: s.Paused},
		Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{
			WorkflowId: contract.ScheduledIDPrefix + s.Name, WorkflowType: &commonpb.WorkflowType{Name: string(contract.Scheduled)},
			WorkflowTaskTimeout: durationpb.New(task), UserMetadata: &sdkpb.UserMetadata{Summary: summary},
		}}},
	}
	if err := c.writeSchedule(ctx, s, kept); err != nil {
		return none, err
	}
	_, err := onSchedule(ctx, s.Name, "creating", c.temporal.WorkflowService().CreateSchedule, &workflowservice.CreateScheduleRequest{
		Namespace: c.cfg.Namespace, ScheduleId: s.Name, Schedule: kept, Identity: c.cfg.By.Identity, RequestId: uuid.NewString(),
	})
	if isAs[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		return none, errorf(Refused, err, "schedule: there is one named %s already; take another name, or change that one", s.Name).next("`schedule update %s` changes it", s.Name)
	}
	if err != nil {
		return none, err
	}
	return c.Schedule(ctx, s.Name)
}

// writeSchedule writes a schedule that was checked over what the server keeps, but for when it runs and whether it is paused.
// Of an agent of its own each run makes the id.
func (c *Client) writeSchedule(ctx context.Context, s Schedule, kept *schedulepb.Schedule) error {
	var a agent
	if s.Start.ID != "" {
		a, _ = agentOf(s.Start.ID) // it is a name
	}
	begins, err := c.input(a, s.Start)
	if err = cmp.Or(err, s.Start.Definition.CheckShown(s.Start.Trusted)); err != nil {
		return invalid(err)
	}
	has, err := c.registered(ctx)
	if err != nil {
		return fail(ctx, s.Name, "writing schedule "+s.Name, err)
	}
	begins.Timing, _ = c.cfg.timing()
	begins.By, begins.Attributes = c.cfg.By, has.names
	in := contract.ScheduledInput{Schedule: s.Name, Start: begins, Model: s.Model, Indexed: c.indexed(begins, has)}
	// The server hands it on with each of its own runs.
	if err := domain.CheckFits("prompt, definition and what is given", in, domain.MaxMessage); err != nil {
		return invalid(err)
	}
	start := kept.GetAction().GetStartWorkflow()
	if start.Input, err = c.cfg.Converter.ToPayloads(in); err != nil {
		return invalid(err)
	}
	if start.GetTaskQueue().GetName() != s.TaskQueue {
		start.TaskQueue = &taskqueuepb.TaskQueue{Name: s.TaskQueue}
	}
	kept.Policies = &schedulepb.SchedulePolicies{
		OverlapPolicy: s.Overlap.policy(), PauseOnFailure: s.PauseOnFailure, KeepOriginalWorkflowId: kept.GetPolicies().GetKeepOriginalWorkflowId(),
	}
	if s.CatchupWindow != 0 {
		kept.Policies.CatchupWindow = durationpb.New(s.CatchupWindow)
	}
	return nil
}

// readSchedule is a schedule as it would be created.
func (c *Client) readSchedule(name string, kept *schedulepb.Schedule) (Schedule, error) {
	var in contract.ScheduledInput
	start, policies := kept.GetAction().GetStartWorkflow(), kept.GetPolicies()
	err := c.cfg.Converter.FromPayloads(start.GetInput(), &in)
	s := Schedule{
		Name: name, Start: Start{ID: in.Start.Name, Prompt: in.Start.Prompt, Definition: in.Start.Definition, Budget: in.Start.Budget}, Model: in.Model,
		When: whenOf(kept.GetSpec()), Overlap: OverlapSkip, CatchupWindow: policies.GetCatchupWindow().AsDuration(),
		PauseOnFailure: policies.GetPauseOnFailure(), Paused: kept.GetState().GetPaused(), TaskQueue: start.GetTaskQueue().GetName(),
	}
	if policy := policies.GetOverlapPolicy(); policy != enumspb.SCHEDULE_OVERLAP_POLICY_UNSPECIFIED {
		s.Overlap = Overlap(policy.String())
	}
	if given := in.Start.Options; given != nil {
		s.Start.Metadata, s.Start.Messages, s.Start.Trusted = given.Metadata, given.Messages, given.Trusted
	}
	return s, err
}

// onSchedule makes a call about a schedule, again where the server is away for a moment.
func onSchedule[In, Out any](ctx context.Context, name, doing string, call func(context.Context, In, ...grpc.CallOption) (Out, error), request In) (Out, error) {
	bounded, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	reply, err := history.RetryWhileAway(bounded, func() (Out, error) { return call(bounded, request) })
	if deleted(err) && ctx.Err() == nil {
		return reply, errorf(NotFound, err, "schedule: there is none named %q", domain.Shorten(name, 100)).next("`schedule list` shows those that there are")
	}
	return reply, fail(ctx, name, doing+" schedule "+name, err)
}
