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
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/process"
	"everstep/worker/host"
)

// WorkerCommand is the first argument with which a worker is started. A program
// that calls [Chaos] passes what follows it to [Work].
const WorkerCommand = "worker"

// workerStopTimeout is what its activities have to finish when it is told to stop.
const workerStopTimeout = time.Second

// A plan is what a worker process is told, as its argument.
type plan struct {
	Address   string `json:"address"`
	Namespace string `json:"namespace"`
	TaskQueue string `json:"task_queue"`
	Storage   string `json:"storage"`
	Socket    string `json:"socket"`
	Ledger    string `json:"ledger"`
	Seat      string `json:"seat"`
	Tools     []Tool `json:"tools"`
	// Classes says that the tools are those of [ToolClasses], and Ledger a folder.
	Classes bool `json:"classes,omitzero"`
	// Load has the worker serve nothing but the sessions of [Load].
	Load bool `json:"load,omitzero"`
}

// Work is the worker: it serves until it is killed or its standard input ends.
// It is the body of the hidden command [WorkerCommand], takes what followed
// that on the command line, and works only as [Chaos] starts it.
func Work(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s is started by a proof, not by hand", WorkerCommand)
	}
	var p plan
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // nothing is sent: it returns when the controller is gone
		cancel()
	}()
	config := host.Config{
		Connection: host.Connection{Address: p.Address, Namespace: p.Namespace, Seat: p.Seat},
		TaskQueue:  p.TaskQueue, Storage: p.Storage,
		Log: host.Log{Level: slog.LevelWarn}, StopTimeout: workerStopTimeout,
	}
	if p.Load {
		config.Providers = map[string]inference.Provider{answeringName: answering{}}
	} else {
		config.Tools, config.Hooks, config.At = p.tools(), p.hooks(), p.at
	}
	return host.Run(ctx, config)
}

func (p plan) tools() []tool.Tool {
	if p.Classes {
		return p.classTools()
	}
	all := make([]tool.Tool, len(p.Tools))
	for i, t := range p.Tools {
		spec := domain.ToolSpec{Name: t.Name, Description: "Writes a line into the ledger.", Effect: t.Effect, Schema: json.RawMessage(`{"type":"object"}`)}
		spec.Losses = 1000 // it is the proof that ends their workers
		all[i] = tool.FromSpec(spec, func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
			return p.effect(ctx, t, arguments)
		})
	}
	return all
}

// effect is what every tool does: a line in the ledger, then some work.
func (p plan) effect(ctx context.Context, t Tool, arguments json.RawMessage) (tool.Result, error) {
	call, ok := tool.ExecutionOf(ctx)
	if !ok {
		return tool.Result{}, fmt.Errorf("tool %s: the call does not know its execution", t.Name)
	}
	err := enter(p.Ledger, effect{
		Tool: t.Name, Call: call.ID, WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
		Step: call.Step, Position: call.Position, Attempt: call.Attempt,
	})
	if err != nil {
		return tool.Result{}, err
	}
	var asked struct {
		Text   string `json:"text"`
		Millis int    `json:"millis"`
		Pages  int    `json:"pages"`
	}
	if json.Unmarshal(arguments, &asked) == nil && asked.Millis > 0 && process.Pause(ctx, time.Duration(asked.Millis)*time.Millisecond) != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	if a := p.ask(placed(ctx)); a.Known {
		return tool.Result{Content: a.Result}, nil
	}
	return tool.Result{Content: t.Name + " done: " + asked.Text + strings.Repeat(", and so on", min(asked.Pages, 100))}, nil
}

// A hit says that a worker has reached a boundary, or asks what a tool is to
// return.
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
	Working  bool                   `json:"working,omitzero"` // set in the middle of a tool of [ToolClasses]
}

// An answer lets the worker go on. Result is what the tool is to return, where Known.
type answer struct {
	Result string `json:"result,omitzero"`
	Known  bool   `json:"known,omitzero"`
}

// at tells the controller where the worker is, and returns when it may go on.
func (p plan) at(ctx context.Context, boundary contract.Boundary) {
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

// ask returns the controller's answer. Where there is none, this process is
// about to be killed: it waits for that.
func (p plan) ask(h hit) answer {
	a, err := question(p.Socket, h)
	if err == nil {
		return a
	}
	const patience = 10 * time.Second
	time.Sleep(patience)
	fmt.Fprintln(os.Stderr, "the controller neither answers nor kills:", err)
	os.Exit(1)
	return answer{}
}

// question puts a question to the controller, on a connection of its own.
func question(socket string, h hit) (a answer, err error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	if err = json.NewEncoder(conn).Encode(h); err == nil {
		err = json.NewDecoder(conn).Decode(&a)
	}
	return a, err
}

// listen answers questions until the listener is closed. decide reports false
// where the worker gets no answer, since it is being killed.
func listen(listener net.Listener, decide func(hit) (answer, bool)) error {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen to workers: %w", err)
		}
		go func() {
			defer conn.Close()
			var h hit
			if json.NewDecoder(conn).Decode(&h) != nil {
				return // it was killed while it spoke
			}
			if a, goOn := decide(h); goOn {
				_ = json.NewEncoder(conn).Encode(a) // it may be gone
			}
		}()
	}
}

// An effect is one line of the ledger: a tool, or a hook that is an activity,
// really did its work.
type effect struct {
	Tool       string                 `json:"tool,omitzero"`
	Call       domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Hook       string                 `json:"hook,omitzero"`
	WorkflowID string                 `json:"workflow"`
	Step       int                    `json:"step"`
	Position   int                    `json:"position"`
	Attempt    int                    `json:"attempt"`
	// Key is that of the effect, and Void says that the call takes none any more.
	Key  string `json:"key,omitzero"`
	Void bool   `json:"void,omitzero"`
}

// enter appends an effect. One write of an open file in append mode is whole or
// not there, whenever the process dies.
func enter(ledger string, e effect) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	file, err := os.OpenFile(ledger, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = file.Write(append(text, '\n'))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// entries counts the lines of the ledger that an agent's run has left: of tool
// calls, and of hooks by their keys.
type entries struct {
	calls map[domain.ToolExecutionID]int
	hooks map[string]int
}

func effects(ledger, workflowID string) (entries, error) {
	counts := entries{calls: make(map[domain.ToolExecutionID]int), hooks: make(map[string]int)}
	lines, err := readLedger(ledger)
	for _, e := range lines {
		switch {
		case e.WorkflowID != workflowID:
		case e.Hook != "":
			counts.hooks[e.Hook]++
		default:
			counts.calls[e.Call]++
		}
	}
	return counts, err
}
