package history

import (
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain/account"
	"everstep/domain/contract"
)

// Pendings reads the activities that a description says have not ended.
func Pendings(c converter.DataConverter, s *workflowservice.DescribeWorkflowExecutionResponse) []account.Pending {
	work := []account.Pending{}
	own := s.GetExecutionConfig().GetTaskQueue().GetName()
	for _, info := range s.GetPendingActivities() {
		p := account.Pending{
			ID: info.GetActivityId(), Activity: info.GetActivityType().GetName(),
			Since: info.GetScheduledTime().AsTime(), Attempt: int(info.GetAttempt()), Waiting: info.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED,
		}
		if f := info.GetLastFailure(); f != nil {
			p.Failure = lossOf(c, f, contract.Broke).Err()
		}
		if next := info.GetNextAttemptScheduleTime(); next != nil && p.Waiting {
			p.Next = next.AsTime()
		}
		if started := info.GetLastStartedTime(); started != nil && !p.Waiting {
			p.Since = started.AsTime()
		}
		if beat, err := decode[contract.Heartbeat](c, info.GetHeartbeatDetails()); err == nil && (beat.Step > 0 || beat.Progress != nil) {
			p.Heartbeat = beat
			p.Fresh = !p.Waiting && info.GetLastHeartbeatTime().AsTime().After(info.GetLastStartedTime().AsTime())
		}
		queue := info.GetActivityOptions().GetTaskQueue().GetName()
		limits := p.Activity == string(contract.CallModel) || p.Activity == string(contract.CallTool)
		if p.Waiting && p.Next.IsZero() && limits && queue != own && !contract.IsOwnQueue(queue, own) {
			p.Limited = queue
		}
		work = append(work, p)
	}
	return work
}
