package whole_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A side is one of two loops that do the same on one server: an inference and a
// tool call a step, 2 KB each, and a client that waits for the end.
type side struct {
	name string
	// run is one execution from its start until its caller has the result; it
	// returns the bytes of its history.
	run func(ctx context.Context, steps int) (int64, error)
	// stop ends its worker.
	stop func()
}

// A bill is what one side's executions cost, a step.
type bill struct {
	stepsPerSecond       float64
	millis               float64
	workerCPU, serverCPU float64 // milliseconds
	bytes                float64
	requests             map[string]float64
}

func (b bill) time() float64 { return b.millis }

// tasks is how often a workflow task was handed out.
func (b bill) tasks() float64 { return b.requests["history/RecordWorkflowTaskStarted"] }

// ours is Everstep with a worker and a client of this process.
func (s *stack) ours(t testing.TB, providers map[string]inference.Provider, recite tool.Tool) side {
	w := s.work(t, host.Config{Tools: []tool.Tool{recite}, Providers: providers, MaxActivities: 1000})
	run := func(ctx context.Context, steps int) (int64, error) {
		begun, err := s.start(ctx, steps)
		if err != nil {
			return 0, err
		}
		if err := s.finish(ctx, begun.ID, steps); err != nil {
			return 0, err
		}
		return s.historyBytes(t, begun.WorkflowID), nil
	}
	return side{name: "everstep", run: run, stop: w.Stop}
}

// start begins an execution of so many steps, of a named agent with a billed model, as a user has them, and finish waits for it. They are apart, so
// that no definition lies on the stack of whoever waits.
func (s *stack) start(ctx context.Context, steps int) (client.Execution, error) {
	model := domain.LLMConfig{Provider: fmt.Sprintf("talker%d", steps), Model: "x", Price: &domain.Price{Input: 1_000_000, Output: 10_000_000}}
	return s.agents.Start(ctx, client.Start{ID: "beside-" + uuid.NewString(), Prompt: "go", Definition: domain.Definition{
		Model: model, Tools: []string{"recite"}, Guards: repeats, Budget: domain.Unlimited(),
	}})
}

func (s *stack) finish(ctx context.Context, id string, steps int) error {
	result, err := s.waited(ctx, id)
	if err == nil && (result.Outcome.Status != domain.StatusCompleted || result.Outcome.Steps != steps) {
		err = fmt.Errorf("%s after %d steps", result.Outcome.Status, result.Outcome.Steps)
	}
	return err
}

func (s *stack) waited(ctx context.Context, id string) (*client.Result, error) {
	result, err := s.agents.Wait(ctx, id, 1)
	return &result, err
}

// bare is the same loop as one would write it by hand with the SDK's defaults.
// say is called in each inference.
func (s *stack) bare(t testing.TB, say func(step int)) side {
	queue := "bare-" + uuid.NewString()
	w := worker.New(s.temporal, queue, worker.Options{})
	w.RegisterActivityWithOptions(func(_ context.Context, step int) (string, error) { say(step); return text2KB(step), nil }, activity.RegisterOptions{Name: "infer"})
	w.RegisterActivityWithOptions(func(context.Context, string) (string, error) { return text2KB(0), nil }, activity.RegisterOptions{Name: "tool"})
	loop := func(ctx workflow.Context, done, steps int) (string, error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		for {
			if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
				return "", workflow.NewContinueAsNewError(ctx, "loop", done, steps)
			}
			var reply string
			if err := workflow.ExecuteActivity(ctx, "infer", done).Get(ctx, &reply); err != nil {
				return "", err
			}
			if done++; done == steps {
				return reply, nil
			}
			if err := workflow.ExecuteActivity(ctx, "tool", "{}").Get(ctx, &reply); err != nil {
				return "", err
			}
		}
	}
	w.RegisterWorkflowWithOptions(loop, workflow.RegisterOptions{Name: "loop"})
	require.NoError(t, w.Start())
	run := func(ctx context.Context, steps int) (int64, error) {
		begun, err := s.temporal.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{TaskQueue: queue}, "loop", 0, steps)
		if err != nil {
			return 0, err
		}
		if err := begun.Get(ctx, nil); err != nil {
			return 0, err
		}
		return s.historyBytes(t, begun.GetID()), nil
	}
	return side{name: "bare", run: run, stop: sync.OnceFunc(w.Stop)}
}

// historyBytes adds up all runs of a chain.
func (s *stack) historyBytes(t testing.TB, workflowID string) (bytes int64) {
	for run := ""; ; {
		info, previous := s.runInfo(t, workflowID, run)
		bytes += info.HistorySizeBytes
		if run = previous; run == "" {
			return bytes
		}
	}
}

// charge runs so many executions side by side and says what they cost.
func (s *stack) charge(t testing.TB, one side, agents, steps int) bill {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	asked := s.serverRequests(t)
	own, server, began := ownCPU(t), s.serverCPU(t), time.Now()
	var all sync.WaitGroup
	bytes, errs := make([]int64, agents), make([]error, agents)
	for i := range agents {
		all.Go(func() { bytes[i], errs[i] = one.run(ctx, steps) })
	}
	all.Wait()
	took, used, served := time.Since(began), ownCPU(t)-own, s.serverCPU(t)-server
	n := float64(agents * steps)
	b := bill{
		stepsPerSecond: n / took.Seconds(), millis: took.Seconds() * 1000 / float64(steps),
		workerCPU: used.Seconds() * 1000 / n, serverCPU: served.Seconds() * 1000 / n,
		requests: map[string]float64{},
	}
	for i := range agents {
		require.NoError(t, errs[i])
		b.bytes += float64(bytes[i]) / n
	}
	for name, count := range s.serverRequests(t) {
		b.requests[name] = (count - asked[name]) / n
	}
	return b
}

// perStep are the server's requests that a step may cost, in the table's order;
// those to its inner services tell how often a workflow task was handed out.
var perStep = []string{
	"frontend/RespondWorkflowTaskCompleted", "frontend/RespondActivityTaskCompleted", "frontend/RecordActivityTaskHeartbeat",
	"frontend/GetWorkflowExecutionHistory", "frontend/PollWorkflowExecutionHistory", "frontend/DescribeWorkflowExecution", "frontend/QueryWorkflow",
	"frontend/UpdateWorkflowExecution", "frontend/PollWorkflowExecutionUpdate",
	"matching/AddWorkflowTask", "history/RecordWorkflowTaskStarted",
}

// A load is so many executions of so many steps at once, measured in so many
// pairs of the two loops. Its model thinks for so long at each step.
type load struct {
	agents, steps, pairs int
	thinks               time.Duration
}

func (l load) String() string {
	name := fmt.Sprintf("%dx%d", l.agents, l.steps)
	if l.thinks > 0 {
		name += "x" + l.thinks.String()
	}
	return name
}

// BenchmarkBeside sets the loop beside one that is written by hand on the bare
// SDK, in turn on one server: one execution of 100, 500 and 2,000 steps, and 20,
// 100 and 300 of 20 steps at once, each with a client that waits; and 100 and 300
// whose model takes 3 s, during which the bare loop sends no heartbeat. -bench
// 'Beside/^100x20$' chooses one. With -short, one of 20 steps and 5 at once. In a
// profile of processor time, the label loop tells whose it is.
func BenchmarkBeside(b *testing.B) {
	loads := []load{
		{1, 100, 6, 0}, {1, 500, 6, 0}, {1, 2000, 1, 0}, {20, 20, 6, 0}, {100, 20, 6, 0}, {300, 20, 6, 0},
		{100, 4, 1, 3 * time.Second}, {300, 10, 1, 3 * time.Second},
	}
	if testing.Short() {
		loads = []load{{1, 20, 1, 0}, {5, 20, 1, 0}}
	}
	for _, l := range loads {
		b.Run(l.String(), func(b *testing.B) {
			s := connect(b, "beside", nil)
			for b.Loop() {
				s.beside(b, l)
			}
		})
	}
}

// beside measures one load, and prints what came of it.
func (s *stack) beside(b *testing.B, l load) {
	b.Helper()
	warm := load{agents: min(l.agents, 20), steps: min(l.steps, 20)}
	var bills [2][]bill
	for pair := range l.pairs + 1 {
		for i, begin := range []func() side{
			func() side { return s.bare(b, func(int) { time.Sleep(l.thinks) }) },
			func() side { return s.ours(b, talkers(l.thinks, warm.steps, l.steps), recite()) },
		} {
			pprof.Do(b.Context(), pprof.Labels("loop", []string{"bare", "everstep"}[i]), func(context.Context) {
				one := begin()
				defer one.stop()
				if pair == 0 { // warm
					s.charge(b, one, warm.agents, warm.steps)
				} else {
					bills[i] = append(bills[i], s.charge(b, one, l.agents, l.steps))
				}
			})
		}
	}
	bare, ours := middle(bills[0], bill.time), middle(bills[1], bill.time)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\nload\tloop\tsteps/s\tms/step\tworker CPU ms\tserver CPU ms\ttasks/step\tbytes/step\t")
	row := func(name, format string, m bill) {
		fmt.Fprintf(table, "%s\t%s\t"+format+"\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t\n", l, name,
			m.stepsPerSecond, m.millis, m.workerCPU, m.serverCPU, m.tasks(), m.bytes)
	}
	row("bare", "%.1f", bare)
	row("everstep", "%.1f", ours)
	fmt.Fprintf(table, "\tratio\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", ours.stepsPerSecond/bare.stepsPerSecond, ours.millis/bare.millis,
		ours.workerCPU/bare.workerCPU, ours.serverCPU/bare.serverCPU, ours.tasks()/bare.tasks(), ours.bytes/bare.bytes)
	require.NoError(b, table.Flush())
	fmt.Println("requests a step: bare, everstep")
	for _, request := range perStep {
		fmt.Printf("  %-40s %5.2f %5.2f\n", request, bare.requests[request], ours.requests[request])
	}
	b.ReportMetric(ours.stepsPerSecond/bare.stepsPerSecond, "speed-ratio")
	b.ReportMetric(ours.workerCPU/bare.workerCPU, "worker-ratio")
	b.ReportMetric(ours.serverCPU/bare.serverCPU, "server-ratio")
}

// BenchmarkMemory says what a running agent holds in a process that has its
// worker and its waiting client, beside the bare loop, when all of them are in
// the middle of an inference: 20, 100 and 300 of them, chosen as 'Memory/^300$'.
func BenchmarkMemory(b *testing.B) {
	agents := []int{20, 100, 300}
	if testing.Short() {
		agents = agents[:1]
	}
	for _, n := range agents {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := connect(b, "beside", nil)
			for b.Loop() {
				fmt.Println()
				for _, name := range []string{"bare", "everstep"} {
					held := s.held(b, name, n)
					fmt.Printf("%s: %.3f MB an agent, %d agents\n", name, held, n)
					b.ReportMetric(held, "MB/agent-"+name)
				}
			}
		})
	}
}

// held is the memory, in MB, of each of so many agents.
func (s *stack) held(b *testing.B, name string, agents int) float64 {
	b.Helper()
	const steps = 20
	arrived, release := make(chan struct{}, agents), make(chan struct{})
	begins := func(step int) {
		if step == steps-5 { // counted from 0
			arrived <- struct{}{}
			<-release
		}
	}
	var one side
	if name == "bare" {
		one = s.bare(b, begins)
	} else {
		one = s.ours(b, map[string]inference.Provider{fmt.Sprintf("talker%d", steps): &talker{steps: steps, begins: begins}}, recite())
	}
	defer one.stop()
	before := heap()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, agents)
	for i := range agents {
		all.Go(func() { _, errs[i] = one.run(ctx, steps) })
	}
	for range agents {
		<-arrived
	}
	held := float64(heap()-before) / float64(agents) / (1 << 20)
	close(release)
	all.Wait()
	for _, err := range errs {
		require.NoError(b, err)
	}
	return held
}

// heap is what is live, stacks included.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
