package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/workflows/internal/mailbox"
)

// fire runs the hooks of a trigger, each on what the one before it made, and
// returns what is at hand then. A hook that fails ends the execution and is the
// last one that runs; so is one that forbids a call.
func fire[At any](t *stepRun, trigger domain.Trigger, at At) At {
	if t.config.Resolved == nil {
		return at
	}
	for _, spec := range t.config.Resolved.Hooks {
		if spec.Trigger != trigger {
			continue
		}
		var reply contract.HookReply
		var err error
		if spec.IO {
			reply, err = t.askHook(spec, at)
		} else {
			reply, err = recordedReply(t, spec, at)
		}
		if err == nil {
			err = t.takeReply(spec, reply)
		}
		if err != nil {
			t.failedBy(spec, err)
			return at
		}
		at = hook.Replaced(at, reply)
		if call, ok := any(at).(hook.Call); ok {
			if _, blocked := call.Blocked(); blocked {
				t.blockedBy(spec.Name)
				return at
			}
		}
	}
	return at
}

// fire runs the hooks of a trigger between two steps.
func (s *session) fire(trigger domain.Trigger) { fire(s.between(), trigger, hook.Nothing{}) }

// failedBy ends the execution: the error is its own, and nothing more starts.
func (t *stepRun) failedBy(spec contract.HookSpec, err error) {
	own := *hookError(err)
	own.Code, own.Source = domain.CodeHookFailed, spec.Name
	own.Message = domain.Shorten(fmt.Sprintf("hook %q at %s: %s", spec.Name, spec.Trigger, own.Message), domain.MaxReason)
	t.stopped, t.hooked.failed = true, true
	t.agent.emit(domain.EventHookFailed, domain.HookEvent{Hook: domain.Shorten(spec.Name, maxEventText), Trigger: spec.Trigger, Kind: own.Kind, Code: own.Code})
	t.agent.fail(&own)
}

func (t *stepRun) blockedByHook(message string) *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "blocked: %s", domain.Shorten(message, domain.MaxReason-16)).From(t.hooked.blocker)
}

// recordedReply is what a hook that is not an activity wants done, or why it failed. The hook runs once, and history holds what
// it wants; a replay takes that, and needs no hook. A worker that lacks the hook must not go on without it: the panic fails the
// workflow task, with a message that says what is missing, and a worker that has it goes on.
func recordedReply[At any](t *stepRun, spec contract.HookSpec, at At) (contract.HookReply, error) {
	id := "hook/" + string(spec.Trigger) + "/" + spec.Name
	given := hook.Context[At]{Trigger: spec.Trigger, Now: t.agent.now(), State: t.agent.shown().WithMessageStore(t.conversation.store()), At: at}
	hooks := t.session.hooks
	value := workflow.MutableSideEffect(t.session.root, id, func(ctx workflow.Context) any {
		reply, err := hook.Ask(must(hooks.known.Find(spec)), given)
		if panicked, ok := errors.AsType[*hook.Panic](err); ok {
			workflow.GetLogger(ctx).Error("a hook panicked", "hook", spec.Name, "trigger", string(spec.Trigger), "panic", panicked.Value, "stack", string(panicked.Stack))
			err = domain.Errorf(domain.Internal, "%s", panicked)
		}
		var encoded json.RawMessage
		if err == nil {
			encoded, err = json.Marshal(reply)
		}
		if err == nil {
			err = hooks.checkRoom(ctx, id, encoded)
		}
		if err != nil {
			encoded, _ = json.Marshal(contract.HookReply{Error: contract.Bounded(hookError(err))}) // texts can be encoded
		}
		return encoded
	}, func(now, last any) bool { return string(now.(json.RawMessage)) == string(last.(json.RawMessage)) })
	var encoded json.RawMessage
	var reply contract.HookReply
	if err := errors.Join(value.Get(&encoded), json.Unmarshal(encoded, &reply)); err != nil {
		panic(err) // a fault of this worker, as in must
	}
	hooks.recorded(t.session.root, id, encoded)
	if reply.Error != nil {
		return contract.HookReply{}, reply.Error
	}
	return reply, nil
}

// hookError is the error of a hook, which whoever wrote the hook wrote.
func hookError(err error) *domain.Error {
	if typed, ok := errors.AsType[*domain.Error](err); ok {
		return typed
	}
	return &domain.Error{Kind: domain.Invalid, Message: err.Error()}
}

// maxReplies bounds the replies of hooks that one workflow task records: the server refuses 4 MiB of all that it brings, for
// good, and the input of an activity may come with them.
const maxReplies = 2 << 20

// recordedSize is how many bytes a reply takes in history: the SDK writes it in base64, four bytes for three.
func recordedSize(reply []byte) int { return (len(reply) + 2) / 3 * 4 }

// hooks are those that the worker has, and what they have replied in this run. A reply that equals the last one of its hook is
// not recorded again.
type hooks struct {
	known hook.Set
	last  map[string]domain.Digest
	// bytes are those that the workflow task has recorded which had so many events before it, and began at that time.
	bytes  int
	events int
	began  time.Time
}

// inTask is how many bytes the workflow task has recorded so far.
func (h *hooks) inTask(ctx workflow.Context) int {
	events, now := workflow.GetInfo(ctx).GetCurrentHistoryLength(), workflow.Now(ctx)
	if events != h.events || now != h.began {
		h.bytes, h.events, h.began = 0, events, now
	}
	return h.bytes
}

// checkRoom refuses a reply that the workflow task has no room for.
func (h *hooks) checkRoom(ctx workflow.Context, id string, reply []byte) error {
	recorded := h.inTask(ctx)
	if size := recordedSize(reply); recorded+size > maxReplies && h.last[id] != domain.DigestOf(reply) {
		return domain.TooLargef("its reply takes %d bytes of history, and hooks have recorded %d in this workflow task already; at most %d are allowed: make replies smaller", size, recorded, maxReplies)
	}
	return nil
}

// recorded notes what a hook has replied.
func (h *hooks) recorded(ctx workflow.Context, id string, reply []byte) {
	if digest := domain.DigestOf(reply); h.last[id] != digest {
		h.bytes = h.inTask(ctx) + recordedSize(reply)
		h.last[id] = digest
	}
}

// takeReply does what a reply wants done to the state and the conversation.
func (t *stepRun) takeReply(spec contract.HookSpec, reply contract.HookReply) error {
	made, err := hook.Changed(t.agent.state, reply, t.agent.now())
	if err != nil {
		return err
	}
	if b := reply.Budget; b != nil && t.config.Resolved.Unpriced(*b) {
		return domain.Invalidf("it set max_cost, and nobody knows what %s costs", t.agent.state.LLMConfig)
	}
	for _, signal := range reply.Stops {
		signal.Source = spec.Name
		if made, err = made.WithStopSignal(signal, t.agent.now()); err != nil {
			return err
		}
		made = made.WithErrorOf(signal, t.agent.now())
	}
	if reply.Continue {
		if made, err = made.WithContinuationRequested(t.agent.now()); err != nil {
			return err
		}
	}
	if len(reply.Stops) > 0 {
		t.halt()
	}
	before := t.agent.state
	t.agent.adopt(made)
	for _, e := range reply.Messages() {
		t.interject(e.Section, e.Message)
	}
	t.agent.announce()
	// The rest of the session follows: the time limits, and the system prompt in
	// force. Another model or response format is resolved before the next step.
	if was, _ := before.Budget(); !was.SameTime(t.agent.budget()) {
		t.mail.WatchTime()
	}
	if prompt := t.agent.state.SystemPrompt; prompt != before.SystemPrompt {
		t.config.usePrompt(t.config.prompt())
	}
	return nil
}

// hookLosses is how many workers one hook may lose that sets no attempts.
const hookLosses = 3

// askHook runs a hook that is an activity. It is asked again where its worker was lost: that is the one that is no longer heard of,
// not the one that is late. One that a stop cut off has no say, and a gentle stop lets it have its say.
func (t *stepRun) askHook(spec contract.HookSpec, at any) (none contract.HookReply, _ error) {
	t.agent.note(fmt.Sprintf("hook %s at %s", spec.Name, spec.Trigger))
	request := t.hookRequest(spec, at)
	if err := t.weigh(request); err != nil {
		return none, err
	}
	if spec.Trigger == domain.TriggerBeforeToolUse || spec.Trigger == domain.TriggerAfterToolUse {
		t.keep() // calls that have begun are seen while it waits, and as hooks have left those that are over
	}
	t.agent.emit(domain.EventHookCalled, domain.HookEvent{Hook: domain.Shorten(spec.Name, maxEventText), Trigger: spec.Trigger})
	admission, _ := t.mail.Admit(mailbox.ForHook)
	policy := t.session.policy
	options := policy.briefOptions(spec.TimeLimit(), max(spec.Attempts, 1), fmt.Sprintf("hook %s · %s", spec.Name, spec.Trigger))
	reply, err := retry(admission, options, contract.CallHook, &request, func(failed int, err error) bool {
		t.mail.DrainSignals()
		timeout, ok := errors.AsType[*temporal.TimeoutError](err)
		if lost := ok && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT; !lost || spec.Attempts != 0 || request.Lost+1 >= hookLosses {
			return policy.askAnother(errorOf(err), failed-request.Lost, t.mail.Ending() && t.mail.CutOff(), t.mail.BackOff)
		}
		request.Lost++
		return t.mail.BackOff(policy.withJitter(policy.backoff(request.Lost), request.Lost, 0))
	})
	switch {
	case err == nil:
		t.mail.DrainSignals()
		return *reply, t.weigh(*reply)
	case t.mail.Interrupted() && (request.Lost > 0 || temporal.IsCanceledError(err) || errorOf(err).Lacking):
		return none, nil
	}
	return none, errorOf(err)
}

func (t *stepRun) hookRequest(spec contract.HookSpec, at any) contract.HookRequest {
	state := t.agent.state
	request := contract.HookRequest{
		Hook: spec, AgentID: t.session.in.AgentID, ExecutionID: state.Execution.ID, Number: state.ExecutionCount,
		Step: t.content.Number, Metadata: state.Metadata, Trusted: state.Trusted(), Steps: state.StepCount(), Usage: state.Usage(),
	}
	if signal, ok := state.StopSignal(); ok {
		request.Signal = &signal
	}
	switch at := at.(type) {
	case hook.Answer:
		request.Answer, request.Response = &at.Message, &at.Response
	case hook.Call:
		request.Call, request.ToolExecutionID = &at.Call, t.content.ID.Tool(at.Position)
	case hook.Result:
		request.Result = &at.Execution
	case hook.Failure:
		request.Error = &at.Error
	}
	return request
}
