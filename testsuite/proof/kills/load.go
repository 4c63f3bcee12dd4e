package kills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	sdk "go.temporal.io/sdk/client"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/process"
	"everstep/worker/host"
)

// A LoadConfig says how many sessions are to lie idle, and how long one is to become.
type LoadConfig struct {
	// Address and Namespace are the Temporal server's, ServerPID its process, whose memory is looked at.
	Address, Namespace string
	ServerPID          int
	Dir                string // for what the worker keeps
	// Idle is how many sessions are opened and left idle, Turns how many one session has. Zero: none.
	Idle, Turns int
	// Progress is told how far it is.
	Progress func(string)
}

type load struct {
	LoadConfig
	temporal sdk.Client
	agents   *client.Client
	plan     []byte
	log      *os.File
	worker   *process.Process
	prefix   string
}

// Load opens the sessions and measures what they cost. A promise that was broken is in the report.
func Load(ctx context.Context, config LoadConfig) (LoadReport, error) {
	l := &load{LoadConfig: config, prefix: "load-" + uuid.NewString()[:8]}
	report := LoadReport{MachineLoad: process.MachineLoad(), Broken: []string{}}
	began := time.Now()
	var err error
	if l.temporal, err = host.Dial(ctx, host.Connection{Address: config.Address, Namespace: config.Namespace}); err != nil {
		return report, err
	}
	defer l.temporal.Close()
	l.agents = local.Client(l.temporal, config.Address, client.Config{Namespace: config.Namespace, TaskQueue: l.prefix})
	l.plan, err = json.Marshal(plan{
		Address: config.Address, Namespace: config.Namespace, TaskQueue: l.prefix,
		Storage: filepath.Join(config.Dir, "storage"), Seat: filepath.Join(config.Dir, "load.seat"), Load: true,
	})
	if err == nil {
		l.log, err = os.OpenFile(filepath.Join(config.Dir, "worker.log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	}
	if err != nil {
		return report, fmt.Errorf("prepare the worker: %w", err)
	}
	defer l.log.Close()
	if err := l.start(); err != nil {
		return report, err
	}
	defer func() { l.worker.Kill() }()
	if config.Idle > 0 {
		if report.Idle, err = l.idle(ctx); err != nil {
			return report, err
		}
	}
	if config.Turns > 0 {
		if report.Turns, err = l.turns(ctx); err != nil {
			return report, err
		}
	}
	report.MachineLoadAfter, report.Seconds = process.MachineLoad(), round(time.Since(began))
	report.judge()
	return report, nil
}

func (l *load) start() (err error) {
	l.worker, err = startWorker(l.plan, l.log)
	return err
}

// restart ends the worker as a deploy does, and starts another.
func (l *load) restart() error {
	l.worker.Stop(os.Interrupt, host.StopsWithin(workerStopTimeout)+time.Second)
	return l.start()
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
func (answering) Unbilled() bool                                { return true }

func (answering) Infer(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
	return inference.Answer{
		Message:  inference.AssistantMessage(nil, strings.Repeat("abcdefgh ", answerBytes/9+1)[:answerBytes], nil),
		Response: domain.Response{Finish: domain.FinishStop, Usage: domain.Usage{InputTokens: promptBytes / 4, OutputTokens: answerBytes / 4}},
	}, nil
}

func loadPrompt(n int) string {
	return (fmt.Sprintf("Message %d. ", n) + strings.Repeat("abcdefgh ", promptBytes/9+1))[:promptBytes]
}

// open opens a session and waits for its first answer.
func (l *load) open(ctx context.Context, id string) error {
	begun, err := l.agents.Start(ctx, client.Start{ID: id, Prompt: loadPrompt(1), Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: answeringName, Model: "x"},
	}})
	if err != nil {
		return err
	}
	return l.answered(ctx, begun)
}

// turn sends a session its next message, and waits for the answer.
func (l *load) turn(ctx context.Context, id string, n int) error {
	begun, err := l.agents.Send(ctx, id, client.SendOptions{Prompt: loadPrompt(n)})
	if err != nil {
		return err
	}
	return l.answered(ctx, begun)
}

func (l *load) answered(ctx context.Context, begun client.Execution) error {
	result, err := l.agents.Wait(ctx, begun.ID, begun.Number)
	if err == nil && (result.Outcome.Status != domain.StatusCompleted || len(result.Answer) != answerBytes) {
		err = fmt.Errorf("execution %d of %s ended %s with an answer of %d bytes", begun.Number, begun.ID, result.Outcome.Status, len(result.Answer))
	}
	return err
}

const (
	// opened is how many sessions are opened at a time.
	opened = 16
	// mostWoken bounds the sessions that are woken warm, and those woken cold.
	mostWoken = 250
)

func (l *load) session(n int) string { return fmt.Sprintf("%s-%d", l.prefix, n) }

// idle opens the sessions, looks at what they cost, and wakes some of them.
func (l *load) idle(ctx context.Context) (*IdleReport, error) {
	// The first is of no account: with it worker and server have what each agent needs.
	if err := l.open(ctx, l.prefix+"-first"); err != nil {
		return nil, err
	}
	r := &IdleReport{Sessions: l.Idle, Before: l.memory()}
	began := time.Now()
	if err := l.openAll(ctx); err != nil {
		return r, err
	}
	r.OpenedSeconds, r.After = round(time.Since(began)), l.memory()
	if err := l.sizes(ctx, r); err != nil {
		return r, err
	}
	woken := max(min(l.Idle/2, mostWoken), 1)
	var err error
	if r.Warm, err = l.wake(ctx, 0, woken); err != nil {
		return r, err
	}
	if err := l.restart(); err != nil {
		return r, err
	}
	// The worker is up when it has answered somebody.
	if err := l.turn(ctx, l.prefix+"-first", 2); err != nil {
		return r, err
	}
	r.Restarted = l.memory()
	r.Cold, err = l.wake(ctx, l.Idle-woken, l.Idle)
	return r, err
}

func (l *load) openAll(ctx context.Context) error {
	numbers, failed := make(chan int), make(chan error, opened)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for range opened {
		group.Go(func() {
			for n := range numbers {
				if err := l.open(ctx, l.session(n)); err != nil {
					failed <- err
					cancel()
					return
				}
			}
		})
	}
	told := time.Now()
feed:
	for n := range l.Idle {
		select {
		case numbers <- n:
		case <-ctx.Done():
			break feed
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			l.Progress(fmt.Sprintf("%d of %d sessions are open", n, l.Idle))
		}
	}
	close(numbers)
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return ctx.Err()
	}
}

func (l *load) memory() Memory {
	worker, _ := process.Memory(l.worker.PID())
	server, _ := process.Memory(l.ServerPID)
	return Memory{Worker: worker, Server: server}
}

// sizes looks at the sessions' histories.
func (l *load) sizes(ctx context.Context, r *IdleReport) error {
	for n := range l.Idle {
		described, err := l.temporal.DescribeWorkflowExecution(ctx, domain.WorkflowID(l.session(n)), "")
		if err != nil {
			return err
		}
		info := described.GetWorkflowExecutionInfo()
		r.HistoryBytes += info.GetHistorySizeBytes() / int64(l.Idle)
		r.MostHistoryBytes = max(r.MostHistoryBytes, info.GetHistorySizeBytes())
		r.MostHistoryEvents = max(r.MostHistoryEvents, info.GetHistoryLength())
	}
	return nil
}

// wake sends sessions their second message, one after the other.
func (l *load) wake(ctx context.Context, from, to int) (Waking, error) {
	var times []time.Duration
	for n := from; n < to; n++ {
		began := time.Now()
		if err := l.turn(ctx, l.session(n), 2); err != nil {
			return Waking{}, errors.Join(fmt.Errorf("wake session %d of %d", n+1, l.Idle), err)
		}
		times = append(times, time.Since(began))
	}
	return Waking{Sessions: len(times), P50: round(percentile(times, 50)), P99: round(percentile(times, 99))}, nil
}
