package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/domain/progress"
	"everstep/starter/client/internal/history"
)

// FollowOptions choose what Follow shows.
type FollowOptions struct {
	// Number names the execution. Zero: the newest.
	Number int
}

// Follow yields what happens in an execution, from its beginning to its end, as it happens, with the
// model's text and reasoning while they arrive: see EventText. It can be begun any number of times,
// costs the workflow nothing and needs no worker. Where the server goes away it says so, and goes on
// when that is back. Breaking out of the loop leaves the execution as it is.
func (c *Client) Follow(ctx context.Context, id string, o FollowOptions) iter.Seq2[Event, error] {
	return sequence(ctx, id, "following ", func(yield func(Event, error) bool) error {
		t, err := c.target(ctx, id, o.Number)
		if err != nil {
			return err
		}
		runID, err := c.beginning(ctx, t.snapshot, t.asked)
		if err != nil {
			return err
		}
		w := &watcher{client: c, target: t, reducer: newWatchReducer(t.snapshot), yield: yield}
		return w.run(ctx, runID)
	})
}

// beginning is the run in which an execution began, or the earliest after it that is there.
func (c *Client) beginning(ctx context.Context, s snapshot, number int) (string, error) {
	runID := s.runID()
	began, err := c.reader(s.agent).First(ctx, runID)
	for err == nil && began.Readable() && began.Continues != "" && progress.Carried(began.Input).Number >= number {
		before := began.Continues
		if began, err = c.reader(s.agent).First(ctx, before); deleted(err) {
			return runID, nil
		}
		runID = before
	}
	return runID, err
}

const (
	// textEvery is how often the live text is looked at on loopback, and farTextEvery
	// elsewhere: with the 600 ms between heartbeats there some of it comes every second.
	textEvery    = 200 * time.Millisecond
	farTextEvery = 300 * time.Millisecond
	workEvery    = time.Second
	// stalledAfter is how long work may wait for a worker without a word.
	stalledAfter = 5 * time.Second
)

// A watcher shows what happens in a chain of runs. It is used by one goroutine.
type watcher struct {
	client *Client
	target
	reducer *watchReducer
	yield   func(Event, error) bool
	// finished means that the caller has seen all that it wants.
	finished bool
	// stalled is since when work has waited for a worker, looked when that was
	// last not known; told that it was said.
	stalled time.Time
	looked  time.Time
	told    bool
	// why tells of calls that were not run.
	why reasons
}

func (w *watcher) run(ctx context.Context, runID string) error {
	ctx, cancel := context.WithCancel(ctx)
	items := w.read(ctx, runID)
	defer func() {
		cancel()
		for range items { // let the reader end
		}
	}()
	w.looked = time.Now()
	pace := w.pace()
	look := time.NewTimer(pace)
	defer look.Stop()
	for !w.finished {
		if now := w.pace(); now != pace {
			pace = now
			look.Reset(pace)
		}
		select {
		case it, ok := <-items:
			switch {
			case !ok && ctx.Err() != nil:
				return ctx.Err()
			case !ok:
				return w.vanished(w.asked)
			case it.err != nil:
				return it.err
			}
			w.item(ctx, it.Item)
			if !w.finished && w.reducer.number() > w.asked {
				return w.vanished(w.asked) // a later one began, so its end stood in what was deleted
			}
		case <-look.C:
			w.look(ctx)
			look.Reset(pace)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

type delivery struct {
	history.Item
	err error
}

func (w *watcher) read(ctx context.Context, runID string) <-chan delivery {
	items := make(chan delivery)
	go func() {
		defer close(items)
		for it, err := range w.client.chain(ctx, w.client.reader(w.agent), w.runs(), runID) {
			select {
			case items <- delivery{it, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return items
}

func (w *watcher) item(ctx context.Context, it history.Item) {
	switch {
	case it.Away != nil:
		w.give(Event{Type: EventReconnecting, Time: time.Now(), Number: w.reducer.number(), Reason: "the server does not answer"})
	case it.Back:
		w.give(Event{Type: EventReconnected, Time: time.Now(), Number: w.reducer.number()})
	default:
		w.stalled, w.looked = time.Time{}, time.Now()
		for _, e := range w.reducer.take(it.Recorded) {
			if it.Repeated || e.Type == EventNotRun && w.wants(e) && !w.reasoned(ctx, &e) {
				continue
			}
			w.show(e)
		}
	}
}

func (w *watcher) wants(e Event) bool { return !w.finished && e.Number == w.asked }

func (w *watcher) show(e Event) {
	if w.wants(e) {
		w.give(e)
		w.finished = w.finished || e.Type == EventEnded
	}
}

func (w *watcher) give(e Event) { w.finished = w.finished || !w.yield(e, nil) }

func (w *watcher) pace() time.Duration {
	switch {
	case !w.reducer.inferring():
		return workEvery
	case w.client.cfg.Loopback:
		return textEvery
	default:
		return farTextEvery
	}
}

// look shows what the history does not tell until work has ended: live text,
// retries, and that no worker is up. A server that is away is the reader's to
// tell.
func (w *watcher) look(ctx context.Context) {
	if !w.reducer.agent.Execution.Running || w.reducer.number() != w.asked {
		return
	}
	call, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := w.client.snapshot(call, w.agent, "")
	if err != nil || s.runID() != w.reducer.runID {
		return
	}
	work := w.client.pending(s)
	for _, e := range w.reducer.live(work, time.Now()) {
		w.stalled = time.Time{}
		w.show(e)
	}
	w.stall(ctx, s, work)
}

// stall says, once until work goes on, that no worker takes what waits, and why.
// The wait may have begun just after the look before.
func (w *watcher) stall(ctx context.Context, s snapshot, work []history.Pending) {
	now := time.Now()
	switch {
	case !stalls(s, work):
		w.stalled, w.told = time.Time{}, false
	case w.stalled.IsZero():
		w.stalled = w.looked
	case now.Sub(w.stalled) >= stalledAfter && !w.told:
		w.told = true
		e := Event{Type: EventNoWorker, Time: now, Number: w.reducer.number(), Reason: w.client.cfg.place(s.queue())}
		if waits, ok := limited(work); ok {
			e.Reason = unserved(waits.Limited)
			if w.client.served(ctx, waits.Limited) {
				e.Type, e.Reason = EventRateLimited, "it waits on task queue "+waits.Limited
			}
		}
		w.show(e)
	}
	w.looked = now
}

// stalls reports whether something waits for a worker and none is at work.
func stalls(s snapshot, work []history.Pending) bool {
	if s.GetPendingWorkflowTask().GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED {
		return true
	}
	return !slices.ContainsFunc(work, func(w history.Pending) bool { return !w.Waiting }) &&
		slices.ContainsFunc(work, func(w history.Pending) bool { return !w.BackingOff })
}

// reasons are why calls were not run, which only a worker can tell.
type reasons struct {
	// mute means that no worker has answered, so that no other is waited for.
	mute bool
	// runID and step say which calls are held.
	runID string
	step  int
	calls []domain.ToolExecution
}

// reasoned adds why, where a worker tells; false: a hook has taken the call out of the answer.
func (w *watcher) reasoned(ctx context.Context, e *Event) bool {
	if w.why.runID != e.RunID || w.why.step != e.Step {
		w.why.runID, w.why.step, w.why.calls = e.RunID, e.Step, nil
		if !w.why.mute {
			page, err := glance(ctx, w.client, w.agent, e.RunID, contract.QuerySteps, contract.StepsRequest{Number: e.Number, From: e.Step})
			w.why.mute = errors.Is(err, errNoWorker)
			if err == nil && len(page.Steps) > 0 && page.Steps[0].Number == e.Step {
				w.why.calls = page.Steps[0].ToolExecutions
			}
		}
	}
	switch {
	case w.why.calls == nil:
		return true
	case e.Position >= len(w.why.calls):
		return false
	}
	call := w.why.calls[e.Position]
	e.Tool, e.Arguments, e.Error = call.Name(), call.Args(), call.Error
	return true
}

// An EventType says what an Event is about.
type EventType string

const (
	// EventBegan: an execution began. Number, ExecutionID.
	EventBegan EventType = "execution_began"
	// EventStep: a step began, and its inference with it. Step.
	EventStep EventType = "step_started"
	// EventReasoning: more of what the model thinks before it answers arrived.
	// Fields as of EventText. None of it is in the history while it arrives.
	EventReasoning EventType = "reasoning"
	// EventText: more of the model's answer arrived. Step; Attempt: the try that
	// it is of, counted from 1; Text: what follows the text before of the same
	// attempt; Skipped: bytes before Text that were missed. Whoever comes late
	// gets the last 8 KiB of the text, and 4 KiB of the reasoning.
	EventText EventType = "text"
	// EventWithdrawn: what came of an attempt does not count; another one, or the whole answer, begins
	// from nothing. Step; Attempt: the withdrawn one; Reason: why, where it is known.
	EventWithdrawn EventType = "text_withdrawn"
	// EventWithheld: what the model says is not shown, since a hook may rewrite it. It comes once an
	// execution. Step, Hook. The answer and the messages hold what the hook left.
	EventWithheld EventType = "text_withheld"
	// EventAnswered: an inference ended with an answer. Step, Attempt, Text: all
	// of it, unless it is withheld; Shown: how many bytes of it EventText gave;
	// Calls, Usage, Finish.
	EventAnswered EventType = "model_answered"
	// EventCut: an inference ended without a whole answer. Step, Attempt,
	// Outcome: interrupted, failed or worker_shutdown; Text and Shown as above,
	// Skipped: bytes before Text that are lost; Usage, Error.
	EventCut EventType = "model_cut"
	// EventTool: a tool call was scheduled. Step, Position, Tool, Arguments:
	// empty where they are too long for the call to carry.
	EventTool EventType = "tool_started"
	// EventToolProgress: a tool call has told how far it is. Step, Position, Tool, Text. None of it is in
	// the history.
	EventToolProgress EventType = "tool_progress"
	// EventToolDone: a tool call ended. Step, Position, Tool, Error: why it
	// failed, absent where it did not.
	EventToolDone EventType = "tool_finished"
	// EventNotRun: a call that the model asked for was not run: it was blocked, or the step ended first.
	// It comes when the step is over. Step, Position, Tool, Arguments, RunID; Error: why, where told.
	EventNotRun EventType = "tool_not_run"
	// EventHook: a hook that is an activity was called. Step: zero between steps;
	// Hook, Trigger.
	EventHook EventType = "hook_called"
	// EventHookFailed: such a hook failed. Step, Hook, Trigger, Error.
	EventHookFailed EventType = "hook_failed"
	// EventSummary: the model is first asked for a summary, within the step, to stay in its window. Step.
	EventSummary EventType = "summary_started"
	// EventRetry: an inference or tool call failed and is tried again. Step,
	// Tool: empty for an inference; Attempt: the coming one, where those of an
	// inference whose worker was lost do not count; Reason.
	EventRetry EventType = "retry"
	// EventNoWorker: no worker has taken what is waiting for 5 s. It comes once
	// until work goes on. Reason: where it waits.
	EventNoWorker EventType = "no_worker"
	// EventRateLimited: an inference has waited 5 s for its turn under a rate limit. It comes once until
	// work goes on. Reason: the task queue where it waits.
	EventRateLimited EventType = "rate_limited"
	// EventTrouble: a worker could not carry the workflow on, and tries again
	// without end. Reason.
	EventTrouble EventType = "trouble"
	// EventStopAsked: somebody asked the execution to stop. Mode, Reason.
	EventStopAsked EventType = "stop_asked"
	// EventApprovalAsked: a tool call waits for a person's word. Step, Position, Tool, Arguments, ToolExecutionID,
	// Approval.
	EventApprovalAsked EventType = "approval_requested"
	// EventApprovalDecided: the wait is over, by somebody's word or because its time was. Fields as of
	// EventApprovalAsked; of a call that a stop kept from being decided there is none.
	EventApprovalDecided EventType = "approval_decided"
	// EventPaused: nothing new starts in the execution until it is resumed.
	EventPaused EventType = "paused"
	// EventResumed: a pause is over.
	EventResumed EventType = "resumed"
	// EventContinued: the workflow went on in a new run. RunID.
	EventContinued EventType = "continued_as_new"
	// EventReconnecting: the server went away; Reason. The sequence goes on.
	EventReconnecting EventType = "reconnecting"
	// EventReconnected: the server is back.
	EventReconnected EventType = "reconnected"
	// EventEnded: the execution ended. Ended.
	EventEnded EventType = "execution_ended"
)

// EventTypes lists every event type.
func EventTypes() []EventType {
	return []EventType{
		EventBegan, EventStep, EventReasoning, EventText, EventWithdrawn, EventWithheld, EventAnswered, EventCut, EventTool, EventToolProgress, EventToolDone,
		EventNotRun, EventHook, EventHookFailed, EventSummary, EventRetry, EventNoWorker, EventRateLimited, EventTrouble, EventStopAsked,
		EventApprovalAsked, EventApprovalDecided, EventPaused, EventResumed, EventContinued,
		EventReconnecting, EventReconnected, EventEnded,
	}
}

// UnmarshalText accepts the known event types only.
func (t *EventType) UnmarshalText(text []byte) error {
	return enum.Decode(t, text, EventTypes(), "event type")
}

// An Event is something that happened to an agent. Its type says which fields are set besides Type,
// Time and, once known, Number. Texts, arguments and reasons come from models and tools: clean them
// for a terminal.
type Event struct {
	Type EventType `json:"type"`
	// Time is the server's, or this machine's for what only it knows.
	Time time.Time `json:"time"`
	// Number is the execution's.
	Number      int                `json:"execution_number,omitzero"`
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	RunID       string             `json:"run_id,omitzero"`
	Step        int                `json:"step,omitzero"`
	// Position counts the step's calls from 0.
	Position int `json:"position,omitzero"`
	// ToolExecutionID and Approval are of a call about which people are asked.
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Approval        *domain.Approval       `json:"approval,omitempty"`
	Tool            string                 `json:"tool,omitzero"`
	Arguments       string                 `json:"arguments,omitzero"`
	Hook            string                 `json:"hook,omitzero"`
	Trigger         domain.Trigger         `json:"trigger,omitzero"`
	Text            string                 `json:"text,omitzero"`
	Skipped         int                    `json:"skipped,omitzero"`
	Shown           int                    `json:"shown,omitzero"`
	Calls           []domain.ToolCall      `json:"tool_calls,omitempty"`
	Usage           domain.Usage           `json:"usage,omitzero"`
	Finish          domain.FinishReason    `json:"finish_reason,omitzero"`
	Outcome         contract.ModelOutcome  `json:"outcome,omitzero"`
	Attempt         int                    `json:"attempt,omitzero"`
	Mode            contract.StopMode      `json:"mode,omitzero"`
	Reason          string                 `json:"reason,omitzero"`
	Error           *domain.Error          `json:"error,omitempty"`
	Ended           *contract.Outcome      `json:"ended,omitempty"`
}
