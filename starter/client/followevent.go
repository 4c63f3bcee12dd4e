package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// The types of what only the server or the moment knows. It has no numbers, and whoever reads later is not told of it.
const (
	// EventReasoning: more of what the model thinks before it answers arrived. Fields as of EventText.
	EventReasoning domain.EventType = "reasoning"
	// EventText: more of the model's answer arrived. Step; Attempt: the try that it is of, counted from 1; Text: what follows the
	// text before of the same attempt; Skipped: bytes before Text that were missed. Whoever comes late gets the last 8 KiB of the
	// text, and 4 KiB of the reasoning.
	EventText domain.EventType = "text"
	// EventWithdrawn: what came of an attempt does not count; another one, or the whole answer, begins from nothing. Step;
	// Attempt: the withdrawn one; Reason: why, where it is known.
	EventWithdrawn domain.EventType = "text_withdrawn"
	// EventWithheld: what the model says is not shown while it arrives, since a hook may rewrite it. It comes once an
	// execution. Step, Hook.
	EventWithheld domain.EventType = "text_withheld"
	// EventToolProgress: a tool call has told how far it is. Step, Position, Tool, Text.
	EventToolProgress domain.EventType = "tool_progress"
	// EventRetry: the server tries an inference again whose attempt failed at no cost, or whose worker was lost. Step; Attempt:
	// the coming one, where those whose worker was lost do not count; Reason.
	EventRetry domain.EventType = "retry"
	// EventNoWorker: no worker has taken what is waiting for 5 s. It comes once until work goes on. Reason: where it waits.
	EventNoWorker domain.EventType = "no_worker"
	// EventRateLimited: an inference or a call has waited 5 s for its turn under a rate limit. It comes once until work goes on.
	// Reason: the task queue where it waits.
	EventRateLimited domain.EventType = "rate_limited"
	// EventTrouble: the workflow cannot be carried on, or not be read, and that is tried again without end. Reason.
	EventTrouble domain.EventType = "trouble"
	// EventContinued: the workflow went on in a new run. RunID.
	EventContinued domain.EventType = "continued_as_new"
	// EventReconnecting: the server went away; Reason. The sequence goes on.
	EventReconnecting domain.EventType = "reconnecting"
	// EventReconnected: the server is back.
	EventReconnected domain.EventType = "reconnected"
	// EventGone: what a sub-agent does, or did, cannot be read. Path, Reason.
	EventGone domain.EventType = "sub_agent_gone"
	// EventEnded: the execution ended, and no event of its own says so: the server has ended it, or they are gone. Ended.
	EventEnded domain.EventType = "execution_ended"
)

// Moments lists the types of what only the server or the moment knows.
func Moments() []domain.EventType {
	return []domain.EventType{
		EventReasoning, EventText, EventWithdrawn, EventWithheld, EventToolProgress, EventRetry, EventNoWorker, EventRateLimited, EventTrouble,
		EventContinued, EventReconnecting, EventReconnected, EventGone, EventEnded,
	}
}

// An Event is one thing that Follow yields. Its type says which fields are set. Texts, arguments and reasons come from models
// and tools: clean them for a terminal.
type Event struct {
	// Type is that of what the execution has noted, or of what only the moment knows.
	Type domain.EventType `json:"type,omitzero"`
	// Recorded is what the execution has noted, with its number; without a type: only the moment knows of it. What it has itself stands in
	// the fields below too, where views need it.
	Recorded domain.Event `json:"-"`
	// Time is the server's, or this machine's for what only it knows.
	Time time.Time `json:"time,omitzero"`
	// AgentID is the sub-agent whose event it is, where FollowOptions.Tree asked for those. Path are the names by which that was
	// started, from the root on, whose own events have neither.
	AgentID domain.AgentID `json:"agent_id,omitzero"`
	Path    []string       `json:"path,omitempty"`
	// Number is the execution's.
	Number int `json:"execution_number,omitzero"`
	// RunID is the newest run of the workflow.
	RunID string `json:"run_id,omitzero"`
	Step  int    `json:"step,omitzero"`
	// Attempt counts the tries of an inference or a call from 1.
	Attempt int `json:"attempt,omitzero"`
	// Text is what the model or a tool says, or what the model reads as the answer to a question. Skipped counts the bytes before
	// it that were missed, Shown those of it that EventText gave.
	Text    string            `json:"text,omitzero"`
	Skipped int               `json:"skipped,omitzero"`
	Shown   int               `json:"shown,omitzero"`
	Calls   []domain.ToolCall `json:"calls,omitempty"`
	// Outcome says how an inference ended, and Usage what it has used.
	Outcome contract.ModelOutcome `json:"-"`
	Usage   domain.Usage          `json:"-"`
	// Position counts the step's calls from 0. Of a call that waits for approval the arguments are those that would run.
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Position        int                    `json:"position,omitzero"`
	Tool            string                 `json:"tool,omitzero"`
	Arguments       string                 `json:"arguments,omitzero"`
	// Wait is what people are asked about the call, with their answer once the wait is over.
	Wait *domain.Wait `json:"wait,omitempty"`
	// ChildID is the sub-agent that begins or has ended, and ChildName its name.
	ChildID   domain.AgentID `json:"-"`
	ChildName string         `json:"-"`
	// Message is one that waits, or waited.
	Message *contract.WaitingView `json:"message,omitempty"`
	Hook    string                `json:"hook,omitzero"`
	Trigger domain.Trigger        `json:"-"`
	// Reason is why, in words, and Error why what the event tells of failed. Where only its kind and code are left it has no
	// message.
	Reason string        `json:"reason,omitzero"`
	Error  *domain.Error `json:"error,omitempty"`
	// Ended is how the execution ended.
	Ended *contract.Outcome `json:"ended,omitempty"`

	// earlier says that it comes before what was asked for, and waits that a person's word is still waited for.
	earlier, waits bool
}

// Waits reports whether a call that asks for a person's word still waits for it.
func (e Event) Waits() bool { return e.waits }

// MarshalJSON writes what the execution has noted as a domain.Event does, with what it is about beside; else the fields that
// are set.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	if e.Recorded.Type == "" {
		return json.Marshal(plain(e))
	}
	event, err := json.Marshal(e.Recorded)
	if err != nil {
		return nil, err
	}
	beside := plain(e)
	beside.Type, beside.Time, beside.AgentID, beside.Step, beside.Attempt = "", time.Time{}, domain.AgentID{}, 0, 0
	beside.ToolExecutionID, beside.Tool, beside.Hook, beside.RunID = domain.ToolExecutionID{}, "", "", ""
	if e.Type == domain.EventExecutionStarted {
		beside.Number = 0
	}
	content, err := json.Marshal(beside)
	if err != nil || string(content) == "{}" {
		return event, err
	}
	return append(append(bytes.TrimSuffix(event, []byte("}")), ','), content[1:]...), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	var read struct {
		plain
		Type string `json:"type"`
	}
	if err := domain.DecodeInto(data, &read); err != nil {
		return err
	}
	*e = Event(read.plain)
	if e.Type = domain.EventType(read.Type); slices.Contains(Moments(), e.Type) {
		return nil
	}
	var recorded domain.Event
	if err := recorded.UnmarshalJSON(data); err != nil {
		return err
	}
	e.Recorded, e.Time, e.Step = recorded, recorded.Time, recorded.Step
	if len(e.Path) == 0 {
		e.AgentID = domain.AgentID{}
	}
	return nil
}

// A content is what was read of an execution that its events are about. It is used by one goroutine.
type content struct {
	// steps are by number: those that have ended since the last reading, and the one in progress. newest is that which ended last.
	steps  map[int]domain.StepExecution
	newest int
	// questions are what calls ask that wait for a person, and messages those that wait, or waited, for the agent.
	questions map[domain.ToolExecutionID]domain.Question
	messages  map[domain.MessageID]contract.WaitingView
	// spawned are the calls that have started sub-agents.
	spawned map[domain.AgentID]domain.ToolExecutionID
}

func newContent() content {
	return content{
		steps: map[int]domain.StepExecution{}, questions: map[domain.ToolExecutionID]domain.Question{}, messages: map[domain.MessageID]contract.WaitingView{},
		spawned: map[domain.AgentID]domain.ToolExecutionID{},
	}
}

// learn takes what an account has that is new.
func (c *content) learn(all account.Account) {
	for number := range c.steps {
		if number < c.newest {
			delete(c.steps, number)
		}
	}
	for _, step := range all.Steps {
		c.steps[step.Number], c.newest = step.StepExecution, step.Number
	}
	if all.Current != nil {
		c.steps[all.Current.Number] = all.Current.StepExecution
	}
	for _, wait := range all.Head.Waits {
		if wait.Ask != nil {
			c.questions[wait.ToolExecutionID] = *wait.Ask
		}
	}
	for _, message := range all.Head.Unread {
		c.messages[message.ID] = message
	}
}

// call is a call of a step, by its position.
func (c *content) call(step int, id domain.ToolExecutionID) (domain.ToolExecution, int) {
	calls := c.steps[step].Step.ToolExecutions
	at := slices.IndexFunc(calls, func(call domain.ToolExecution) bool { return call.ID == id })
	if at < 0 {
		return domain.ToolExecution{}, 0
	}
	return calls[at], at
}

// tell returns an event with what it is about, and before it what it withdraws.
func (f *follower) tell(ctx context.Context, recorded domain.Event, all account.Account) []Event {
	e := Event{Type: recorded.Type, Recorded: recorded, Time: recorded.Time, Step: recorded.Step}
	if about, ok := recorded.Data.(interface{ Call() domain.EventCall }); ok {
		var call domain.ToolExecution
		e.ToolExecutionID, e.Tool = about.Call().ToolExecutionID, about.Call().Tool
		call, e.Position = f.content.call(e.Step, e.ToolExecutionID)
		f.tellOfCall(&e, call)
		e.waits = e.waits && (e.Wait.Kind.Rule().Outlasts || !f.newest(all).Status.Terminal())
		return []Event{e}
	}
	if hook := all.Head.Withheld; e.Type == domain.EventStepStarted && hook != "" && !f.moment.withheld {
		f.moment.withheld = true
		return []Event{e, {Type: EventWithheld, Time: e.Time, Step: e.Step, Hook: hook}}
	}
	switch r := recorded.Data.(type) {
	case domain.AgentExecutionStarted:
		e.RunID = cmp.Or(f.current, all.Head.Run.ID)
	case domain.InferenceRequestStarted:
		e.Attempt = r.Attempts + 1
		f.moment.inference = inferenceMoment{open: true, summary: r.Summary, step: e.Step, attempt: e.Attempt, done: f.moment.inference.done}
	case domain.InferenceResponseReceived:
		return f.tellOfAnswer(e, r, all.Head)
	case domain.MessageWaiting:
		told := contract.WaitingView{ID: r.MessageID, SentAt: e.Time, Bytes: r.Bytes, By: r.By, Delivery: contract.SteerIfBusy}
		if r.Queued {
			told.Delivery = contract.QueueIfBusy
		}
		e.Message = f.message(ctx, told)
	case domain.MessageReceived:
		e.Message = f.message(ctx, contract.WaitingView{ID: r.MessageID, Bytes: r.Bytes, By: r.By})
	case domain.MessageUnsent:
		e.Message = f.message(ctx, contract.WaitingView{ID: r.MessageID})
	case domain.StopEvent:
		if e.Type == domain.EventStopSignalReceived {
			e.Reason = f.reasonOf(r, all)
		}
	case domain.SubagentCompleted:
		if e.ChildID, e.ChildName = r.ChildID, r.Subagent; r.Kind != "" {
			call, _ := f.content.call(e.Step, f.content.spawned[r.ChildID])
			e.Error = errorIn(call.Error, r.Kind, r.Code)
		}
	case domain.HookEvent:
		if e.Hook, e.Trigger = r.Hook, r.Trigger; e.Type == domain.EventHookFailed {
			var ended contract.End // the execution ends with that error
			if newest := f.newest(all); newest.Ended != nil {
				ended = *newest.Ended
			}
			e.Error = errorIn(ended.Error, r.Kind, r.Code)
		}
	case domain.ExecutionEnded:
		if e.Ended = f.outcome(ctx, all); e.Ended == nil { // its event alone tells
			e.Ended = &contract.Outcome{
				AgentID: recorded.AgentID, ExecutionID: recorded.ExecutionID, Number: f.Number, Status: cmp.Or(r.Status, domain.StatusFailed),
				StopReason: r.StopReason, Kind: r.Kind, Code: r.Code, Steps: r.Steps, Usage: r.Usage, CostNanoUSD: r.CostNanoUSD,
			}
		}
	}
	return []Event{e}
}

// tellOfCall adds what is known of the call that an event is about.
func (f *follower) tellOfCall(e *Event, call domain.ToolExecution) {
	id := e.ToolExecutionID
	if e.Type == domain.EventToolCallStarted {
		f.moment.calls[id] = callMoment{step: e.Step, position: e.Position}
		e.Arguments = call.Args()
		for _, w := range call.Waits {
			if w.Answer != nil && !w.Answer.Always.IsZero() {
				e.Wait = &w
			}
		}
	}
	switch r := e.Recorded.Data.(type) {
	case domain.WaitOpened:
		f.tellOfWait(e, call, r.Kind)
		e.waits = call.Wait(r.Kind).Open()
		e.Wait.Answer, e.Wait.Expires = nil, r.ExpiresAt
	case domain.WaitClosed:
		if f.tellOfWait(e, call, r.Kind); r.Kind.Rule().Replies {
			e.Text = call.Value
		}
		if e.Wait.Answer == nil {
			e.Wait.Answer = &domain.Answer{Verdict: r.Verdict, By: r.By, At: e.Time, Always: r.Standing, Edited: r.Edited}
		}
	case domain.ToolCallRetried:
		e.Attempt = r.Attempt
	case domain.ToolCallCompleted:
		delete(f.moment.calls, id)
		if r.Kind != "" {
			e.Error = errorIn(call.Error, r.Kind, r.Code)
		}
	case domain.ToolCallBlocked:
		e.Arguments, e.Error = call.Args(), errorIn(call.Error, "", r.Code)
	case domain.SubagentSpawning:
		e.ChildID, e.ChildName = r.ChildID, r.Subagent
		f.content.spawned[r.ChildID] = id
	}
}

// tellOfWait adds what people are asked about a call.
func (f *follower) tellOfWait(e *Event, call domain.ToolExecution, kind domain.WaitKind) {
	w := call.Wait(kind)
	w.Kind = kind // where the step is not known any more
	if question, known := f.content.questions[e.ToolExecutionID]; known && kind.Rule().Replies {
		w.Ask = &question
	}
	arguments, digest := call.Args(), w.Runs()
	if e.Type == domain.EventWaitOpened && digest != w.Digest { // what a person made of it came later
		arguments, digest = w.Arguments, w.Digest
	}
	if e.Wait = &w; kind.Rule().Replies || digest == domain.CallDigest(call.Name(), arguments) { // else a hook has changed them, or those asked about were long
		e.Arguments = arguments
	}
}

// errorIn is an error of which only the kind and the code may be left.
func errorIn(known *domain.Error, kind domain.Kind, code domain.Code) *domain.Error {
	if known != nil && known.Code == code {
		return known
	}
	return &domain.Error{Kind: kind, Code: code}
}

// tellOfAnswer tells how an inference ended. What had arrived of another answer is withdrawn.
func (f *follower) tellOfAnswer(e Event, r domain.InferenceResponseReceived, head *account.Head) []Event {
	e.Usage, e.Outcome = r.Usage, contract.Answered
	if r.Kind != "" {
		outcomes := map[domain.Code]contract.ModelOutcome{domain.CodeInterrupted: contract.Interrupted, domain.CodeWorkerShutdown: contract.ShutDown}
		e.Error, e.Outcome = errorIn(head.InferenceFailure, r.Kind, r.Code), cmp.Or(outcomes[r.Code], contract.BilledFailure)
	}
	live := &f.moment.inference
	if live.summary {
		live.end()
		return []Event{e}
	}
	e.Attempt = live.attempt
	for _, m := range f.content.steps[e.Step].Step.Output {
		if m.Role == domain.RoleAssistant && m.CreatedAt.Equal(e.Time) {
			e.Text, e.Calls = m.Text(), m.ToolCalls
			break
		}
	}
	var told []Event
	shown, ok := live.text.within(e.Text)
	switch rest, cut := strings.CutPrefix(e.Text, "…"); {
	case ok && (e.Text != "" || live.text.shown == 0 && live.reasoning.shown == 0):
		e.Shown = shown
	case cut && strings.HasSuffix(live.text.last, rest): // its worker was lost, and its beginning with it
		e.Shown = len(e.Text)
	default:
		told = append(told, f.moment.withdraw(e.Error)...)
	}
	live.end()
	return append(told, e)
}

// newest is the execution that is followed, where it is the agent's newest; else it is zero.
func (f *follower) newest(all account.Account) (x account.Execution) {
	if newest := all.Head.Newest; newest != nil && newest.Number == f.Number {
		x = *newest
	}
	return x
}

// reasonOf is the sentence of a signal to stop, where that is still known.
func (f *follower) reasonOf(r domain.StopEvent, all account.Account) string {
	for _, signal := range slices.Backward(f.newest(all).Signals) {
		if signal.Reason == r.Reason && domain.Shorten(signal.Source, len(r.Source)) == r.Source {
			return signal.Message
		}
	}
	return ""
}

// message is one that waits, or waited, with what an event tells of it. The text of one that nobody remembers any more is read
// back from the conversation; that of one that was taken back is nowhere.
func (f *follower) message(ctx context.Context, told contract.WaitingView) *contract.WaitingView {
	if known, ok := f.content.messages[told.ID]; ok {
		return &known
	}
	all, err := f.client.account(ctx, f.id, messagesFrom(0))
	if err != nil {
		return &told
	}
	for _, entry := range all.Messages {
		if text := entry.Message.Text(); entry.Message.ID == told.ID {
			told.Bytes, told.Text = len(text), domain.Shorten(text, 200) // as of one that waits
			told.Cut = len(told.Text) < len(text)
		}
	}
	f.content.messages[told.ID] = told
	return &told
}
