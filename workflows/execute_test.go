package workflows_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/workflows"
)

// world is a worker made of functions: what the model answers, what tools do.
type world struct {
	model func(contract.ModelRequest) (contract.ModelReply, error)
	tool  func(contract.ToolRequest) (contract.ToolReply, error)
	tools []domain.ToolSpec
	// list and record stand for the other two activities, where given.
	list   func(contract.ResolveRequest) (contract.Resolved, error)
	record func(contract.RecordRequest) (contract.Segment, error)
	verify func(contract.ToolRequest) (contract.VerifyReply, error)
	bind   func(contract.BindRequest) (contract.Bound, error)
	unbind func(contract.UnbindRequest) error
	// send and follow are what schedules ask of sessions.
	send    func(contract.SessionMessage) (contract.SessionReply, error)
	follow  func(contract.FollowRequest) (contract.FollowReply, error)
	storage bool
	// approvals are the worker's; nil: all calls are allowed.
	approvals *domain.Approvals
	// loses says that attempts at inferences fail by time-outs only.
	loses bool
	// hangs, where given, is how long the store of records takes of what it is given, to take no record.
	hangs func(given time.Duration) time.Duration
	// exhausted counts the inferences, first of all, that end with lostAtLast.
	exhausted int
	// logger takes what is logged.
	logger log.Logger

	mu     sync.Mutex
	asked  []contract.ModelRequest
	ran    []contract.ToolRequest
	listed []contract.ResolveRequest
	// options are those with which each activity was asked for last.
	options map[string]workflow.ActivityOptions
	// sent is how many bytes of inputs went to the server at a time.
	sent map[time.Time]int
	// referred says which activities could refer to a transcript.
	referred map[string]bool
	// published are the search attributes, in the order in which they were set.
	published []temporal.SearchAttributes
}

// quiet drops what the SDK logs: a test says itself what matters to it.
func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

func (w *world) environment(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(cmp.Or(w.logger, quiet()))
	env := suite.NewTestWorkflowEnvironment()
	ownTime(env)
	workflows.Register(env, workflows.Options{})
	interceptors := []interceptor.WorkerInterceptor{&ownID{world: w}}
	// The race detector on a busy machine is no deadlock, nor is an activity stuck that has no processor.
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 2 * time.Minute, Interceptors: interceptors})
	env.SetTestTimeout(2 * time.Minute)
	serves(env, contract.CallModel, func(r contract.ModelRequest) (contract.ModelReply, error) {
		w.mu.Lock()
		w.asked = append(w.asked, r)
		w.mu.Unlock()
		return w.model(r)
	})
	serves(env, contract.CallTool, func(r contract.ToolRequest) (contract.ToolReply, error) {
		w.mu.Lock()
		w.ran = append(w.ran, r)
		w.mu.Unlock()
		return w.tool(r)
	})
	serves(env, contract.ListTools, func(r contract.ResolveRequest) (contract.Resolved, error) {
		w.mu.Lock()
		w.listed = append(w.listed, r)
		w.mu.Unlock()
		catalog := contract.Resolved{Tools: w.tools, Storage: w.storage, MinOutputTokens: 1, Digest: domain.DigestOf([]byte("resolved"))}
		var err error
		if w.list != nil {
			catalog, err = w.list(r)
		}
		if r.Definition.Approvals == nil {
			catalog.Approvals = cmp.Or(catalog.Approvals, w.approvals, domain.ApprovalsOf("allow"))
		}
		return catalog, err
	})
	serves(env, contract.Record, func(r contract.RecordRequest) (contract.Segment, error) {
		return w.record(r)
	})
	serves(env, contract.VerifyCall, func(r contract.ToolRequest) (contract.VerifyReply, error) {
		return w.verify(r)
	})
	serves(env, contract.Bind, func(r contract.BindRequest) (contract.Bound, error) { return w.bind(r) })
	serves(env, contract.Unbind, func(r contract.UnbindRequest) (contract.UnbindReply, error) {
		return contract.UnbindReply{}, w.unbind(r)
	})
	serves(env, contract.Send, func(r contract.SessionMessage) (contract.SessionReply, error) { return w.send(r) })
	serves(env, contract.Follow, func(r contract.FollowRequest) (contract.FollowReply, error) { return w.follow(r) })
	return env
}

// serves has workers make an activity.
func serves[In, Out any](env *testsuite.TestWorkflowEnvironment, name contract.Activity[In, Out], do func(In) (Out, error)) {
	env.RegisterActivityWithOptions(func(_ context.Context, r In) (Out, error) { return do(r) }, activity.RegisterOptions{Name: string(name)})
}

// ownTime has time pass in an environment where nothing else is to be done, and nowhere else. The SDK has it pass on the
// wall while activities are under way, so that a machine that takes half a second for one would have what a test plans
// for half a second later come before its result. It has no option for that.
func ownTime(env *testsuite.TestWorkflowEnvironment) {
	shared := reflect.ValueOf(env).Elem().FieldByName("impl").Elem().FieldByName("testWorkflowEnvironmentShared").Elem()
	wall, own := shared.FieldByName("wallClock"), shared.FieldByName("mockClock")
	reflect.NewAt(wall.Type(), wall.Addr().UnsafePointer()).Elem().Set(reflect.NewAt(own.Type(), own.Addr().UnsafePointer()).Elem())
}

// reachesRoot has sub-agents' signals reach the root, which the environment does not know by its id.
func reachesRoot(env *testsuite.TestWorkflowEnvironment) {
	env.OnSignalExternalWorkflow(mock.Anything, "agent/"+unnamed, mock.Anything, mock.Anything, mock.Anything).Return(
		func(_, _, _, signal string, arg any) error {
			env.SignalWorkflow(signal, arg)
			return nil
		})
}

// ownID runs each agent under the workflow id that a client would start it with,
// where the test gives it none: the environment has the same one for all.
type ownID struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase
	interceptor.WorkflowOutboundInterceptorBase
	id    string
	world *world
}

func (o *ownID) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &ownID{world: o.world, WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

func (o *ownID) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o.world.mu.Lock()
	if o.world.options == nil {
		o.world.options, o.world.referred = map[string]workflow.ActivityOptions{}, map[string]bool{}
		o.world.sent = map[time.Time]int{}
	}
	encoded, _ := json.Marshal(args)
	o.world.sent[workflow.Now(ctx)] += len(encoded)
	_, _, o.world.referred[name] = workflows.Transcript(ctx)
	o.world.options[name] = workflow.GetActivityOptions(ctx)
	o.world.mu.Unlock()
	if policy := workflow.GetActivityOptions(ctx).RetryPolicy; policy != nil && len(policy.NonRetryableErrorTypes) > 1 && o.world.loses {
		// The environment makes an attempt again after a time-out that the server does not.
		ctx = workflow.WithRetryPolicy(ctx, temporal.RetryPolicy{MaximumAttempts: 1})
	}
	if name == string(contract.Record) && o.world.hangs != nil {
		future, set := workflow.NewFuture(ctx)
		workflow.Go(ctx, func(ctx workflow.Context) {
			_ = workflow.Sleep(ctx, o.world.hangs(workflow.GetActivityOptions(ctx).ScheduleToCloseTimeout))
			set.SetError(temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil))
		})
		return future
	}
	if name == string(contract.CallModel) && o.world.exhausted > 0 {
		o.world.exhausted--
		future, set := workflow.NewFuture(ctx)
		set.SetError(lostAtLast())
		return future
	}
	return o.WorkflowOutboundInterceptorBase.Next.ExecuteActivity(ctx, name, args...)
}

// lostAtLast is the end of an activity whose worker was lost in the last of the attempts
// that were the server's to make.
func lostAtLast() error {
	timeout := &failurepb.Failure{FailureInfo: &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{
		TimeoutType: enumspb.TIMEOUT_TYPE_HEARTBEAT,
	}}}
	return temporal.GetDefaultFailureConverter().FailureToError(&failurepb.Failure{
		Cause: timeout, FailureInfo: &failurepb.Failure_ActivityFailureInfo{ActivityFailureInfo: &failurepb.ActivityFailureInfo{
			RetryState: enumspb.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED,
		}},
	})
}

func (o *ownID) Init(next interceptor.WorkflowOutboundInterceptor) error {
	o.WorkflowOutboundInterceptorBase.Next = next
	return o.WorkflowInboundInterceptorBase.Next.Init(o)
}

func (o *ownID) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	if session, ok := in.Args[0].(*contract.SessionInput); ok {
		o.id = session.WorkflowID()
	}
	return o.WorkflowInboundInterceptorBase.Next.ExecuteWorkflow(ctx, in)
}

func (o *ownID) UpsertTypedSearchAttributes(_ workflow.Context, attributes ...temporal.SearchAttributeUpdate) error {
	o.world.published = append(o.world.published, temporal.NewSearchAttributes(attributes...))
	return nil
}

func (o *ownID) GetInfo(ctx workflow.Context) *workflow.Info {
	info := o.WorkflowOutboundInterceptorBase.Next.GetInfo(ctx)
	if info.WorkflowExecution.ID == "default-test-workflow-id" {
		info.WorkflowExecution.ID = o.id
	}
	return info
}

func says(text string, calls ...domain.ToolCall) contract.ModelReply {
	m := domain.Message{Role: domain.RoleAssistant, ToolCalls: calls}
	if text != "" {
		m.Parts = []domain.Part{{Type: domain.PartText, Text: text}}
	}
	finish := domain.FinishStop
	if len(calls) > 0 {
		finish = domain.FinishToolCalls
	}
	encoded, _ := json.Marshal(m)
	return contract.ModelReply{
		Outcome: contract.Answered, Message: &m, Digest: domain.DigestOf(encoded), Tries: 1,
		Response: domain.Response{Finish: finish, Usage: domain.Usage{InputTokens: 10, OutputTokens: 5}},
	}
}

// unnamed is the id of an agent without a name.
const unnamed = "5a0c9d6e-6f0f-4d27-9c7e-0d3f3f1d3a55"

func input(t *testing.T, name string, change ...func(*contract.SessionInput)) contract.SessionInput {
	t.Helper()
	id := unnamed
	if name != "" {
		id = name
	}
	agent, err := domain.AgentIDOf(id)
	require.NoError(t, err)
	in := contract.SessionInput{
		AgentID: agent, Name: name, Prompt: "hello",
		Definition: domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "/x"}, Tools: []string{"look"}},
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func stepsOf(n int64) domain.ExecutionBudget  { return domain.ExecutionBudget{MaxSteps: &n} }
func tokensOf(n int64) domain.ExecutionBudget { return domain.ExecutionBudget{MaxTokens: &n} }
func callsOf(n int64) domain.ExecutionBudget  { return domain.ExecutionBudget{MaxToolCalls: &n} }

// costOf is in nano-dollars.
func costOf(n int64) domain.ExecutionBudget      { return domain.ExecutionBudget{MaxCostNanoUSD: &n} }
func secondsOf(n float64) domain.ExecutionBudget { return domain.ExecutionBudget{MaxSeconds: &n} }

func budgeted(budget domain.ExecutionBudget) func(*contract.SessionInput) {
	return func(in *contract.SessionInput) { in.Budget = budget }
}

// ruled gives an agent the rules of a word.
func ruled(word string) func(*contract.SessionInput) {
	return func(in *contract.SessionInput) { in.Definition.Approvals = domain.ApprovalsOf(word) }
}

func tried(attempts int) func(*contract.SessionInput) {
	return func(in *contract.SessionInput) { in.Definition.Attempts = attempts }
}

// execute runs an agent's workflow to the end of its run.
func execute(env *testsuite.TestWorkflowEnvironment, in contract.SessionInput) {
	env.ExecuteWorkflow(string(contract.Execute), in)
}

// executed is an environment in which a run has come to its end.
func (w *world) executed(t *testing.T, in contract.SessionInput) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := w.environment(t)
	execute(env, in)
	return env
}

func signalStop(env *testsuite.TestWorkflowEnvironment, request contract.StopRequest) {
	env.SignalWorkflow(string(contract.SignalStop), request)
}

// stopsWith has an agent be asked to stop at a time.
func stopsWith(env *testsuite.TestWorkflowEnvironment, at time.Duration, request contract.StopRequest) {
	env.RegisterDelayedCallback(func() { signalStop(env, request) }, at)
}

func query[In, Out any](t *testing.T, env *testsuite.TestWorkflowEnvironment, q contract.Query[In, Out], in In) Out {
	t.Helper()
	value, err := env.QueryWorkflow(string(q), in)
	require.NoError(t, err)
	var out Out
	require.NoError(t, value.Get(&out))
	return out
}

// entriesIn are the messages that a run tells.
func entriesIn(t *testing.T, env *testsuite.TestWorkflowEnvironment) []domain.Entry {
	t.Helper()
	return query(t, env, contract.QueryMessages, contract.MessagesRequest{}).Entries
}

// readAccount are parts of the account that a workflow tells.
func readAccount(t *testing.T, env *testsuite.TestWorkflowEnvironment, want ...account.Part) account.Account {
	t.Helper()
	return accountFrom(t, account.Request{Want: want}, func(request account.Request) (converter.EncodedValue, error) {
		return env.QueryWorkflow(string(account.Query), request)
	})
}

func accountFrom(t *testing.T, request account.Request, ask func(account.Request) (converter.EncodedValue, error)) account.Account {
	t.Helper()
	all, _, err := account.ReadRun(request, func(request account.Request) (page account.Page, err error) {
		value, err := ask(request)
		if err == nil {
			err = value.Get(&page)
		}
		return page, err
	})
	require.NoError(t, err)
	return all
}

func status(t *testing.T, env *testsuite.TestWorkflowEnvironment) account.Status {
	t.Helper()
	return account.StatusOf(*readAccount(t, env, account.HeadOf).Head)
}

// statusOf is the status of a sub-agent.
func statusOf(t *testing.T, env *testsuite.TestWorkflowEnvironment, id domain.AgentID) account.Status {
	t.Helper()
	told := accountFrom(t, account.Request{Want: []account.Part{account.HeadOf}}, func(request account.Request) (converter.EncodedValue, error) {
		return env.QueryWorkflowByID(domain.WorkflowID(id.String()), string(account.Query), request)
	})
	return account.StatusOf(*told.Head)
}

// executionIn is an execution of the agent by its number; zero is the newest.
func executionIn(t *testing.T, env *testsuite.TestWorkflowEnvironment, number int) account.Execution {
	t.Helper()
	all := readAccount(t, env, account.Executions).Executions
	require.NotEmpty(t, all)
	if number == 0 {
		return all[len(all)-1]
	}
	at := slices.IndexFunc(all, func(e account.Execution) bool { return e.Number == number })
	require.GreaterOrEqual(t, at, 0, "execution %d", number)
	return all[at]
}

// endOf is what an execution came to.
func endOf(t *testing.T, env *testsuite.TestWorkflowEnvironment, number int) contract.End {
	t.Helper()
	end := executionIn(t, env, number).Ended
	require.NotNil(t, end)
	return *end
}

// stepsIn are the steps of an execution by its number; zero is the newest.
func stepsIn(t *testing.T, env *testsuite.TestWorkflowEnvironment, number int) (steps []domain.StepExecution) {
	t.Helper()
	if number == 0 {
		number = executionIn(t, env, 0).Number
	}
	all := readAccount(t, env, account.Steps)
	for _, step := range all.Steps {
		if step.Execution == number {
			steps = append(steps, step.StepExecution)
		}
	}
	return steps
}

// stepIn is a step of the newest execution by its number.
func stepIn(t *testing.T, env *testsuite.TestWorkflowEnvironment, number int) domain.StepExecution {
	t.Helper()
	steps := stepsIn(t, env, 0)
	at := slices.IndexFunc(steps, func(s domain.StepExecution) bool { return s.Step.Number == number })
	require.GreaterOrEqual(t, at, 0, "step %d", number)
	return steps[at]
}

// eventsOf are the events of an execution by its number; zero is the newest.
func eventsOf(t *testing.T, env *testsuite.TestWorkflowEnvironment, number int) (events []domain.Event) {
	t.Helper()
	id := executionIn(t, env, number).ExecutionID
	for _, event := range readAccount(t, env, account.Events).Events {
		if event.ExecutionID == id {
			events = append(events, event)
		}
	}
	return events
}

// dataOf are what the events of a type of an execution say.
func dataOf[T any](t *testing.T, env *testsuite.TestWorkflowEnvironment, number int) (all []T) {
	t.Helper()
	for _, event := range eventsOf(t, env, number) {
		if data, ok := event.Data.(T); ok {
			all = append(all, data)
		}
	}
	return all
}

// stateIn is the agent's state, without messages and steps that have ended.
func stateIn(t *testing.T, env *testsuite.TestWorkflowEnvironment) domain.AgentState {
	t.Helper()
	state, err := domain.DecodeAgentState(readAccount(t, env, account.HeadOf, account.State).Head.State)
	require.NoError(t, err)
	return state
}

func outcome(t *testing.T, env *testsuite.TestWorkflowEnvironment) contract.Outcome {
	t.Helper()
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var out contract.Outcome
	require.NoError(t, env.GetWorkflowResult(&out))
	return out
}

// endsFor requires the reason of the last execution's end, endsAs its status, and endsWith its number.
func endsFor(t *testing.T, env *testsuite.TestWorkflowEnvironment, reason domain.StopReason) {
	t.Helper()
	require.Equal(t, reason, outcome(t, env).StopReason)
}

func endsAs(t *testing.T, env *testsuite.TestWorkflowEnvironment, status domain.ExecutionStatus) {
	t.Helper()
	require.Equal(t, status, outcome(t, env).Status)
}

func endsWith(t *testing.T, env *testsuite.TestWorkflowEnvironment, number int) {
	t.Helper()
	require.Equal(t, number, outcome(t, env).Number)
}

// completes requires that the agent's workflow has ended, with its last execution completed.
func completes(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	endsAs(t, env, domain.StatusCompleted)
}

// updated collects an update's answer.
type updated[T any] struct {
	t   *testing.T
	out *T
}

func callback[T any](t *testing.T, out *T) updated[T] { return updated[T]{t, out} }

func (updated[T]) Accept()            {}
func (u updated[T]) Reject(err error) { require.NoError(u.t, err) }
func (u updated[T]) Complete(value any, err error) {
	require.NoError(u.t, err)
	if u.out != nil {
		*u.out = value.(T)
	}
}
