package activities_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"everstep/activities"
	"everstep/activities/artifact"
	"everstep/activities/inference"
	"everstep/activities/modelfacts"
	"everstep/activities/tool"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
)

// A fakeModel is a provider that does what a test says.
type fakeModel func(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error)

func (fakeModel) Check(context.Context, domain.LLMConfig) error { return nil }
func (fakeModel) MinOutputTokens() int64                        { return 16 }
func (f fakeModel) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	return f(ctx, call, emit)
}

func says(text string, usage domain.Usage) inference.Answer {
	return inference.Answer{
		Message:  inference.AssistantMessage(nil, text, nil),
		Response: domain.Response{ID: "r", Finish: domain.FinishStop, Usage: usage},
	}
}

// few are the tokens of an answer where they do not matter.
var few = domain.Usage{InputTokens: 1, OutputTokens: 1}

// returning is a model of one answer.
func returning(answer inference.Answer, err error) fakeModel {
	return func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
		return answer, err
	}
}

// A modelBench runs CallModel in the SDK's test environment, on a conversation
// that the worker has in its memory.
type modelBench struct {
	model    fakeModel
	log      domain.Log
	resolved contract.Resolved
	attempt  int32
	before   *contract.Heartbeat
	parent   context.Context
	stop     chan struct{}
	at       func(context.Context, contract.Boundary)
	// heartbeat is the time-out that the activity is told.
	heartbeat time.Duration
	// every is how often one is recorded that tells nothing new.
	every time.Duration
	// source, where set, takes the place of the worker's memory.
	source    *transcript.Source
	compilers map[string]activities.Compiler
	secrets   activities.Secrets
	facts     func(domain.LLMConfig) (modelfacts.Facts, bool)
	limits    map[string]activities.Limit
	allow     activities.Allow
	tools     []tool.Tool
	artifacts *artifact.Store
	// made are the newest activities.
	made *activities.Activities
	// called is the newest call of a model that answeringBench made.
	called inference.Call

	mu    sync.Mutex
	beats []contract.Heartbeat
	// onBeat, where set, hears each heartbeat.
	onBeat func(contract.Heartbeat)
}

const agent = "default-test-workflow-id"

func modelBenchOf(model fakeModel) *modelBench {
	b := &modelBench{model: model, attempt: 1, parent: context.Background(), stop: make(chan struct{})}
	b.resolved = contract.Resolved{
		Definition: domain.Definition{Model: domain.LLMConfig{Provider: "fake", Model: "m"}, SystemPrompt: "be brief"},
		Tools:      []domain.ToolSpec{{Name: "f", Schema: []byte(`{"type":"object"}`)}},
		Digest:     domain.DigestOf([]byte("resolved")),
	}
	b.say(domain.UserMessage("hello"))
	return b
}

// say appends messages to the conversation.
func (b *modelBench) say(messages ...domain.Message) {
	for _, m := range messages {
		b.log = b.log.Append("", m, domain.DigestOf([]byte(m.Text())))
	}
}

// answeringBench is a bench whose model answers at once.
func answeringBench(text string, usage domain.Usage) *modelBench {
	b := modelBenchOf(nil)
	b.model = func(_ context.Context, call inference.Call, _ func(inference.Delta)) (inference.Answer, error) {
		b.called = call
		return says(text, usage), nil
	}
	return b
}

func (b *modelBench) request() contract.ModelRequest {
	return contract.ModelRequest{ExecutionID: domain.ExecutionID{UUID: uuid.UUID{1}}, Step: 3, Log: b.log.Ref(), Resolved: b.resolved.Digest, Inference: 2}
}

func (b *modelBench) call(t testing.TB, request contract.ModelRequest) (contract.ModelReply, error) {
	t.Helper()
	source := b.source
	if source == nil {
		source = &transcript.Source{Cache: transcript.NewCache(64 << 20)}
		source.Cache.Feed(agent, b.log, b.resolved)
	}
	a, err := activities.New(activities.Config{
		Tools: b.tools, Providers: map[string]inference.Provider{"fake": b.model}, Transcripts: source, At: b.at, Compilers: b.compilers, Secrets: b.secrets, Facts: b.facts, Limits: b.limits, Allow: b.allow, HeartbeatEvery: b.every,
		Artifacts: b.artifacts,
	})
	require.NoError(t, err)
	b.made = a
	return b.callOn(t, a, request)
}

// callOn makes a call of activities that are there.
func (b *modelBench) callOn(t testing.TB, a *activities.Activities, request contract.ModelRequest) (contract.ModelReply, error) {
	t.Helper()
	env := plainEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: b.parent, Interceptors: []interceptor.WorkerInterceptor{&interceptedActivity{info: b.tell, beats: b.heard}}})
	env.SetWorkerStopChannel(b.stop)
	if b.before != nil {
		env.SetHeartbeatDetails(*b.before)
	}
	return outcomeOf(t, env, a, contract.CallModel, request)
}

func (b *modelBench) reply(t *testing.T) contract.ModelReply {
	t.Helper()
	return b.replyTo(t, b.request())
}

// replyTo is call for what must not fail.
func (b *modelBench) replyTo(t *testing.T, request contract.ModelRequest) contract.ModelReply {
	t.Helper()
	reply, err := b.call(t, request)
	require.NoError(t, err)
	return reply
}

// cancellable has the activity's context end when that is asked for.
func (b *modelBench) cancellable() (cancel context.CancelCauseFunc) {
	b.parent, cancel = context.WithCancelCause(context.Background())
	return cancel
}

// failure is the failure that Temporal is told of, with its error.
func (b *modelBench) failure(t *testing.T) (*temporal.ApplicationError, domain.Error) {
	t.Helper()
	_, err := b.call(t, b.request())
	app, own := failureOf(t, err)
	require.Equal(t, string(own.Kind), app.Type())
	return app, own
}

// failureOf returns the failure that an error becomes in history, and the error in it.
func failureOf(t testing.TB, err error) (app *temporal.ApplicationError, own domain.Error) {
	t.Helper()
	require.ErrorAs(t, err, &app)
	require.NoError(t, app.Details(&own))
	return app, own
}

func (b *modelBench) recorded() []contract.Heartbeat {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]contract.Heartbeat(nil), b.beats...)
}

// tell has an activity know its attempt.
func (b *modelBench) tell(info *activity.Info) {
	info.Attempt, info.HeartbeatTimeout = b.attempt, b.heartbeat
}

// heard listens to its heartbeats.
func (b *modelBench) heard(details ...any) {
	beat := details[0].(contract.Heartbeat)
	b.mu.Lock()
	b.beats = append(b.beats, beat)
	b.mu.Unlock()
	if b.onBeat != nil {
		b.onBeat(beat)
	}
}
