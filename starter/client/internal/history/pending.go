package history

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain/contract"
)

// A Pending is work that has not ended, as the server describes it.
type Pending struct {
	// Work has its ID, its Activity, since when it waits or works, the newest
	// Attempt and why the one Before failed, but no request.
	Work
	// Waiting means that no worker has it; BackingOff that this is on purpose,
	// until its next attempt, which is due at Next.
	Waiting    bool
	BackingOff bool
	Next       time.Time
	// Limited is the task queue on which it waits for its turn, empty where it
	// waits for no rate limit.
	Limited string
	// Beat is what it last reported, over all attempts; Fresh that this was by
	// the attempt under way.
	Beat  *contract.Heartbeat
	Fresh bool
}

// Pendings reads the work that a description says has not ended.
func Pendings(c converter.DataConverter, s *workflowservice.DescribeWorkflowExecutionResponse) []Pending {
	var work []Pending
	own := s.GetExecutionConfig().GetTaskQueue().GetName()
	for _, info := range s.GetPendingActivities() {
		p := pending(c, info)
		queue := info.GetActivityOptions().GetTaskQueue().GetName()
		limits := p.Activity == string(contract.CallModel) || p.Activity == string(contract.CallTool)
		if p.Waiting && !p.BackingOff && limits && queue != own && !contract.IsOwnQueue(queue, own) {
			p.Limited = queue
		}
		work = append(work, p)
	}
	return work
}

func pending(c converter.DataConverter, info *workflowpb.PendingActivityInfo) Pending {
	d := newDecoder(c, "", false)
	p := Pending{
		Work: Work{
			ID: info.GetActivityId(), Activity: info.GetActivityType().GetName(),
			Since: info.GetScheduledTime().AsTime(), Attempt: int(info.GetAttempt()),
		},
		Waiting: info.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED,
	}
	if f := info.GetLastFailure(); f != nil {
		p.Before = d.loss(f, contract.Broke).Err()
	}
	if next := info.GetNextAttemptScheduleTime(); next != nil && p.Waiting {
		p.BackingOff, p.Next = true, next.AsTime()
	}
	if started := info.GetLastStartedTime(); started != nil && !p.Waiting {
		p.Since = started.AsTime()
	}
	if beat, err := decode[contract.Heartbeat](c, info.GetHeartbeatDetails()); err == nil && beat.Step > 0 {
		p.Beat = beat
		p.Fresh = !p.Waiting && info.GetLastHeartbeatTime().AsTime().After(info.GetLastStartedTime().AsTime())
	}
	return p
}
