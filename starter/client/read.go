package client

import (
	"encoding/json"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
)

// A reader decodes what histories and descriptions hold. What cannot be read is
// reported as absent: another version, or another program, may have written it.
type reader struct{ converter converter.DataConverter }

func (c *Client) reader() reader { return reader{c.cfg.Converter} }

// decoded reads the first of some payloads.
func decoded[T any](r reader, payloads *commonpb.Payloads) (T, bool) {
	var value T
	if list := payloads.GetPayloads(); len(list) > 0 {
		return value, r.converter.FromPayload(list[0], &value) == nil
	}
	return value, false
}

// input reads what a run was started with.
func (r reader) input(started *historypb.WorkflowExecutionStartedEventAttributes) (domain.SessionInput, bool) {
	return decoded[domain.SessionInput](r, started.GetInput())
}

// outcome reads the memo field that says how the newest execution ended.
func (r reader) outcome(memo *commonpb.Memo) (domain.Outcome, bool) {
	var outcome domain.Outcome
	payload, ok := memo.GetFields()[domain.MemoOutcome]
	if !ok || r.converter.FromPayload(payload, &outcome) != nil {
		return domain.Outcome{}, false
	}
	return outcome, outcome.Number > 0
}

// began reads which execution an update began, where it began one.
func (r reader) began(done *historypb.WorkflowExecutionUpdateCompletedEventAttributes) (domain.SendReply, bool) {
	reply, ok := decoded[domain.SendReply](r, done.GetOutcome().GetSuccess())
	return reply, ok && reply.Began && reply.Number > 0
}

// A scheduled activity is one of ours, as its event tells.
type scheduled struct {
	kind string
	// queue is the task queue that it was given to.
	queue     string
	execution domain.ExecutionID
	step      int
	// model is set for inferences, tool for tool calls, hook for hooks, which
	// are of no step here: they may be called between steps.
	model *domain.ModelRequest
	tool  *domain.ToolRequest
	hook  *domain.HookRequest
}

func (s scheduled) isModel() bool { return s.kind == string(domain.CallModel) }

// scheduled reads the event that schedules an activity.
func (r reader) scheduled(a *historypb.ActivityTaskScheduledEventAttributes) scheduled {
	s := scheduled{kind: a.GetActivityType().GetName(), queue: a.GetTaskQueue().GetName()}
	switch s.kind {
	case string(domain.CallModel):
		if in, ok := decoded[domain.ModelRequest](r, a.GetInput()); ok {
			s.execution, s.step, s.model = in.ExecutionID, in.Step, &in
		}
	case string(domain.CallTool):
		if in, ok := decoded[domain.ToolRequest](r, a.GetInput()); ok {
			s.execution, s.step, s.tool = in.ExecutionID, in.Step, &in
		}
	case string(domain.CallHook):
		if in, ok := decoded[domain.HookRequest](r, a.GetInput()); ok {
			s.hook = &in
		}
	}
	return s
}

// failure reads a failure: ours as it was, another by its text.
func (r reader) failure(f *failurepb.Failure) *domain.Error {
	if f == nil {
		return nil
	}
	err := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: r.converter}).FailureToError(f)
	if told, ok := refusalOf(err); ok {
		return told
	}
	switch {
	case temporal.IsTimeoutError(err):
		return domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "it was not heard of in time")
	case temporal.IsCanceledError(err):
		return domain.CodedErrorf(domain.Denied, domain.CodeInterrupted, "it was interrupted")
	}
	return domain.Errorf(domain.Internal, "%s", said(err))
}

// A carriedExecution is what a run took over of the newest execution.
type carriedExecution struct {
	number int
	// open is the execution in progress, zero where there is none.
	open domain.ExecutionID
	step int
	// begins means that the run itself begins execution number: the agent's
	// first, or the one that goes on from what an earlier workflow ended.
	begins bool
}

// carried reads what a run's input says of the newest execution. A run that
// carries nothing begins the first.
func carried(in domain.SessionInput) carriedExecution {
	if in.Carry == nil {
		return carriedExecution{number: 1, begins: true}
	}
	c := taken(in)
	if in.GoOn != nil && c.open.IsZero() {
		return carriedExecution{number: c.number + 1, begins: true}
	}
	return c
}

// taken is what a run took over.
func taken(in domain.SessionInput) carriedExecution {
	var outcome int
	if in.Carry.Outcome != nil {
		outcome = in.Carry.Outcome.Number
	}
	state, err := domain.Decode[carriedState](in.Carry.State)
	if err != nil || state.Execution == nil {
		return carriedExecution{number: max(outcome, state.Count)}
	}
	c := carriedExecution{
		number: max(outcome, state.Count),
		step:   state.Execution.Folded.Steps + len(state.Execution.Steps),
	}
	if !state.Execution.Status.Terminal() {
		c.open = state.Execution.ID
	}
	return c
}

// A carriedState is the part of a saved state that tells where its newest
// execution stands. Reading the rest would cost as much as the state is long.
type carriedState struct {
	Count     int `json:"execution_count"`
	Execution *struct {
		ID     domain.ExecutionID     `json:"execution_id"`
		Status domain.ExecutionStatus `json:"status"`
		Folded domain.Folded          `json:"folded"`
		Steps  []json.RawMessage      `json:"step_executions"`
	} `json:"execution"`
}
