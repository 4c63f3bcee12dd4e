package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/contract"
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

// updatePatience is how long an update may meet other changes of the same schedule, or wait for the server to show it.
const updatePatience = 10 * time.Second

// UpdateSchedule changes a schedule: change gets it as it is, and leaves it as it is to be. All of that holds at once, or
// none of it; what change returns as an error ends it. It may be called again, where somebody else has changed the
// schedule meanwhile. Whether it is paused stays: see PauseSchedule. Runs under way go on as they began. What is wrong
// is told before anything is changed, as by CreateSchedule. It needs no worker.
func (c *Client) UpdateSchedule(ctx context.Context, name string, change func(*Schedule) error) (none UpdatedSchedule, _ error) {
	id := uuid.NewString()
	var changed []ScheduleDifference
	var written []byte // the conflict token of the schedule over which the update was written last
	for until := time.Now().Add(updatePatience); time.Now().Before(until); {
		d, err := c.describeSchedule(ctx, name)
		if err != nil {
			return none, err
		}
		switch {
		case slices.Contains(notedUpdates(d.GetSchedule()), id):
			return UpdatedSchedule{c.scheduleView(ctx, name, d), changed}, nil
		case written != nil && bytes.Equal(written, d.GetConflictToken()): // the server does not show it yet
			if err := process.Pause(ctx, askAgain); err != nil {
				return none, fail(ctx, name, "waiting for the update of schedule "+name, err)
			}
			continue
		}
		// Nobody has, or the server has dropped it without a word, since another change came before it.
		kept := d.GetSchedule()
		if changed, err = c.changeSchedule(ctx, name, kept, change); err != nil {
			return none, err
		}
		if len(changed) == 0 {
			return UpdatedSchedule{c.scheduleView(ctx, name, d), changed}, nil
		}
		noteUpdate(kept, id)
		written = d.GetConflictToken()
		_, err = onSchedule(ctx, name, "updating", c.temporal.WorkflowService().UpdateSchedule, &workflowservice.UpdateScheduleRequest{
			Namespace: c.cfg.Namespace, ScheduleId: name, Schedule: kept, ConflictToken: written, Identity: c.cfg.By.Identity, RequestId: uuid.NewString(),
		})
		if err != nil && !isAs[*serviceerror.FailedPrecondition](err) { // which is what a server says that notices another change
			return none, err
		}
	}
	return none, errorf(Unreachable, nil, "schedule %s: the update does not show after %s; others change the schedule all the time, or the server is slow", name, updatePatience).next("`schedule show %s` tells whether it holds", name)
}

// changeSchedule writes what change makes of a schedule over what the server keeps of it, and says what is another. Where
// nothing is it writes nothing.
func (c *Client) changeSchedule(ctx context.Context, name string, kept *schedulepb.Schedule, change func(*Schedule) error) ([]ScheduleDifference, error) {
	before, err := c.readSchedule(name, kept)
	if err != nil {
		return nil, errorf(Refused, err, "schedule %s: what its runs begin with cannot be read; delete it and create it anew", name)
	}
	after, _ := c.readSchedule(name, kept) // it shares nothing with before
	if err := change(&after); err != nil {
		return nil, err
	}
	after.Name, after.Paused = before.Name, before.Paused
	changed, err := before.differing(after)
	switch {
	case err != nil:
		return nil, invalidf("schedule %s: %v", name, err)
	case len(changed) == 0:
		return changed, nil
	}
	err = after.check()
	if !reflect.DeepEqual(before.When, after.When) { // else it may be over, and be changed all the same
		err = cmp.Or(err, after.When.check(time.Now()))
		kept.Spec = after.When.spec()
	}
	if err != nil {
		return nil, err
	}
	return changed, c.writeSchedule(ctx, after, kept)
}

// updatesHeader is the header of a schedule's runs that lists its newest updates by their ids. Every update takes the
// list over and adds itself, so that whoever finds theirs there knows that it was taken, though others have come since.
const updatesHeader = "everstep-schedule-updates"

// noteUpdate adds an update. No more than 16 can come between one and the look whether it was taken.
func noteUpdate(kept *schedulepb.Schedule, id string) {
	noted := append(notedUpdates(kept), id)
	payload, _ := converter.GetDefaultDataConverter().ToPayload(noted[max(0, len(noted)-16):]) // texts cannot fail
	start := kept.GetAction().GetStartWorkflow()
	if start.GetHeader().GetFields() == nil {
		start.Header = &commonpb.Header{Fields: map[string]*commonpb.Payload{}}
	}
	start.Header.Fields[updatesHeader] = payload
}

func notedUpdates(kept *schedulepb.Schedule) (ids []string) {
	noted := kept.GetAction().GetStartWorkflow().GetHeader().GetFields()[updatesHeader]
	_ = converter.GetDefaultDataConverter().FromPayload(noted, &ids) // of a schedule that nobody has updated there are none
	return ids
}

// differing are the fields in which a schedule is another, by their names.
func (s Schedule) differing(o Schedule) ([]ScheduleDifference, error) {
	was, err := s.fields()
	is, wrong := o.fields()
	if err = cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	all, keys := []ScheduleDifference{}, maps.Clone(was)
	maps.Copy(keys, is)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !bytes.Equal(was[key], is[key]) {
			all = append(all, ScheduleDifference{key, was[key], is[key]})
		}
	}
	return all, nil
}

// fields are what an update may change of a schedule, as JSON. Of those that say nothing there is none.
func (s Schedule) fields() (fields map[string]json.RawMessage, err error) {
	start, when := s.Start, s.When
	when.StartAt, when.EndAt = when.StartAt.UTC(), when.EndAt.UTC()
	if start.ID == "" { // an agent of a run's own has the definition's
		s.Model = nil
	}
	encoded, err := json.Marshal(struct {
		When
		domain.Definition
		Source         string                 `json:"source,omitzero"` // in the place of the definition's: where it was read is no matter
		Budget         domain.ExecutionBudget `json:"budget,omitzero"` // what was asked for, and not the definition's
		BudgetOf       domain.ExecutionBudget `json:"budget_of_definition,omitzero"`
		Overlap        Overlap                `json:"overlap"`
		CatchupWindow  contract.Span          `json:"catchup_window,omitzero"`
		PauseOnFailure bool                   `json:"pause_on_failure"`
		TaskQueue      string                 `json:"task_queue"`
		Session        string                 `json:"session,omitzero"`
		SessionModel   *domain.LLMConfig      `json:"session_model,omitempty"`
		Prompt         string                 `json:"prompt"`
		Trusted        domain.Trusted         `json:"trusted,omitempty"`
		Metadata       domain.Metadata        `json:"metadata,omitempty"`
		Messages       []domain.Entry         `json:"messages,omitempty"`
	}{
		when, start.Definition, "", start.Budget, start.Definition.Budget, cmp.Or(s.Overlap, OverlapSkip),
		contract.Span(s.CatchupWindow), s.PauseOnFailure, s.TaskQueue, start.ID, s.Model, start.Prompt, start.Trusted, start.Metadata, start.Messages,
	})
	if err == nil {
		err = json.Unmarshal(encoded, &fields)
	}
	return fields, err
}
