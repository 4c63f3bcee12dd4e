package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

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
	// that session, once it is idle, or opens it where none is open. Given is not for schedules: an open session keeps its
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

var overlapPolicies = map[Overlap]enumspb.ScheduleOverlapPolicy{
	OverlapSkip: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, OverlapBufferOne: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,
	OverlapBufferAll: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL, OverlapCancelOther: enumspb.SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER,
	OverlapTerminateOther: enumspb.SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER, OverlapAllowAll: enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
}

func overlapOf(policy enumspb.ScheduleOverlapPolicy) Overlap {
	for _, o := range enum.Known[Overlap]() {
		if overlapPolicies[o] == policy {
			return o
		}
	}
	return OverlapSkip
}

const (
	// mostCronLines bounds those of a schedule.
	mostCronLines = 20
	// longestEvery bounds intervals, and what else is a duration: beyond it a mistake is more likely.
	longestEvery = 10 * 366 * 24 * time.Hour
	// leastCatchup is the server's own bound.
	leastCatchup = 10 * time.Second
)

// check says what is wrong with it, such as what never comes, and is the spec for the server.
func (w When) check(now time.Time) (sdk.ScheduleSpec, error) {
	every, offset, jitter := time.Duration(w.Every), time.Duration(w.Offset), time.Duration(w.Jitter)
	spec := sdk.ScheduleSpec{StartAt: w.StartAt, EndAt: w.EndAt, Jitter: jitter, TimeZoneName: w.TimeZone}
	zone, err := zoneOf(w.TimeZone)
	switch {
	case err != nil:
		return spec, err
	case len(w.Cron) == 0 && every == 0:
		return spec, domain.Errorf(domain.Invalid, "cron, every: neither is given; say when to run, such as --cron \"0 9 * * MON-FRI\" or --every 1h")
	case len(w.Cron) > mostCronLines:
		return spec, domain.Errorf(domain.Invalid, "cron: %d lines are given; at most %d are allowed", len(w.Cron), mostCronLines)
	case w.Every != 0 && every < time.Second || every > longestEvery || every%time.Second != 0:
		return spec, domain.Errorf(domain.Invalid, "every: is %s; give whole seconds, from 1s to 10 years", every)
	case offset < 0 || offset > 0 && offset >= every || offset%time.Second != 0:
		return spec, domain.Errorf(domain.Invalid, "offset: is %s; give whole seconds, less than every (%s)", offset, every)
	case jitter < 0 || jitter > longestEvery:
		return spec, domain.Errorf(domain.Invalid, "jitter: is %s; give a duration from 0 on", jitter)
	case !w.StartAt.IsZero() && !w.EndAt.IsZero() && !w.EndAt.After(w.StartAt):
		return spec, domain.Errorf(domain.Invalid, "end_at: %s is not after start_at, %s", w.EndAt.Format(time.RFC3339), w.StartAt.Format(time.RFC3339))
	case !w.EndAt.IsZero() && !w.EndAt.After(now):
		return spec, domain.Errorf(domain.Invalid, "end_at: %s is over", w.EndAt.Format(time.RFC3339))
	}
	from := now
	if w.StartAt.After(now) {
		from = w.StartAt
	}
	from = from.In(zone)
	ended := func(at time.Time) bool { return !w.EndAt.IsZero() && at.After(w.EndAt) }
	for _, line := range w.Cron {
		c, err := readCron(line)
		if err != nil {
			return spec, err
		}
		at, ok := c.next(from)
		switch {
		case !ok:
			return spec, c.never(from)
		case ended(at):
			return spec, domain.Errorf(domain.Invalid, "cron: %q never comes before end_at: at %s for the first time", domain.Shorten(line, 60), at.Format(time.RFC3339))
		}
		spec.Calendars = append(spec.Calendars, c.spec())
	}
	if every > 0 {
		since := from.Sub(time.Unix(0, 0).Add(offset))
		if at := from.Add((every - since%every) % every); ended(at) {
			return spec, domain.Errorf(domain.Invalid, "every: never comes before end_at: at %s for the first time", at.Format(time.RFC3339))
		}
		spec.Intervals = []sdk.ScheduleIntervalSpec{{Every: every, Offset: offset}}
	}
	return spec, nil
}

// zoneOf finds a time zone by its name. Where this machine has none the server has to say.
func zoneOf(name string) (*time.Location, error) {
	switch zone, err := time.LoadLocation(name); {
	case name == "":
		return time.UTC, nil
	case name == "Local":
		return nil, domain.Errorf(domain.Invalid, "time_zone: Local is another one on each machine; name it, such as Europe/Berlin")
	case err == nil:
		return zone, nil
	}
	if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
		return time.UTC, nil
	}
	return nil, domain.Errorf(domain.Invalid, "time_zone: there is no %q; give a name such as Europe/Berlin or America/New_York", domain.Shorten(name, 60))
}

// Check says what is wrong with a schedule as far as that takes no server, such as a time that never comes after now.
func (s Schedule) Check(now time.Time) error {
	if err := s.check(); err != nil {
		return invalid(err)
	}
	if _, err := s.When.check(now); err != nil {
		return invalid(err)
	}
	return nil
}

func (s Schedule) check() error {
	var overlap Overlap
	name := checkScheduleName(s.Name)
	switch session := s.Start.ID != ""; {
	case name != nil:
		return name
	case overlap.UnmarshalText([]byte(s.Overlap)) != nil:
		return domain.Errorf(domain.Invalid, "overlap: %q is none of %s", domain.Shorten(string(s.Overlap), 40), enum.Names(enum.Known[Overlap](), ", "))
	case session && domain.CheckAgentName(s.Start.ID) != nil:
		return domain.Errorf(domain.Invalid, "id: %q is no name of a session; give a name, or leave it out for an agent of each run's own", domain.Shorten(s.Start.ID, 60))
	case session && s.Overlap == OverlapTerminateOther:
		return domain.Errorf(domain.Invalid, "overlap: TerminateOther would leave the session's execution at work; CancelOther stops it")
	case session && s.Overlap == OverlapAllowAll:
		return domain.Errorf(domain.Invalid, "overlap: AllowAll is none for a session, which does one thing at a time; BufferAll has all runs wait for their turn")
	case s.Start.Budget.Deadline != nil || s.Start.Definition.Budget.Deadline != nil:
		return domain.Errorf(domain.Invalid, "deadline: is one time, which all runs after it would miss; give max_seconds instead")
	case s.CatchupWindow != 0 && (s.CatchupWindow < leastCatchup || s.CatchupWindow > longestEvery):
		return domain.Errorf(domain.Invalid, "catchup_window: is %s; give a duration from %s to 10 years", s.CatchupWindow, leastCatchup)
	}
	return nil
}

// CreateSchedule creates a schedule. What is wrong with it is told before anything is created: a time that never comes
// too. It is refused where there is one of that name. It needs no worker; its runs do.
func (c *Client) CreateSchedule(ctx context.Context, s Schedule) (ScheduleView, error) {
	if err := s.Check(time.Now()); err != nil {
		return ScheduleView{}, err
	}
	spec, err := s.When.check(time.Now())
	if err != nil {
		return ScheduleView{}, invalid(err)
	}
	input, err := c.scheduledInput(ctx, s)
	if err != nil {
		return ScheduleView{}, err
	}
	_, task := c.cfg.timing()
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	_, err = c.temporal.ScheduleClient().Create(call, sdk.ScheduleOptions{
		ID: s.Name, Spec: spec, Overlap: overlapPolicies[s.overlap()], CatchupWindow: s.CatchupWindow,
		PauseOnFailure: s.PauseOnFailure, Paused: s.Paused, Memo: map[string]any{contract.MemoSchedule: s.memo()},
		Action: &sdk.ScheduleWorkflowAction{
			ID: contract.ScheduledIDPrefix + s.Name, Workflow: string(contract.Scheduled), Args: []any{input}, TaskQueue: cmp.Or(s.TaskQueue, c.cfg.TaskQueue),
			WorkflowTaskTimeout: task, StaticSummary: "schedule " + s.Name,
		},
	})
	switch {
	case errors.Is(err, temporal.ErrScheduleAlreadyRunning):
		return ScheduleView{}, errorf(Refused, err, "schedule: there is one named %s already; take another name, or change that one", s.Name).next("`schedule update %s` changes it", s.Name)
	case err != nil:
		return ScheduleView{}, c.failSchedule(ctx, s.Name, "creating schedule "+s.Name, err)
	}
	return c.Schedule(ctx, s.Name)
}

// checkScheduleName says what is wrong with a schedule's name.
func checkScheduleName(name string) error {
	if err := domain.CheckAgentName(name); err != nil {
		return domain.Errorf(domain.Invalid, "name: %s", domain.AsError(err).Message[len("id: "):])
	}
	return nil
}

// memo is what the server's list tells of it.
func (s Schedule) memo() scheduleMemo {
	return scheduleMemo{Session: s.Start.ID, Model: s.Start.Definition.Model.String(), When: s.When}
}

func (s Schedule) overlap() Overlap {
	if s.Overlap == "" {
		return OverlapSkip
	}
	return s.Overlap
}

// scheduledInput is what each run begins with. Of an agent of its own the run makes the id.
func (c *Client) scheduledInput(ctx context.Context, s Schedule) (contract.ScheduledInput, error) {
	a := agent{}
	if s.Start.ID != "" {
		var err error
		if a, err = agentOf(s.Start.ID); err != nil {
			return contract.ScheduledInput{}, err
		}
	}
	start, err := c.input(ctx, a, s.Start)
	if err == nil {
		err = s.Start.Definition.CheckShown(s.Start.Trusted)
	}
	if err != nil {
		return contract.ScheduledInput{}, invalid(err)
	}
	start.Timing, _ = c.cfg.timing()
	start.By = c.cfg.By
	in := contract.ScheduledInput{Schedule: s.Name, Start: start, Model: s.Model, Indexed: c.indexed(start)}
	if err := domain.CheckFits("prompt, definition and what is given", in, maxScheduled); err != nil {
		return in, invalid(err)
	}
	return in, nil
}

// maxScheduled bounds what a schedule keeps for its runs: the server hands it on with each of its own.
const maxScheduled = domain.MaxMessage

// failSchedule is fail for a schedule.
func (c *Client) failSchedule(ctx context.Context, name, doing string, err error) error {
	if err != nil && deleted(err) && ctx.Err() == nil {
		return errorf(NotFound, err, "schedule: there is none named %q", domain.Shorten(name, 100)).next("`schedule list` shows those that there are")
	}
	return fail(ctx, name, doing, err)
}

// comesNext are the next times of a schedule, the nearest first.
func comesNext(times []time.Time, most int) []time.Time {
	next := []time.Time{}
	for _, at := range times {
		next = append(next, at.UTC())
	}
	slices.SortFunc(next, time.Time.Compare)
	return next[:min(len(next), most)]
}
