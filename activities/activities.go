package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"gocloud.dev/blob"

	"everstep/activities/artifact"
	"everstep/activities/inference"
	"everstep/activities/modelfacts"
	"everstep/activities/record"
	"everstep/activities/tool"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// A Config is what a worker has to work with.
type Config struct {
	// Providers are the models' adapters, by the name that definitions use.
	Providers map[string]inference.Provider
	// Tools are what agents may be given. Their names must differ.
	Tools []tool.Tool
	// Toolbox has more of them, which it finds when they are named. One of Tools comes
	// before one of the same name. Nil: there is none.
	Toolbox Toolbox
	// Sessions are those that this worker has with stateful servers, one for each agent. Nil: there are none.
	Sessions Sessions
	// OwnQueue is the task queue on which this worker alone serves them.
	OwnQueue string
	// Hooks are those that agents may use. The same set decides in the workflow.
	Hooks hook.Set
	// Compilers are those beside Everstep's own, by the name that definitions use.
	Compilers map[string]Compiler
	// Allow says what of all that is for use.
	Allow Allow
	// Approvals hold for agents whose definition has none. Nil: those of domain.DefaultApprovals.
	Approvals *domain.Approvals
	// Facts says what is known of a model: its price, its window. Nil: nothing.
	Facts func(domain.LLMConfig) (modelfacts.Facts, bool)
	// Transcripts finds the conversations that requests refer to.
	Transcripts *transcript.Source
	// Storage takes segments of transcripts. Nil: there is none, and executions
	// that outgrow what a run can hand to the next one fail.
	Storage *blob.Bucket
	// Records takes the executions that have ended. Nil: nobody does.
	Records *record.Store
	// Artifacts keeps whole what of a tool's result is cut. Nil: it is not kept.
	Artifacts *artifact.Store
	// Secrets are taken out of what models, tools and hooks say. Nil: there are none.
	Secrets Secrets
	// Limits are the providers' whose use is limited, by their names. Nil: none is.
	Limits map[string]Limit
	// ToolLimits are the tools' whose use is limited, by their names. Nil: none is.
	ToolLimits map[string]contract.ToolLimit
	// Timing is what fits the way to the server. Zero: whoever starts an agent says.
	Timing contract.Timing
	// At is called where a worker's death would tell most. Nil in production.
	At func(context.Context, contract.Boundary)
	// CancelGrace is how long a tool may go on after its context has ended,
	// before it is left to itself. Zero: 5 s.
	CancelGrace time.Duration
	// ShutdownGrace is how long a tool may go on undisturbed after the worker was
	// told to stop. The worker's WorkerStopTimeout is longer than that and CancelGrace
	// together, or what came of the tool is not reported. Zero: 5 s.
	ShutdownGrace time.Duration
	// HeartbeatEvery is how often a heartbeat is recorded that tells nothing new, and so
	// how soon a stop reaches work that is silent. Zero: as often as the worker's throttle allows.
	HeartbeatEvery time.Duration
}

// A Compiler chooses what a model sees of a conversation: it gets the entries that
// no edit hides, what was cut off with a note of that, and may leave out, order and shorten. It is used by many activities
// at once and has to do the same each time, or a retried inference sees another
// conversation. A call without its result, or a result without its call, is left
// out of what it returns.
type Compiler func([]domain.Entry) []domain.Message

const defaultGrace = 5 * time.Second

// Activities does the work. It is safe for concurrent use.
type Activities struct {
	config  Config
	tools   map[string]tool.Tool
	outputs checkers
	// inferring lets a call wait for those whom it might take with it.
	inferring inferring
	// heartbeatLoad spaces out the heartbeats.
	heartbeatLoad heartbeatLoad
}

// New checks the configuration and reports all that is wrong with it.
func New(config Config) (*Activities, error) {
	var wrong []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	check(config.Transcripts != nil, "transcripts: missing; activities cannot find conversations without a source")
	for name, provider := range config.Providers {
		check(name != "" && provider != nil, "provider %q: it needs a name and an implementation", name)
	}
	tools := make(map[string]tool.Tool, len(config.Tools))
	for _, t := range config.Tools {
		if err := t.Check(); err != nil {
			wrong = append(wrong, err)
			continue
		}
		name := t.Spec().Name
		_, taken := tools[name]
		check(!taken, "tool %q: name: two tools have it; rename one", name)
		tools[name] = t
	}
	config.Approvals = cmp.Or(config.Approvals, domain.DefaultApprovals())
	wrong = append(wrong, config.Approvals.Check(), config.Allow.CheckTools(config.Tools, config.Toolbox))
	config.Tools = slices.DeleteFunc(slices.Clone(config.Tools), func(t tool.Tool) bool { return !config.Allow.Tool(t.Spec().Name) })
	maps.DeleteFunc(tools, func(name string, _ tool.Tool) bool { return !config.Allow.Tool(name) })
	for name, compiler := range config.Compilers {
		switch err := new(domain.Compiler).UnmarshalText([]byte(name)); {
		case name == "" || compiler == nil:
			check(false, "compiler %q: it needs a name and a function", name)
		case domain.Compiler(name).Builtin():
			check(false, "compiler %q: name: Everstep has one of that name; take another", name)
		default:
			check(err == nil, "%w", err)
		}
	}
	check(config.CancelGrace >= 0 && config.ShutdownGrace >= 0, "cancel grace, shutdown grace: a time cannot be negative")
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	config.CancelGrace = cmp.Or(config.CancelGrace, defaultGrace)
	config.ShutdownGrace = cmp.Or(config.ShutdownGrace, defaultGrace)
	config.Secrets = cmp.Or[Secrets](config.Secrets, noSecrets{})
	if config.Facts == nil {
		config.Facts = func(domain.LLMConfig) (facts modelfacts.Facts, ok bool) { return facts, false }
	}
	if config.At == nil {
		config.At = func(context.Context, contract.Boundary) {}
	}
	return &Activities{config: config, tools: tools}, nil
}

// Register makes a worker serve the activities under the names of the contract.
func (a *Activities) Register(r worker.ActivityRegistry) {
	registerLong(r, contract.CallModel, a.CallModel)
	register(r, contract.CallTool, a.CallTool)
	register(r, contract.VerifyCall, a.VerifyCall)
	register(r, contract.Bind, a.Bind)
	register(r, contract.ListTools, a.ListTools)
	register(r, contract.Record, a.Record)
	register(r, contract.CallHook, a.CallHook)
	register(r, contract.CheckOutput, a.CheckOutput)
	register(r, contract.Send, a.Send)
	register(r, contract.Follow, a.Follow)
}

// RegisterInference makes a worker serve inferences alone, for a task queue that
// a rate limit holds for.
func (a *Activities) RegisterInference(r worker.ActivityRegistry) {
	registerLong(r, contract.CallModel, a.CallModel)
}

// RegisterTools makes a worker serve tool calls alone, for the task queue of a tool that
// has a limit.
func (a *Activities) RegisterTools(r worker.ActivityRegistry) {
	register(r, contract.CallTool, a.CallTool)
}

// RegisterOwn makes a worker serve what only it can do: calls in the sessions that it has, on a task queue of its own.
func (a *Activities) RegisterOwn(r worker.ActivityRegistry) {
	register(r, contract.CallTool, a.CallTool)
	register(r, contract.Unbind, a.Unbind)
}

// register does not compile where an activity's types are not its contract's.
func register[In, Out any](r worker.ActivityRegistry, name contract.Activity[In, Out], run func(context.Context, In) (Out, error)) {
	registerLong(r, name, func(ctx context.Context, in *In) (*Out, error) {
		out, err := run(ctx, *in)
		return &out, err
	})
}

// registerLong is register for what takes long, many at once: the SDK calls it by reflection, which
// keeps on the stack, twice, what stands behind no pointer.
func registerLong[In, Out any](r worker.ActivityRegistry, name contract.Activity[In, Out], run func(context.Context, *In) (*Out, error)) {
	r.RegisterActivityWithOptions(func(ctx context.Context, in *In) (*Out, error) {
		if in == nil { // none was given
			in = new(In)
		}
		out, err := run(ctx, in)
		return out, failure(err)
	}, activity.RegisterOptions{Name: string(name)})
}

// whileWorking returns a context that is cancelled grace after the activity's worker has begun to stop.
func whileWorking(ctx context.Context, grace time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			time.AfterFunc(grace, func() { cancel(worker.ErrWorkerShutdown) })
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Record writes a range of the transcript to storage, and answers where it is; or it puts an execution
// that has ended among the records, where the request names one, and answers nothing.
// It may run any number of times: see transcript.Source.Record and record.Store.Record.
//
// A transcript that cannot be read back any more fails for good, with the code
// context_lost. A storage or a workflow that does not answer is tried again.
func (a *Activities) Record(ctx context.Context, request contract.RecordRequest) (none contract.Segment, _ error) {
	// A worker that stops answers no query: where no other worker is up, it would wait in vain.
	ctx, cancel := whileWorking(ctx, time.Second)
	defer cancel()
	defer a.heartbeat(ctx)()
	segment, err := a.record(ctx, request)
	switch {
	case err == nil:
		return segment, nil
	case temporal.IsCanceledError(context.Cause(ctx)):
		return none, ctx.Err()
	case ctx.Err() != nil:
		return none, domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted,
			"record: cut off before it was written")
	}
	own := *domain.AsError(err)
	own.Lacking = false // the server tries again, and may ask another worker
	return none, &own
}
