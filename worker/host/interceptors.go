package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"everstep/activities/transcript"
	"everstep/domain/contract"
	"everstep/worker/host/codec"
	"everstep/workflows"
)

// feeder hands the transcript to the activities of this worker, as a workflow
// schedules them, and marks the boundaries that lie in a workflow. Nothing
// flows back: a workflow never reads what the worker remembers.
type feeder struct {
	interceptor.WorkerInterceptorBase
	cache *transcript.Cache
	at    func(context.Context, contract.Boundary)
}

func (f *feeder) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &feedInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, f}
}

// feedInbound only wraps the outbound side.
type feedInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	feeder *feeder
}

func (in *feedInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return in.Next.Init(&feedOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, in.feeder})
}

type feedOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	feeder *feeder
}

func (out *feedOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if !workflow.IsReplaying(ctx) {
		out.feeder.scheduled(ctx, name, args)
	}
	return out.Next.ExecuteActivity(ctx, name, args...)
}

func (out *feedOutbound) NewContinueAsNewError(ctx workflow.Context, workflowFunction any, args ...any) error {
	if !workflow.IsReplaying(ctx) {
		out.feeder.reached(contract.Continuing, contract.Place{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID})
	}
	return out.Next.NewContinueAsNewError(ctx, workflowFunction, args...)
}

// scheduled feeds the cache where the activity will read the transcript.
func (f *feeder) scheduled(ctx workflow.Context, name string, args []any) {
	switch name {
	case string(contract.CallModel):
		place := contract.Place{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID}
		if request, ok := args[0].(contract.ModelRequest); ok {
			place.ExecutionID, place.Step = request.ExecutionID, request.Step
		}
		f.reached(contract.BetweenSteps, place)
	case string(contract.CallTool), string(contract.VerifyCall), string(contract.Record), string(contract.ListTools):
	default:
		return
	}
	if log, resolved, ok := workflows.Transcript(ctx); ok {
		f.cache.Feed(workflow.GetInfo(ctx).WorkflowExecution.ID, log, resolved)
		if record, ok := args[0].(contract.RecordRequest); ok && resolved.Records {
			f.feedAccount(ctx, record)
		}
	}
}

// feedAccount hands what a run holds to the activity that puts it among the records. One that is for another run asks that.
func (f *feeder) feedAccount(ctx workflow.Context, record contract.RecordRequest) {
	run := workflow.GetInfo(ctx).WorkflowExecution
	if record.RunID != "" || record.Ended != nil && record.Ended.RunID != run.RunID {
		return
	}
	request := transcript.Wants(record)
	all := request
	all.Unbounded = true
	if page, ok := workflows.Account(ctx, all); ok {
		f.cache.FeedAccount(run, request, page)
	}
}

func (f *feeder) reached(boundary contract.Boundary, place contract.Place) {
	if f.at != nil {
		f.at(contract.WithPlace(context.Background(), place), boundary)
	}
}

// stopper tells activities at once that the worker stops. The SDK tells them when the
// workflow tasks in progress have ended, and until then begins calls that these ask for.
type stopper struct {
	interceptor.WorkerInterceptorBase
	stopping <-chan struct{}
}

func (s *stopper) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &stopInbound{interceptor.ActivityInboundInterceptorBase{Next: next}, s.stopping}
}

// stopInbound only wraps the outbound side.
type stopInbound struct {
	interceptor.ActivityInboundInterceptorBase
	stopping <-chan struct{}
}

func (in *stopInbound) Init(next interceptor.ActivityOutboundInterceptor) error {
	return in.Next.Init(&stopOutbound{interceptor.ActivityOutboundInterceptorBase{Next: next}, in.stopping})
}

type stopOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
	stopping <-chan struct{}
}

func (out *stopOutbound) GetWorkerStopChannel(context.Context) <-chan struct{} { return out.stopping }

// plain keeps what travels in queries, signals and updates out of the codec, on
// both sides, so that Temporal's own tools can read and send it; large pages aside.
type plain struct{ interceptor.InterceptorBase }

var _ interceptor.Interceptor = (*plain)(nil)

func (*plain) InterceptClient(next interceptor.ClientOutboundInterceptor) interceptor.ClientOutboundInterceptor {
	return &plainClient{interceptor.ClientOutboundInterceptorBase{Next: next}}
}

func (*plain) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &plainWorkflow{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

// plainWorkflow encodes what a workflow answers.
type plainWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
}

// HandleQuery leaves to the codec what is asked for by one who can read that.
func (p *plainWorkflow) HandleQuery(ctx workflow.Context, in *interceptor.HandleQueryInput) (any, error) {
	if len(in.Args) > 0 {
		if asked, ok := in.Args[0].(interface{ Compressed() bool }); ok && asked.Compressed() {
			return p.Next.HandleQuery(ctx, in)
		}
	}
	return answer(p.Next.HandleQuery(ctx, in))
}

func (p *plainWorkflow) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	return answer(p.Next.ExecuteUpdate(ctx, in))
}

func answer(value any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return codec.Plain(value)
}

// plainClient encodes what a client sends. Each call has an input of its own.
type plainClient struct {
	interceptor.ClientOutboundInterceptorBase
}

func (p *plainClient) QueryWorkflow(ctx context.Context, in *interceptor.ClientQueryWorkflowInput) (_ converter.EncodedValue, err error) {
	if in.Args, err = codec.PlainAll(in.Args); err != nil {
		return nil, err
	}
	return p.Next.QueryWorkflow(ctx, in)
}

func (p *plainClient) SignalWorkflow(ctx context.Context, in *interceptor.ClientSignalWorkflowInput) (err error) {
	if in.Arg, err = codec.Plain(in.Arg); err != nil {
		return err
	}
	return p.Next.SignalWorkflow(ctx, in)
}

func (p *plainClient) UpdateWorkflow(ctx context.Context, in *interceptor.ClientUpdateWorkflowInput) (_ client.WorkflowUpdateHandle, err error) {
	if in.Args, err = codec.PlainAll(in.Args); err != nil {
		return nil, err
	}
	return p.Next.UpdateWorkflow(ctx, in)
}

// lostAttributes are search attributes that were removed from the namespace while workflows had them.
// The server refuses a workflow task that sets one, and would again for good: they are left out of what
// this worker sends. Nothing but a list of agents reads them, and a replay does not compare them.
type lostAttributes struct {
	mu sync.Mutex
	// since is when each was refused last.
	since map[string]time.Time
}

// refusedFor is how long an attribute is left out before the server is asked again, for it may be back.
const refusedFor = 5 * time.Minute

// leaveOut is a gRPC interceptor: of the SDK's own layers none knows that a task is refused.
func (l *lostAttributes) leaveOut(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	task, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest)
	if !ok {
		return call(ctx, method, request, reply, conn, options...)
	}
	err := call(ctx, method, l.without(task), reply, conn, options...)
	if err != nil && strings.Contains(err.Error(), "BadSearchAttributes") {
		l.learn(task, err.Error(), time.Now())
	}
	return err
}

// learn notes the attributes of a task that the server's refusal names; all of them where it names none, but the one
// by which the SDK finds versions again: the server has it always.
func (l *lostAttributes) learn(task *workflowservice.RespondWorkflowTaskCompletedRequest, refusal string, now time.Time) {
	var set []string
	for _, command := range task.GetCommands() {
		set = slices.AppendSeq(set, maps.Keys(attributesOf(command).GetIndexedFields()))
	}
	set = slices.DeleteFunc(set, func(name string) bool { return name == "TemporalChangeVersion" })
	named := slices.DeleteFunc(slices.Clone(set), func(name string) bool {
		return !slices.Contains(strings.Fields(refusal), name)
	})
	if len(named) == 0 {
		named = set
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since == nil {
		l.since = map[string]time.Time{}
	}
	for _, name := range named {
		l.since[name] = now
	}
}

// without is the task without what is lost, which may be the task itself.
func (l *lostAttributes) without(task *workflowservice.RespondWorkflowTaskCompletedRequest) *workflowservice.RespondWorkflowTaskCompletedRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.since, func(_ string, since time.Time) bool { return time.Since(since) > refusedFor })
	if len(l.since) == 0 {
		return task
	}
	own := proto.CloneOf(task)
	for _, command := range own.GetCommands() {
		fields := attributesOf(command).GetIndexedFields()
		had := len(fields)
		maps.DeleteFunc(fields, func(name string, _ *commonpb.Payload) bool {
			_, lost := l.since[name]
			return lost
		})
		if len(fields) == 0 && had > 0 && command.GetUpsertWorkflowSearchAttributesCommandAttributes() != nil {
			fields[neverSet] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingNil), "type": []byte("Keyword")}}
		}
	}
	return own
}

// neverSet is an attribute of every server that agents never have. A command that sets nothing is refused
// too, and one that is left out would be missed by a replay: this one is unset in its place.
const neverSet = "BatcherUser"

// attributesOf are those that a command sets, nil where it sets none.
func attributesOf(command *commandpb.Command) *commonpb.SearchAttributes {
	if upsert := command.GetUpsertWorkflowSearchAttributesCommandAttributes(); upsert != nil {
		return upsert.GetSearchAttributes()
	}
	return command.GetContinueAsNewWorkflowExecutionCommandAttributes().GetSearchAttributes()
}
