package accountcheck

import (
	"fmt"
	"maps"
	"os"
	"sync"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/account"
)

// A Recorder is an interceptor of a worker that notes the account of each workflow after each workflow task. It sends the
// server nothing, and is safe for concurrent use.
type Recorder struct {
	interceptor.WorkerInterceptorBase
	// Dir is where notes are kept as files, which outlive the process. Empty: they are kept in memory.
	Dir string

	mu     sync.Mutex
	notes  Notes
	failed error
}

// Notes are those of runs, by the runs' ids and the lengths of their histories.
type Notes map[string]map[int]Note

// add puts a note in place of an earlier one of the same task: a task's last note is the one of its end.
func (n Notes) add(note Note) {
	if n[note.RunID] == nil {
		n[note.RunID] = map[int]Note{}
	}
	n[note.RunID][note.Length] = note
}

// Notes are what is in memory. The error is why a note could not be made.
func (r *Recorder) Notes() (Notes, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := Notes{}
	for run, notes := range r.notes {
		all[run] = maps.Clone(notes)
	}
	return all, r.failed
}

func (r *Recorder) add(workflowID string, note Note, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notes == nil {
		r.notes = Notes{}
	}
	before, again := r.notes[note.RunID][note.Length]
	switch {
	case err != nil:
		note.Failed = err.Error()
		r.failed = fmt.Errorf("run %s, the workflow task started by event %d: %w", note.RunID, note.Length, err)
	case again && maps.Equal(before.Parts, note.Parts):
		return // nothing has changed in this round of the task
	}
	if r.Dir == "" {
		r.notes.add(note)
		return
	}
	r.notes[note.RunID] = map[int]Note{note.Length: note} // the earlier ones are in the file
	if err := write(r.Dir, workflowID, note); err != nil {
		fmt.Fprintln(os.Stderr, "a note is lost:", err)
	}
}

// InterceptWorkflow adds the notes to a workflow.
func (r *Recorder) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &inbound{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}, recorder: r}
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	recorder *Recorder
	ask      func(account.Request) (account.Page, error)
	// repeated is where the newest task began that was repeated, by the length of history.
	repeated int
}

func (in *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return in.Next.Init(&outbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, in})
}

// ExecuteWorkflow adds a coroutine that waits for a condition which never holds. The SDK evaluates it in each round of a
// workflow task, also in the last one, after which no coroutine does anything: what it sees then is the end of the task.
func (in *inbound) ExecuteWorkflow(ctx workflow.Context, input *interceptor.ExecuteWorkflowInput) (any, error) {
	beside, _ := workflow.NewDisconnectedContext(ctx) // who cancels the workflow does not end it
	workflow.Go(beside, func(ctx workflow.Context) {
		_ = workflow.Await(ctx, func() bool {
			in.note(ctx)
			return false
		})
	})
	result, err := in.Next.ExecuteWorkflow(ctx, input)
	in.note(ctx)
	return result, err
}

// note notes the account, unless the worker only repeats what is recorded. One that replays to answer a query goes on with
// events that no task has taken yet, as if it did so first: it still stands at the last task that it has repeated.
func (in *inbound) note(ctx workflow.Context) {
	info := workflow.GetInfo(ctx)
	if workflow.IsReplaying(ctx) {
		in.repeated = info.GetCurrentHistoryLength()
	}
	if in.ask == nil || in.repeated == info.GetCurrentHistoryLength() {
		return
	}
	note, err := noteOf(info.WorkflowExecution.RunID, info.GetCurrentHistoryLength(), in.ask)
	in.recorder.add(info.WorkflowExecution.ID, note, err)
}

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	inbound *inbound
}

func (out *outbound) SetQueryHandler(ctx workflow.Context, query string, handler any) error {
	if ask, ok := handler.(func(account.Request) (account.Page, error)); ok && query == string(account.Query) {
		out.inbound.ask = ask
	}
	return out.Next.SetQueryHandler(ctx, query, handler)
}
