package workflows

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/domain/progress"
	"everstep/workflows/internal/mailbox"
)

// fire runs the hooks of a trigger, each on what the one before it made, and
// returns what is at hand then. A hook that fails ends the execution and is the
// last one that runs; so is one that forbids a call.
func fire[At any](t *stepRun, trigger domain.Trigger, at At) At {
	if t.resolved == nil {
		return at
	}
	for _, spec := range t.resolved.Hooks {
		if spec.Trigger != trigger {
			continue
		}
		next, err := runHook(hookRun{t, spec}, at)
		if err != nil {
			t.failedBy(spec, err)
			return at
		}
		at = next
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
func (s session) fire(trigger domain.Trigger) {
	if s.resolved != nil && len(s.resolved.Hooks) > 0 {
		fire(s.between(), trigger, hook.Nothing{})
	}
}

// failedBy ends the execution: the error is its own, and nothing more starts.
func (t *stepRun) failedBy(spec contract.HookSpec, err error) {
	// Whoever wrote the hook wrote its error.
	own := domain.Error{Kind: domain.Invalid, Message: err.Error()}
	if typed, ok := errors.AsType[*domain.Error](err); ok {
		own = *typed
	}
	own.Code, own.Source = domain.CodeHookFailed, spec.Name
	own.Message = domain.Shorten(fmt.Sprintf("hook %q, version %d, at %s: %s", spec.Name, spec.Version, spec.Trigger, own.Message), domain.MaxReason)
	t.hookFailed()
	t.fail(&own)
}

// An editedCall waits for the hooks' say about what a person has made of it.
type editedCall struct {
	position int
	call     domain.ToolCall
	reviewed bool
	verdict  *domain.Error
}

func (e *editedCall) take(verdict *domain.Error) { e.reviewed, e.verdict = true, verdict }

// reviewEdit lets hooks see a call that a person has edited, as they see each call before it runs: in the main coroutine,
// where hooks run, while that of the call waits.
func (b *toolBatch) reviewEdit(ctx workflow.Context, i int, call domain.ToolCall) *domain.Error {
	edited := &editedCall{position: i, call: call}
	b.edits = append(b.edits, edited)
	_ = workflow.Await(ctx, func() bool { return edited.reviewed })
	return edited.verdict
}

func (b *toolBatch) reviewEdits() {
	edits := b.edits
	b.edits = nil
	for _, e := range edits {
		if b.halted { // a hook that has failed was the last one
			e.take(progress.NotBegun())
			continue
		}
		made := fire(b.stepRun, domain.TriggerBeforeToolUse, hook.Call{Position: e.position, Call: e.call})
		message, blocked := made.Blocked()
		switch {
		case blocked:
			e.take(b.blockedByHook(message))
		case made.Call.Name != e.call.Name || made.Call.Arguments != e.call.Arguments:
			e.take(domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "blocked: a hook would have changed what a person had given; nobody has approved that"))
		default:
			e.take(nil)
		}
	}
}

func (b *toolBatch) blockedByHook(message string) *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "blocked: %s", domain.Shorten(message, domain.MaxReason-16)).From(b.hooked.blocker)
}

type hookRun struct {
	*stepRun
	spec contract.HookSpec
}

func runHook[At any](r hookRun, at At) (At, error) {
	h := r.hook(r.spec)
	var reply contract.HookReply
	var err error
	if r.spec.IO {
		if reply, err = r.ask(at); err != nil {
			return at, err
		}
	}
	state := r.state
	if !r.spec.IO {
		state = r.shown()
	}
	given := hook.Context[At]{Trigger: r.spec.Trigger, Now: r.now(), State: state.WithMessageStore(r.talk.store()), At: at}
	made := given
	if r.spec.IO {
		made, err = hook.Adopt(given, reply)
	} else if made, err = hook.Run(h, given); err == nil {
		err = hook.CheckAt(at, made.At)
	}
	if err == nil {
		err = r.take(given.State, made.State, made.Stops(), made.Continues())
	}
	if err != nil {
		return at, err
	}
	return made.At, nil
}

// take makes what a hook did to the state that of the session.
func (r hookRun) take(given, made domain.AgentState, stops []domain.StopSignal, goOn bool) error {
	if err := hook.CheckChange(given, made); err != nil {
		return err
	}
	if budget, _ := made.Budget(); budget.MaxCostNanoUSD != nil && *budget.MaxCostNanoUSD > 0 && r.resolved.Price == nil {
		return domain.Errorf(domain.Invalid, "it set max_cost, and nobody knows what %s costs", r.state.LLMConfig())
	}
	var err error
	for _, signal := range stops {
		signal.Source = r.spec.Name
		signal.Message = domain.Shorten(signal.Message, domain.MaxReason)
		if made, err = made.WithStopSignal(signal, r.now()); err != nil {
			return err
		}
	}
	if err := hook.CheckState(given, made); err != nil {
		return err
	}
	if goOn {
		if made, err = made.WithContinuationRequested(r.now()); err != nil {
			return err
		}
	}
	if added := made.StopSignals()[len(given.StopSignals()):]; len(added) > 0 {
		for _, signal := range added {
			made = made.WithErrorOf(signal, r.now())
		}
		r.halt()
	}
	before := r.state
	r.adopt(made)
	for _, e := range made.AddedSince(given) {
		r.interject(e.Section, e.Message)
	}
	r.announce(r.state)
	// The rest of the session follows: the time limits, and the system prompt in
	// force. Another model or response format is resolved before the next step.
	if was, _ := before.Budget(); !was.SameTime(r.budget()) {
		r.mail.WatchTime()
	}
	if prompt := r.state.SystemPrompt(); prompt != before.SystemPrompt() {
		r.prompted(r.prompt())
	}
	return nil
}

// ask runs a hook that is an activity. One that a stop cut off has no say.
func (r hookRun) ask(at any) (contract.HookReply, error) {
	r.note(fmt.Sprintf("hook %s at %s", r.spec.Name, r.spec.Trigger))
	request := r.request(at)
	if err := r.weigh(request); err != nil {
		return contract.HookReply{}, err
	}
	if r.phase == inTools {
		r.keep() // calls that have begun are seen while it waits
	}
	permit, _ := r.mail.Permit(mailbox.ForHook)
	var reply *contract.HookReply
	var err error
	for asked, again := 1, true; again; asked++ {
		options := r.hookOptions(r.spec)
		options.DisableEagerExecution = asked > 1
		reply, err = mailbox.Await(permit, options, contract.CallHook, request)
		r.mail.DrainSignals()
		if again = r.lostAgain(err, request.Lost); again {
			request.Lost++
			again = r.mail.BackOff(r.apart(r.backoff(request.Lost), request.Lost, 0))
			continue
		}
		again = err != nil && r.askAnother(lossOf(err).Err(), asked-request.Lost, r.asHook())
	}
	switch {
	case err == nil:
		return *reply, r.weigh(*reply)
	case r.mail.Interrupted() && (request.Lost > 0 || temporal.IsCanceledError(err) || lossOf(err).Err().Lacking):
		return contract.HookReply{}, nil
	}
	return contract.HookReply{}, lossOf(err).Err()
}

// hookLosses is how many workers one hook may lose that sets no attempts.
const hookLosses = 3

// lostAgain reports whether the hook is asked again, after so many lost workers before: the
// worker is lost that is no longer heard of, not the one that is late.
func (r hookRun) lostAgain(err error, lost int) bool {
	timeout, ok := errors.AsType[*temporal.TimeoutError](err)
	return ok && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT && r.spec.Attempts == 0 && lost+1 < hookLosses
}

func (r hookRun) request(at any) contract.HookRequest {
	execution, _ := r.state.Execution()
	request := contract.HookRequest{
		Hook: r.spec, AgentID: r.in.AgentID, ExecutionID: execution.ID(), Number: r.state.ExecutionCount(),
		Step: r.content.Number, Metadata: r.state.Metadata(), Trusted: r.state.Trusted(), Steps: r.state.StepCount(), Usage: r.state.Usage(),
	}
	if signal, ok := r.state.StopSignal(); ok {
		request.Signal = &signal
	}
	switch at := at.(type) {
	case hook.Answer:
		request.Answer, request.Response = &at.Message, &at.Response
	case hook.Call:
		request.Call, request.ToolExecutionID = &at.Call, r.content.ID.Tool(at.Position)
	case hook.Result:
		request.Result = &at.Execution
	case hook.Failure:
		request.Error = &at.Error
	}
	return request
}
