package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"everstep/activities"
	"everstep/activities/tool"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
)

// A bench runs CallTool in the SDK's test environment.
type bench struct {
	config activities.Config
	// shared, where set, takes the place of activities of the config.
	shared *activities.Activities
	// attempt is the one that the activity is told.
	attempt int32
	// parent is where the activity's context comes from.
	parent context.Context
	// stop is closed when the worker is told to stop.
	stop chan struct{}
	// timeout, where set, replaces the activity's ten minutes.
	timeout time.Duration
	// limit, where set, is what the workflow gives the tool.
	limit time.Duration
	beats func(contract.Heartbeat)
	// info, where set, changes what else the activity is told of itself.
	info func(*activity.Info)
	// beaten, where set, hears of each heartbeat at once: the SDK holds some back.
	beaten func()
	// logger, where set, hears what the worker logs.
	logger log.Logger
}

func benchOf(tools ...tool.Tool) *bench {
	return &bench{attempt: 1, parent: context.Background(), stop: make(chan struct{}), config: activities.Config{
		Tools:       tools,
		Transcripts: &transcript.Source{Cache: transcript.NewCache(1 << 20)},
		CancelGrace: 10 * time.Millisecond, ShutdownGrace: 10 * time.Millisecond,
	}}
}

// environment is one that tells activities what the bench says.
func (b *bench) environment(t *testing.T) *testsuite.TestActivityEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent{})
	if b.logger != nil {
		suite.SetLogger(b.logger)
	}
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{
		BackgroundActivityContext: b.parent,
		Interceptors:              []interceptor.WorkerInterceptor{&interceptedActivity{info: b.tell, beats: b.heard}},
	})
	env.SetWorkerStopChannel(b.stop)
	if b.beats != nil {
		env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
			var beat contract.Heartbeat
			require.NoError(t, details.Get(&beat))
			b.beats(beat)
		})
	}
	return env
}

// outcomeOf is what an activity answers where it runs.
func outcomeOf[In, Out any](t testing.TB, env *testsuite.TestActivityEnvironment, a *activities.Activities, name contract.Activity[In, Out], request In) (outcome Out, err error) {
	t.Helper()
	a.Register(env)
	value, err := env.ExecuteActivity(string(name), request)
	if err == nil {
		require.NoError(t, value.Get(&outcome))
	}
	return outcome, err
}

// plainEnvironment is one of the SDK that logs nothing.
func plainEnvironment() *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent{})
	return suite.NewTestActivityEnvironment()
}

// on runs one of the activities of a bench.
func on[In, Out any](t *testing.T, b *bench, name contract.Activity[In, Out], request In) (Out, error) {
	t.Helper()
	a, err := b.shared, error(nil)
	if a == nil {
		a, err = activities.New(b.config)
	}
	require.NoError(t, err)
	return outcomeOf(t, b.environment(t), a, name, request)
}

func (b *bench) call(t *testing.T, request contract.ToolRequest) (contract.ToolReply, error) {
	t.Helper()
	reply, err := on(t, b, contract.CallTool, request)
	if err != nil {
		return reply, err
	}
	said := [][]byte{[]byte(reply.Content)}
	for _, p := range reply.Parts {
		said = append(said, []byte(p.MediaType), []byte(p.URL), p.Data)
	}
	require.Equal(t, domain.DigestOf(said...), reply.Digest)
	return reply, nil
}

// reply is call for what must not fail.
func (b *bench) reply(t *testing.T, request contract.ToolRequest) contract.ToolReply {
	t.Helper()
	reply, err := b.call(t, request)
	require.NoError(t, err)
	return reply
}

// run is the reply to a call of the bench's only tool.
func (b *bench) run(t *testing.T) contract.ToolReply {
	t.Helper()
	spec := b.config.Tools[0].Spec()
	return b.reply(t, request(spec.Name, spec.Effect))
}

// failure is call for what must fail so that Temporal tries again.
func (b *bench) failure(t *testing.T, request contract.ToolRequest) domain.Error {
	t.Helper()
	_, err := b.call(t, request)
	app, own := failureOf(t, err)
	require.False(t, app.NonRetryable())
	return own
}

// endsAt has the activity's context end, for a cause, when it comes to a boundary.
func (b *bench) endsAt(boundary contract.Boundary, cause error) {
	parent, cancel := context.WithCancelCause(context.Background())
	b.parent = parent
	b.config.At = func(_ context.Context, at contract.Boundary) {
		if at == boundary {
			cancel(cause)
		}
	}
}

// stopped is the context of an activity that was stopped before it began.
func stopped() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(temporal.NewCanceledError())
	return ctx
}

// tell has an activity know its attempt and its time.
func (b *bench) tell(info *activity.Info) {
	info.Attempt = b.attempt
	if b.limit > 0 {
		info.StartToCloseTimeout = b.limit + domain.ReportTime
	}
	if b.timeout > 0 {
		info.Deadline = time.Now().Add(b.timeout)
	}
	if b.info != nil {
		b.info(info)
	}
}

func (b *bench) heard(...any) {
	if b.beaten != nil {
		b.beaten()
	}
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

func request(name string, effect domain.Effect) contract.ToolRequest {
	return contract.ToolRequest{ExecutionID: domain.ExecutionID{UUID: uuid.MustParse("00000000-0000-4000-8000-000000000001")}, Step: 3, Position: 2, Name: name, Effect: effect, Tries: 12}
}

// fake makes a tool without arguments.
func fake(effect domain.Effect, run func(ctx context.Context) (string, error), options ...tool.Option) tool.Tool {
	return tool.New("fake", "", effect, func(ctx context.Context, _ struct{}) (string, error) { return run(ctx) }, options...)
}

// resulting makes one that returns a result.
func resulting(effect domain.Effect, result tool.Result, options ...tool.Option) tool.Tool {
	return tool.NewResult("fake", "", effect, func(context.Context, struct{}) (tool.Result, error) { return result, nil }, options...)
}

func answering(text string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return text, nil }
}

func failing(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", err }
}

// replyOf returns the reply to a call of the tool.
func replyOf(t *testing.T, effect domain.Effect, run func(context.Context) (string, error)) contract.ToolReply {
	t.Helper()
	return benchOf(fake(effect, run)).run(t)
}

// obedient runs until its context ends.
func obedient(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// An interceptedActivity has its info changed and its heartbeats recorded by the test.
type interceptedActivity struct {
	interceptor.WorkerInterceptorBase
	info  func(*activity.Info)
	beats func(details ...any)
}

func (i *interceptedActivity) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &interceptedInbound{interceptor.ActivityInboundInterceptorBase{Next: next}, i}
}

type interceptedInbound struct {
	interceptor.ActivityInboundInterceptorBase
	by *interceptedActivity
}

func (i *interceptedInbound) Init(out interceptor.ActivityOutboundInterceptor) error {
	return i.Next.Init(&interceptedOutbound{interceptor.ActivityOutboundInterceptorBase{Next: out}, i.by})
}

type interceptedOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
	by *interceptedActivity
}

func (o *interceptedOutbound) GetInfo(ctx context.Context) activity.Info {
	info := o.Next.GetInfo(ctx)
	o.by.info(&info)
	return info
}

func (o *interceptedOutbound) RecordHeartbeat(ctx context.Context, details ...any) {
	o.by.beats(details...)
	o.Next.RecordHeartbeat(ctx, details...)
}
