package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/process"
	"everstep/worker/host"
)

// ChaosWorker is the first argument with which a worker is started. A program
// that calls [Chaos] passes what follows it to [ChaosWork].
const ChaosWorker = "chaos-worker"

// A plan is what a worker process is told, in a file.
type plan struct {
	Address   string `json:"address"`
	Namespace string `json:"namespace"`
	TaskQueue string `json:"task_queue"`
	Dir       string `json:"dir"`
	Storage   string `json:"storage"`
	Socket    string `json:"socket"`
	Ledger    string `json:"ledger"`
	Tools     []Tool `json:"tools"`
}

// ChaosWork is the worker: it serves until it is killed or its standard input ends.
// It is the body of the hidden command [ChaosWorker], takes what followed
// that on the command line, and works only as [Chaos] starts it.
func ChaosWork(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s is started by chaos, not by hand", ChaosWorker)
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	var p plan
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // nothing is sent: it returns when the controller is gone
		cancel()
	}()
	return host.Run(ctx, host.Config{
		Connection: host.Connection{Address: p.Address, Namespace: p.Namespace},
		TaskQueue:  p.TaskQueue, Dir: p.Dir, Storage: p.Storage,
		Tools:       p.tools(),
		Hooks:       p.hooks(),
		Log:         host.Log{Level: host.LevelWarn},
		StopTimeout: time.Second,
		At:          p.at,
	})
}

func (p plan) tools() []tool.Tool {
	all := make([]tool.Tool, len(p.Tools))
	for i, t := range p.Tools {
		spec := domain.ToolSpec{Name: t.Name, Description: "Writes a line into the ledger.", Effect: t.Effect, Schema: json.RawMessage(`{"type":"object"}`)}
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
