package kills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/process"
	"everstep/testsuite/internal/accountcheck"
	"everstep/worker/host"
)

// WorkerCommand is the first argument with which a worker is started. A program that calls [Run] passes what follows it to [Worker].
const WorkerCommand = "worker"

// StopTimeout is what the activities of a worker have to finish when it is told to stop.
const StopTimeout = time.Second

// A WorkerPlan is what a worker process is told, as its argument.
type WorkerPlan struct {
	Address, Namespace, TaskQueue, Storage, Seat string

	Socket  string // of the runner, which hits are told to; empty: the worker asks nobody
	Ledgers string // a folder
	// Accounts is a folder, in which the worker notes what it would tell of its agents after each workflow task.
	Accounts string
	Tools    []Tool
}

// StartWorker starts this program again as a worker, which ends with this process.
func StartWorker(plan WorkerPlan, log *os.File) (*process.Process, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to run workers: %w", err)
	}
	cmd := exec.Command(self, WorkerCommand, string(text))
	cmd.Stdout, cmd.Stderr = log, log
	return process.Start(cmd)
}

// Worker is the hidden command [WorkerCommand] that serves until it is killed or its standard input ends. It takes what
// followed that on the command line, and works only as [StartWorker] starts it. Models of providers are served beside the
// scripted ones.
func Worker(providers map[string]inference.Provider) func(ctx context.Context, args []string) error {
	return func(ctx context.Context, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s is started by a proof, not by hand", WorkerCommand)
		}
		var p WorkerPlan
		if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
			return fmt.Errorf("read the plan: %w", err)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // nothing is sent: it returns when who started it is gone
			cancel()
		}()
		config := host.Config{
			Connection: host.Connection{Address: p.Address, Namespace: p.Namespace, Seat: p.Seat},
			TaskQueue:  p.TaskQueue, Storage: p.Storage, Providers: providers,
			Log: host.Log{Level: slog.LevelWarn}, StopTimeout: StopTimeout,
		}
		if p.Socket != "" {
			config.Tools, config.Hooks, config.At = p.tools(), p.hooks(), p.at
			config.Interceptors = []interceptor.WorkerInterceptor{&accountcheck.Recorder{Dir: p.Accounts}}
		}
		return host.Run(ctx, config)
	}
}

// A hit says that a worker has reached a boundary, and waits for the answer. Without a boundary a tool is in the middle of its
// work, and asks what it is to return.
type hit struct {
	PID         int                `json:"pid"`
	Boundary    contract.Boundary  `json:"boundary,omitzero"`
	WorkflowID  string             `json:"workflow_id"`
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	Step        int                `json:"step,omitzero"`
	AgentID     domain.AgentID     `json:"agent_id,omitzero"` // stands for WorkflowID where that is not known
	Summary     bool               `json:"summary,omitzero"`  // set for an inference that sums up
	Hook        string             `json:"hook,omitzero"`     // set for hooks that are activities; see hookKey
	// Call and Position are set for tool calls.
	Call     domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Position int                    `json:"position,omitzero"`
}

// An answer lets the worker go on. Result is what the tool is to return, where Known.
type answer struct {
	Result string `json:"result,omitzero"`
	Known  bool   `json:"known,omitzero"`
}

// at tells the runner where the worker is, and returns when it may go on.
func (p WorkerPlan) at(ctx context.Context, boundary contract.Boundary) {
	h := placed(ctx)
	h.Boundary = boundary
	p.ask(h)
}

// placed is a hit of this process, as far as the context tells.
func placed(ctx context.Context) hit {
	place := contract.PlaceOf(ctx)
	h := hit{PID: os.Getpid(), WorkflowID: place.WorkflowID, ExecutionID: place.ExecutionID, Step: place.Step, Summary: place.Summary}
	if call, ok := tool.ExecutionOf(ctx); ok {
		h.Call, h.Position = call.ID, call.Position
	}
	return h
}

// ask returns the runner's answer. Where there is none, this process is about to be killed: it waits for that.
func (p WorkerPlan) ask(h hit) answer {
	a, err := p.question(h)
	if err == nil {
		return a
	}
	const patience = 10 * time.Second
	time.Sleep(patience)
	fmt.Fprintln(os.Stderr, "the runner neither answers nor kills:", err)
	os.Exit(1)
	return a
}

// question puts a question to the runner, on a connection of its own.
func (p WorkerPlan) question(h hit) (a answer, err error) {
	conn, err := net.Dial("unix", p.Socket)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	if err = json.NewEncoder(conn).Encode(h); err == nil {
		err = json.NewDecoder(conn).Decode(&a)
	}
	return a, err
}

func (p WorkerPlan) tools() []tool.Tool {
	all := make([]tool.Tool, len(p.Tools))
	for i, t := range p.Tools {
		spec := domain.ToolSpec{Name: t.Name, Description: "Writes a line into the ledger.", Effect: t.Effect, Schema: json.RawMessage(`{"type":"object"}`)}
		spec.Losses = 1000 // it is the proof that ends their workers
		var options []tool.Option
		if t.Key != "" {
			spec.Schema = fmt.Appendf(nil, `{"type":"object","properties":{%q:{"type":"integer"}}}`, t.Key)
			options = append(options, tool.EffectKey(t.Key))
		}
		if t.Verified {
			options = append(options, tool.Verify(func(ctx context.Context, arguments json.RawMessage) (tool.Finding, error) {
				return p.verify(ctx, t, arguments)
			}))
		}
		all[i] = tool.FromSpec(spec, func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
			return p.act(ctx, t, arguments)
		}, options...)
	}
	return all
}

// act is what every tool does: a line in the ledger, unless the call is void, then some work.
func (p WorkerPlan) act(ctx context.Context, t Tool, arguments json.RawMessage) (tool.Result, error) {
	call, ok := tool.ExecutionOf(ctx)
	if !ok {
		return tool.Result{}, fmt.Errorf("tool %s: the call does not know its execution", t.Name)
	}
	workflow := activity.GetInfo(ctx).WorkflowExecution.ID
	lines, err := readLedger(p.Ledgers, workflow)
	for _, line := range lines {
		if line.Void && line.Call == call.ID {
			err = errors.New("the call is void")
		}
	}
	if err == nil {
		err = enter(p.Ledgers, workflow, effect{Tool: t.Name, Call: call.ID, Key: call.Key})
	}
	if err != nil {
		return tool.Result{}, err
	}
	asked := argumentsOf(arguments)
	if asked.Millis > 0 && process.Pause(ctx, time.Duration(asked.Millis)*time.Millisecond) != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	if a := p.ask(placed(ctx)); a.Known {
		return tool.Result{Content: a.Result}, nil
	}
	return tool.Result{Content: asked.receipt(t)}, nil
}

// A toolArguments is what tools take of their arguments.
type toolArguments struct {
	Text   string `json:"text"`
	Millis int    `json:"millis"`
	Pages  int    `json:"pages"`
}

func argumentsOf(text json.RawMessage) (a toolArguments) {
	_ = json.Unmarshal(text, &a) // recorded tools take others
	return a
}

// receipt is what a tool answers.
func (a toolArguments) receipt(t Tool) string {
	return t.Name + " done: " + a.Text + strings.Repeat(", and so on", min(a.Pages, 100))
}

// verify looks for a call in the ledger, and makes it void where it is not there.
func (p WorkerPlan) verify(ctx context.Context, t Tool, arguments json.RawMessage) (tool.Finding, error) {
	call, _ := tool.ExecutionOf(ctx)
	workflow := activity.GetInfo(ctx).WorkflowExecution.ID
	lines, err := readLedger(p.Ledgers, workflow)
	if err != nil {
		return tool.Finding{}, err
	}
	for _, line := range lines {
		if !line.Void && line.Call == call.ID {
			return tool.Happened(argumentsOf(arguments).receipt(t), "the ledger has it"), nil
		}
	}
	if err := enter(p.Ledgers, workflow, effect{Tool: t.Name, Call: call.ID, Void: true}); err != nil {
		return tool.Finding{}, err
	}
	return tool.Fenced("the ledger takes it no more"), nil
}
