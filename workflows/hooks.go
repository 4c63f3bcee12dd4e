package workflows

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/hook"
	"everstep/workflows/internal/mailbox"
)

// fire runs the hooks of a trigger, each on what the one before it made, and
// returns what is at hand then. A hook that fails ends the execution and is the
// last one that runs; so is one that forbids a call.
func fire[At any](s *session, trigger domain.Trigger, at At) At {
	if s.resolved == nil {
		return at
	}
	for _, spec := range s.resolved.Hooks {
		if spec.Trigger != trigger {
			continue
		}
		next, err := runHook(s, spec, at)
		if err != nil {
			s.hookFailed(spec, err)
			return at
		}
		at = next
		if call, ok := any(at).(hook.Call); ok {
			if _, blocked := call.Blocked(); blocked {
				s.step.blocker = spec.Name
				return at
			}
		}
	}
	return at
}

// runHook runs one hook and takes over what it did.
func runHook[At any](s *session, spec domain.HookSpec, at At) (At, error) {
	h := s.hook(spec)
	if spec.IO {
		reply, err := s.askHook(spec, at)
		if err != nil {
			return at, err
		}
		return adopt(s, spec, at, reply)
	}
	given := hook.Context[At]{Trigger: spec.Trigger, Now: s.now(), State: s.whole(), At: at}
	made, err := hook.Run(h, given)
	if err != nil {
		return at, err
	}
	if err := hook.CheckAt(at, made.At); err != nil {
		return at, err
	}
	if err := s.take(spec, given.State, made.State, made.Stops(), made.Continues()); err != nil {
		return at, err
	}
	return made.At, nil
}

// hook finds the hook that the execution recorded. A worker that has another
// one must not go on: the panic fails the workflow task, with a message that
// says what is missing, and a worker that has it goes on.
func (s *session) hook(spec domain.HookSpec) hook.Hook {
	h, err := s.options.Hooks.Find(spec)
	if err != nil {
		panic(err)
	}
	return h
}

// requireHooks fails the workflow task unless the worker has all the hooks of
// the execution, before any of them is due.
func (s *session) requireHooks() {
	if s.resolved == nil {
		return
	}
	for _, spec := range s.resolved.Hooks {
		s.hook(spec)
	}
}

// take makes what a hook did to the state that of the session.
func (s *session) take(spec domain.HookSpec, given, made domain.AgentState, stops []domain.StopSignal, goOn bool) error {
	if err := hook.CheckChange(given, made); err != nil {
		return err
	}
	if budget, _ := made.Budget(); budget.MaxCostNanoUSD != nil && *budget.MaxCostNanoUSD > 0 && s.resolved.Price == nil {
		return domain.Errorf(domain.Invalid, "it set max_cost, and nobody knows what %s costs", s.state.LLMConfig())
	}
	var err error
	for _, signal := range stops {
		signal.Source = spec.Name
		signal.Message = domain.Shorten(signal.Message, domain.MaxReason)
		if made, err = made.WithStopSignal(signal, s.now()); err != nil {
			return err
		}
	}
	if err := hook.CheckState(given, made); err != nil {
		return err
	}
	if goOn {
		if made, err = made.WithContinuationRequested(s.now()); err != nil {
			return err
		}
	}
	if added := made.StopSignals()[len(given.StopSignals()):]; len(added) > 0 {
		for _, signal := range added {
			made = made.WithErrorOf(signal, s.now())
		}
		if s.step != nil {
			s.step.halts++
		}
	}
	before := s.state
	s.adopt(made)
	for _, e := range made.AddedSince(given) {
		s.interject(e.Message, e.Section)
	}
	s.announce(s.state)
	s.follow(before)
	return nil
}

// whole is the state with the messages that this run holds. They are gathered
// once for as long as the transcript stays the same.
func (s *session) whole() domain.AgentState {
	if ref := s.conversation.Log().Ref(); s.gathered.ref != ref || ref.Length == 0 {
		s.gathered.ref, s.gathered.store = ref, domain.StoreOf(s.conversation.Log())
	}
	return s.state.WithMessageStore(s.gathered.store)
}

// follow brings the rest of the session in line with a state that a hook has
// changed: the time limits, and the system prompt in force. Another model or
// response format is resolved before the next step.
func (s *session) follow(before domain.AgentState) {
	if was, _ := before.Budget(); !sameTime(was, s.budget()) {
		s.mail.WatchTime()
	}
	prompt := s.state.SystemPrompt()
	if r := s.resolved; r != nil && prompt != before.SystemPrompt() {
		changed := *r
		changed.Definition.SystemPrompt = prompt
		changed.Digest = domain.DigestOf([]byte(r.Digest.String()), []byte(prompt))
		s.resolved = &changed
	}
}

// hookFailed ends the execution: the error is its own, and nothing more starts.
func (s *session) hookFailed(spec domain.HookSpec, err error) {
	// Whoever wrote the hook wrote its error.
	own := domain.Error{Kind: domain.Invalid, Message: err.Error()}
	if typed, ok := errors.AsType[*domain.Error](err); ok {
		own = *typed
	}
	own.Code, own.Source = domain.CodeHookFailed, spec.Name
	own.Message = domain.Shorten(fmt.Sprintf("hook %q, version %d, at %s: %s", spec.Name, spec.Version, spec.Trigger, own.Message), domain.MaxReason)
	if s.step != nil {
		s.step.halts++
		s.step.hookFailed = true
	}
	s.fail(&own)
}

// askHook runs a hook that is an activity. One that a stop cut off has no say.
func (s *session) askHook(spec domain.HookSpec, at any) (domain.HookReply, error) {
	s.note(fmt.Sprintf("hook %s at %s", spec.Name, spec.Trigger))
	request := s.hookRequest(spec, at)
	if err := s.weigh(request); err != nil {
		return domain.HookReply{}, err
	}
	permit, _ := s.mail.Permit(mailbox.ForHook)
	reply, err := mailbox.Await(permit, s.hookActivity(spec), domain.CallHook, request)
	s.mail.Drain()
	switch {
	case err == nil:
		return reply, s.weigh(reply)
	case temporal.IsCanceledError(err) && s.mail.Interrupted():
		return domain.HookReply{}, nil
	}
	return domain.HookReply{}, failureOf(err)
}

// maxHooked bounds what the hooks of one step that are activities may put into
// history, which only a new run takes off. Nothing is left out to stay below it:
// a hook that sees a part only would let the rest pass.
const maxHooked = 8 << 20

// weigh counts what a hook that is an activity gets or answers.
func (s *session) weigh(value any) error {
	encoded, err := json.Marshal(value)
	if err != nil || s.step == nil {
		return err
	}
	if s.step.hooked += len(encoded); s.step.hooked > maxHooked {
		return domain.Errorf(domain.TooLarge, "the hooks of one step that are activities may get and answer %d bytes together; let a hook that needs no I/O do it, or make results smaller", maxHooked)
	}
	return nil
}

// hookActivity are the options of a hook that is an activity.
func (s *session) hookActivity(spec domain.HookSpec) workflow.ActivityOptions {
	timeout := spec.Timeout
	if timeout == 0 {
		timeout = domain.DefaultHookTimeout
	}
	options := s.activityOptions(timeout, max(spec.Attempts, 1), fmt.Sprintf("hook %s · %s", spec.Name, spec.Trigger))
	options.WaitForCancellation = false
	return options
}

// sameTime reports whether two budgets have the same time limits.
func sameTime(a, b domain.ExecutionBudget) bool {
	same := a.MaxSeconds == b.MaxSeconds || a.MaxSeconds != nil && b.MaxSeconds != nil && *a.MaxSeconds == *b.MaxSeconds
	return same && (a.Deadline == b.Deadline || a.Deadline != nil && b.Deadline != nil && a.Deadline.Equal(*b.Deadline))
}
