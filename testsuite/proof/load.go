package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	sdk "go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/starter/process"
	"everstep/testsuite/proof/kills"
	"everstep/testsuite/proof/report"
	"everstep/worker/host"
)

func (p *program) loadCommand() *cobra.Command {
	l := load{progress: p.progress}
	command := &cobra.Command{
		Use:   "load",
		Short: "Measure what idle sessions cost, or a long one",
		Long: `Opens sessions that each have one turn behind them and lie idle, and measures the
memory of the worker and the server before and after, the histories, and how long
the first answer takes that wakes one: with the session in the worker's memory, and
after the worker was restarted and has none.

With --turns one session has that many turns, and each is measured: the bytes that
it adds to the histories, with what a run that continues as new begins with, and the
time from the message to the answer. It ends 1 if a turn takes more bytes the longer
the session is.

The model is one of the worker's own, which answers 2 KB to prompts of 500 bytes at
once. It brings up a dev server of its own, whose state is thrown away afterwards.`,
		Example: `  go run ./testsuite/proof load
  go run ./testsuite/proof load --idle 100
  go run ./testsuite/proof load --turns 300`,
		RunE: func(command *cobra.Command, _ []string) error {
			if l.Idle == 0 && l.Turns == 0 {
				l.Idle = 1000
			}
			return p.prove(command.Context(), false, nil, l.run)
		},
	}
	const most = 100_000
	set := command.Flags()
	set.Var(number{&l.Idle, 1, most}, "idle", "how many sessions lie idle; 1000 unless --turns is given")
	set.Var(number{&l.Turns, 1, most}, "turns", "how many turns one session has")
	return command
}

// A load is many idle sessions, or a long one, or both.
type load struct {
	// Idle is how many sessions are opened and left idle, Turns how many turns one session has. Zero: none.
	Idle, Turns int

	progress func(string)
	server   devserver.Server // whose memory is looked at too
	temporal sdk.Client
	agents   *client.Client
	plan     kills.WorkerPlan
	log      *os.File
	worker   *process.Process
	prefix   string // of the sessions
	report   report.Report
}

// run opens the sessions and measures what they cost.
func (l *load) run(ctx context.Context, dir string, server devserver.Server) (r report.Report, err error) {
	l.server, l.prefix = server, "load-"+uuid.NewString()[:8]
	before, began := machineLoad(), time.Now()
	if l.temporal, err = host.Dial(ctx, host.Connection{Address: server.Address, Namespace: server.Namespace}); err != nil {
		return r, err
	}
	defer l.temporal.Close()
	l.agents = local.Client(l.temporal, server.Address, client.Config{Namespace: server.Namespace, TaskQueue: l.prefix})
	l.plan = kills.WorkerPlan{
		Address: server.Address, Namespace: server.Namespace, TaskQueue: l.prefix,
		Storage: filepath.Join(dir, "storage"), Seat: filepath.Join(dir, "load.seat"),
	}
	if l.log, err = os.OpenFile(filepath.Join(dir, "worker.log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return r, fmt.Errorf("open the worker's log: %w", err)
	}
	defer l.log.Close()
	if l.worker, err = kills.StartWorker(l.plan, l.log); err != nil {
		return r, err
	}
	defer func() { l.worker.Kill() }()
	if l.Idle > 0 {
		if err := l.idle(ctx); err != nil {
			return r, err
		}
	}
	if l.Turns > 0 {
		if err := l.turns(ctx); err != nil {
			return r, err
		}
	}
	l.report.Facts.Add("seconds", "took", time.Since(began))
	if before != "" { // the load average of a minute, where the machine tells it
		l.report.Facts.Add("machine_load", "load average before", before)
		l.report.Facts.Add("machine_load_after", "load average at the end", machineLoad())
	}
	return l.report, nil
}

// restart ends the worker as a deploy does, and starts another.
func (l *load) restart() (err error) {
	l.worker.Stop(os.Interrupt, host.StopsWithin(kills.StopTimeout)+time.Second)
	l.worker, err = kills.StartWorker(l.plan, l.log)
	return err
}

// An answering model says the same each time.
type answering struct{}

const (
	answeringName = "load"
	// answerBytes and promptBytes are those of a turn.
	answerBytes, promptBytes = 2000, 500
)

func (answering) Check(context.Context, domain.LLMConfig) error { return nil }
func (answering) MinOutputTokens() int64                        { return 1 }

func (answering) Infer(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
	return inference.Answer{
		Message:  inference.AssistantMessage(nil, strings.Repeat("abcdefgh ", answerBytes/9+1)[:answerBytes], nil),
		Response: domain.Response{Finish: domain.FinishStop, Usage: domain.Usage{InputTokens: promptBytes / 4, OutputTokens: answerBytes / 4}},
	}, nil
}

// turn opens a session, or sends it its next message, and waits for the answer.
func (l *load) turn(ctx context.Context, id string, n int) (err error) {
	prompt := (fmt.Sprintf("Message %d. ", n) + strings.Repeat("abcdefgh ", promptBytes/9+1))[:promptBytes]
	var begun client.Execution
	if n == 1 {
		begun, err = l.agents.Start(ctx, client.Start{ID: id, Prompt: prompt, Definition: domain.Definition{
			Model: domain.LLMConfig{Provider: answeringName, Model: "x"},
		}})
	} else {
		begun, err = l.agents.Send(ctx, id, client.SendOptions{Prompt: prompt})
	}
	if err != nil {
		return err
	}
	result, err := l.agents.Wait(ctx, begun.ID, begun.Number)
	if err == nil && (result.Outcome.Status != domain.StatusCompleted || len(result.Answer) != answerBytes) {
		err = fmt.Errorf("execution %d of %s ended %s with an answer of %d bytes", begun.Number, begun.ID, result.Outcome.Status, len(result.Answer))
	}
	return err
}

func (l *load) session(n int) string { return fmt.Sprintf("%s-%d", l.prefix, n) }

// A memory is what the processes hold.
type memory struct{ worker, server report.Bytes }

func (l *load) memory() memory {
	worker, _ := residentMemory(l.worker.PID)
	server, _ := residentMemory(l.server.PID)
	return memory{report.Bytes(worker), report.Bytes(server)}
}

// idle opens the sessions, looks at what they cost, and wakes some of them.
func (l *load) idle(ctx context.Context) error {
	// The first is of no account: with it worker and server have what each agent needs.
	first := l.prefix + "-first"
	if err := l.turn(ctx, first, 1); err != nil {
		return err
	}
	before, began := l.memory(), time.Now()
	if err := l.openAll(ctx); err != nil {
		return err
	}
	l.report.Facts.Add("sessions", "sessions", l.Idle)
	l.report.Facts.Add("opened_seconds", "opened in", time.Since(began))
	after := l.memory()
	if err := l.sizes(ctx); err != nil {
		return err
	}
	const most = 250
	woken := max(min(l.Idle/2, most), 1)
	warm, err := l.wake(ctx, "in memory", 0, woken)
	if err == nil {
		err = l.restart()
	}
	if err == nil {
		err = l.turn(ctx, first, 2) // the worker is up when it has answered somebody
	}
	if err != nil {
		return err
	}
	restarted := l.memory()
	cold, err := l.wake(ctx, "after a restart", l.Idle-woken, l.Idle)
	row := func(of string, before, after, restarted report.Bytes) (r report.Row) {
		r.Add("memory", "memory", of)
		r.Add("before_bytes", "before", before)
		r.Add("after_bytes", "idle", after)
		r.Add("session_bytes", "a session", max(after-before, 0)/report.Bytes(l.Idle))
		r.Add("restarted_bytes", "restarted", restarted)
		return r
	}
	l.report.Rows = append(l.report.Rows, row("worker", before.worker, after.worker, restarted.worker), row("server", before.server, after.server, restarted.server), warm, cold)
	return err
}

// openAll opens the sessions, some at a time.
func (l *load) openAll(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for n := range l.Idle {
		group.Go(func() error { return l.turn(ctx, l.session(n), 1) })
		if n%500 == 499 {
			l.progress(fmt.Sprintf("%d of %d sessions are open", n+1, l.Idle))
		}
	}
	return group.Wait()
}

// sizes looks at the sessions' histories.
func (l *load) sizes(ctx context.Context) error {
	var all, mostBytes, mostEvents int64
	for n := range l.Idle {
		described, err := l.temporal.DescribeWorkflowExecution(ctx, domain.WorkflowID(l.session(n)), "")
		if err != nil {
			return err
		}
		info := described.GetWorkflowExecutionInfo()
		all += info.GetHistorySizeBytes()
		mostBytes, mostEvents = max(mostBytes, info.GetHistorySizeBytes()), max(mostEvents, info.GetHistoryLength())
	}
	l.report.Facts.Add("history_bytes", "bytes of a history", all/int64(l.Idle))
	l.report.Facts.Add("most_history_bytes", "at the most", mostBytes)
	l.report.Facts.Add("most_history_events", "events at the most", mostEvents)
	return nil
}

// wake sends sessions their second message, one after the other, and measures the time to each answer.
func (l *load) wake(ctx context.Context, name string, from, to int) (r report.Row, err error) {
	var times []time.Duration
	for n := from; n < to; n++ {
		began := time.Now()
		if err := l.turn(ctx, l.session(n), 2); err != nil {
			return nil, fmt.Errorf("wake session %d of %d: %w", n+1, l.Idle, err)
		}
		times = append(times, time.Since(began))
	}
	r.Add("first_answer", "first answer", name)
	r.Add("sessions", "woken", len(times))
	r.Add("p50_seconds", "p50", report.Percentile(times, 50))
	r.Add("p99_seconds", "p99", report.Percentile(times, 99))
	return r, nil
}

// A chain adds up the bytes of a session's histories, run by run.
type chain struct {
	temporal sdk.Client
	workflow string
	// run is the newest, runs how many there were, and closed what those before it take.
	run    string
	runs   int
	closed int64
}

// grown is what all runs take by now.
func (c *chain) grown(ctx context.Context) (int64, error) {
	described, err := c.temporal.DescribeWorkflowExecution(ctx, c.workflow, "")
	if err != nil {
		return 0, err
	}
	info := described.GetWorkflowExecutionInfo()
	if run := info.GetExecution().GetRunId(); run != c.run {
		if c.run != "" {
			before, err := c.temporal.DescribeWorkflowExecution(ctx, c.workflow, c.run)
			if err != nil {
				return 0, err
			}
			c.closed += before.GetWorkflowExecutionInfo().GetHistorySizeBytes()
		}
		c.run, c.runs = run, c.runs+1
	}
	return c.closed + info.GetHistorySizeBytes(), nil
}

// block is how many turns of a long session are one row of the report.
const block = 30

// turns has one session converse for long, and measures each turn. The bytes of a turn are those by which all runs' histories have
// grown, what a new run begins with included.
func (l *load) turns(ctx context.Context) error {
	id := l.prefix + "-long"
	c := &chain{temporal: l.temporal, workflow: domain.WorkflowID(id)}
	var times []time.Duration
	var blocks []turnBlock
	var before, grown int64
	for n := 1; n <= l.Turns; n++ {
		began := time.Now()
		err := l.turn(ctx, id, n)
		times = append(times, time.Since(began))
		if err == nil {
			grown, err = c.grown(ctx)
		}
		if err != nil {
			return fmt.Errorf("turn %d of %d: %w", n, l.Turns, err)
		}
		if n%block == 0 || n == l.Turns {
			b := turnBlock{to: n, bytes: (grown - before) / int64(len(times))}
			blocks = append(blocks, b)
			var row report.Row
			row.Add("turns", "turns", fmt.Sprintf("%d to %d", n-len(times)+1, n))
			row.Add("bytes_a_turn", "bytes a turn", b.bytes)
			row.Add("p50_seconds", "p50", report.Percentile(times, 50))
			row.Add("slowest_seconds", "slowest", report.Percentile(times, 100))
			row.Add("runs", "runs", c.runs)
			l.report.Rows = append(l.report.Rows, row)
			times, before = nil, grown
			l.progress(fmt.Sprintf("%d of %d turns", n, l.Turns))
		}
	}
	l.report.Facts.Add("turns", "turns", l.Turns)
	l.report.Facts.Add("turns_history_bytes", "bytes of their histories", grown)
	l.report.Broken = growing(blocks)
	return nil
}

// A turnBlock is a part of the turns, and what each of them took.
type turnBlock struct {
	to    int
	bytes int64
}

// growth is how much more than in the second block a turn may take in the last one.
const growth = 1.2

// growing says where a turn takes more and more bytes. Time is shown and not judged: other work is on the machine too.
func growing(blocks []turnBlock) []report.Broken {
	if len(blocks) < 4 {
		return nil // they tell nothing
	}
	second, last := blocks[1], blocks[len(blocks)-1]
	if float64(last.bytes) <= growth*float64(second.bytes) {
		return nil
	}
	return []report.Broken{{Promise: "bytes_a_turn", Detail: fmt.Sprintf("a turn took %d bytes of history at turn %d and %d at turn %d", second.bytes, second.to, last.bytes, last.to)}}
}
