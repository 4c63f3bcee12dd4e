package host

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/sysinfo"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"gocloud.dev/blob"

	"everstep/activities"
	"everstep/activities/artifact"
	"everstep/activities/build"
	"everstep/activities/files"
	"everstep/activities/inference"
	"everstep/activities/mcp"
	"everstep/activities/modelfacts"
	"everstep/activities/record"
	"everstep/activities/shell"
	"everstep/activities/tool"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/workflows"
)

// A Worker serves one task queue until it is stopped, and those that limits of
// providers and tools hold for.
type Worker struct {
	// workers are the SDK's, one for each task queue.
	workers []worker.Worker
	config  Config
	log     log.Logger
	cache   *transcript.Cache
	source  *transcript.Source
	quotas  []quota
	// toolLimits are those of the tools that have one, by their names.
	toolLimits map[string]contract.ToolLimit
	// ownQueue is where this worker alone serves the sessions that agents have on it; empty: it can have none.
	ownQueue string
	acts     *activities.Activities
	events   *dispatcher
	fatal    chan error
	stop     sync.Once
	// stopping is closed when the worker is told to stop.
	stopping chan struct{}
	// kept ends the keeper of what is in memory.
	kept context.CancelFunc

	// What follows is what its activities work with; gather opens it.
	dir       string
	root      *files.Root
	shell     *shell.Shell
	storage   *blob.Bucket
	artifacts *artifact.Store // nil: long results are not kept whole
	records   *record.Store   // nil: what has ended is not recorded
	providers map[string]inference.Provider
	tools     []tool.Tool
	servers   *mcp.Servers // nil: there are none
	hooks     hook.Set
	facts     func(domain.LLMConfig) (modelfacts.Facts, bool)
}

// Start begins to serve. It checks all of the configuration first, opens the
// directory and the storage and probes the latter. The client must come from
// Dial; it stays the caller's to close, after Stop.
func Start(ctx context.Context, c client.Client, config Config) (*Worker, error) {
	w, err := ready(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := w.start(c); err != nil {
		return nil, err
	}
	return w, nil
}

// ready is a worker that has all but a server: what is wrong with its configuration
// is said without one.
func ready(ctx context.Context, config Config) (w *Worker, err error) {
	config = config.withDefaults()
	if config.Connection.Logger == nil {
		config.Connection.Logger = newLogger(config.Log, config.secrets)
	}
	w = &Worker{config: config, log: config.Connection.Logger, cache: transcript.NewCache(config.CacheBytes), fatal: make(chan error, 1), stopping: make(chan struct{})}
	if w.events, err = newDispatcher(config.Listeners, w.log); err == nil {
		err = w.gather(ctx)
	}
	if err == nil {
		err = w.prepare()
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// start begins to serve, or closes what was opened.
func (w *Worker) start(c client.Client) error {
	if err := w.serve(c); err != nil {
		return errors.Join(err, w.close())
	}
	keeping, kept := context.WithCancel(context.Background())
	w.kept = kept
	go newKeeper(workflowShare(), w.cache, w.log).keep(keeping)
	w.log.Info("worker is up", append([]any{
		"task_queue", w.config.TaskQueue, "namespace", w.config.Connection.Namespace, "address", w.config.Connection.Address,
	}, w.describe()...)...)
	return nil
}

func (w *Worker) prepare() (err error) {
	config := w.config
	w.source = &transcript.Source{Cache: w.cache, Storage: w.storage}
	if w.quotas, err = config.quotas(); err != nil {
		return err
	}
	pace := paceOf(config.Connection.Address)
	var toolbox activities.Toolbox
	if w.servers != nil {
		toolbox = w.servers
	}
	if w.toolLimits, err = config.toolLimits(w.tools, toolbox); err != nil {
		return err
	}
	var sessions activities.Sessions
	if w.servers != nil && w.servers.Stateful("") {
		sessions, w.ownQueue = w.servers, contract.OwnQueue(config.TaskQueue, uuid.NewString())
		if err = checkBound(w.servers, w.toolLimits); err != nil {
			return err
		}
	}
	w.acts, err = activities.New(activities.Config{
		Toolbox: toolbox, Sessions: sessions, OwnQueue: w.ownQueue,
		Providers: w.providers, Tools: w.tools, Transcripts: w.source, Storage: w.storage, Artifacts: w.artifacts, Records: w.records,
		Hooks: w.hooks, Allow: config.Allow, Approvals: config.Approvals, Compilers: config.Compilers, Facts: w.facts, Secrets: config.secrets, Limits: limits(w.quotas), ToolLimits: w.toolLimits,
		Timing: contract.TimingOf(Loopback(config.Connection.Address)), At: config.At, ShutdownGrace: config.StopTimeout, CancelGrace: config.cancelGrace(),
		HeartbeatEvery: pace.every,
	})
	return err
}

func (w *Worker) serve(c client.Client) error {
	w.source.Client = c
	worker.SetStickyWorkflowCacheSize(workflowsIn(workflowShare()))
	main := worker.New(c, w.config.TaskQueue, w.options())
	workflows.Register(main, workflows.Options{Hooks: w.hooks, Emit: w.events.emit()})
	w.acts.Register(main)
	all := []worker.Worker{main}
	beside := func(queue string, options worker.Options, register func(worker.ActivityRegistry)) {
		one := worker.New(c, queue, options)
		register(one)
		all = append(all, one)
	}
	for _, q := range w.quotas {
		options, err := q.options(w.options())
		if err != nil {
			return err
		}
		beside(q.TaskQueue, options, w.acts.RegisterInference)
	}
	for _, name := range slices.Sorted(maps.Keys(w.toolLimits)) {
		limit := w.toolLimits[name]
		beside(limit.TaskQueue, limitedTool(limit, w.options()), w.acts.RegisterTools)
	}
	if w.ownQueue != "" {
		options := limitedTool(contract.ToolLimit{}, w.options())
		options.MaxConcurrentActivityExecutionSize = mcp.MostSessions * domain.MaxRequestedCalls // whoever waits knows the worker is gone
		beside(w.ownQueue, options, w.acts.RegisterOwn)
	}
	for _, one := range all {
		if err := one.Start(); err != nil {
			w.stopServing()
			return w.notServing(err)
		}
		w.workers = append(w.workers, one)
	}
	return nil
}

// stopServing stops what has started, all at once, and waits for it.
func (w *Worker) stopServing() {
	var all sync.WaitGroup
	for _, one := range w.workers {
		all.Go(one.Stop)
	}
	all.Wait()
}

func (w *Worker) options() worker.Options {
	config := w.config
	pace := paceOf(config.Connection.Address)
	// A poller holds one long poll each; more than tasks come at a time are waste.
	pollers := min(max(2*runtime.GOMAXPROCS(0), 4), 16)
	return worker.Options{
		BuildID:                                 build.ID(), //nolint:staticcheck // the newer form names a deployment; this one only tells builds apart
		MaxConcurrentActivityExecutionSize:      config.MaxActivities,
		MaxConcurrentEagerActivityExecutionSize: config.MaxActivities,
		MaxConcurrentActivityTaskPollers:        pollers,
		// Pollers of a fixed number share themselves out between the queue of the
		// worker's cached workflows and the task queue by the former's last known
		// backlog. Where that is out of date all of them wait at the former for up to
		// a minute, and nobody takes what is new. Those that scale keep to each.
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
			InitialNumberOfPollers: pollers / 2, MinimumNumberOfPollers: pollers / 2, MaximumNumberOfPollers: pollers,
		}),
		StickyScheduleToStartTimeout:     pace.sticky,
		MaxHeartbeatThrottleInterval:     pace.throttle,
		DefaultHeartbeatThrottleInterval: pace.throttle,
		WorkerStopTimeout:                StopsWithin(config.StopTimeout),
		DisableRegistrationAliasing:      true,
		DeadlockDetectionTimeout:         pace.deadlock,
		SysInfoProvider:                  sysinfo.SysInfoProvider(),
		Interceptors:                     append([]interceptor.WorkerInterceptor{&feeder{cache: w.cache, at: config.At}, &stopper{stopping: w.stopping}}, config.Interceptors...),
		OnFatalError:                     w.failed,
	}
}

// failed keeps the first error after which one of the task queues is served no
// more.
func (w *Worker) failed(err error) {
	select {
	case w.fatal <- err:
	default:
	}
}

// Fatal delivers the error after which the worker serves no more, such as a
// namespace that was deleted. There is at most one.
func (w *Worker) Fatal() <-chan error { return w.fatal }

// Forget empties the cache of transcripts. Nothing depends on it but speed; it
// is for tests that prove so.
func (w *Worker) Forget() { w.cache.Clear() }

// Stop takes no new work, lets activities finish for the configured time, and
// returns when they have; StopsWithin says when at the latest. Executions are not touched: another worker, or this
// one when it is started again, goes on with them. It may be called twice.
func (w *Worker) Stop() {
	w.stop.Do(func() {
		close(w.stopping)
		w.kept()
		w.stopServing()
		if err := w.close(); err != nil {
			w.log.Warn("close the directory and storage", "error", err)
		}
		w.log.Info("worker has stopped")
	})
}

func (w *Worker) notServing(err error) error {
	connection := w.config.Connection
	if _, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); ok {
		return invalid("namespace: the server at %s has none named %q; create it, or name another with --namespace (TEMPORAL_NAMESPACE)",
			connection.Address, connection.Namespace)
	}
	return domain.Errorf(domain.Unavailable, "address: the worker cannot serve at %s: %s", connection.Address, err).From("server")
}

// noStorage says what a worker without storage lacks; it need not know that others of its queue have one.
const noStorage = "none: what agents hold beyond 1 MB, and whole results, cannot be kept (--storage, EVERSTEP_STORAGE, the same for all workers of the queue)"
