package testsuite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/activities/scripted"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/workflows"
)

// The agents of tests: their ids, and those below them, are the same each time.
const (
	agentID   = "0e9a4f0c-7c52-4c8a-9b1e-2f6f5f0d3c11"
	agentName = "test"
)

const (
	// How long a run may do nothing, in real time and where time is skipped.
	realPatience    = 10 * time.Minute
	skippedPatience = 365 * 24 * time.Hour
	// closeAgain is between two tries to close a session that is at work.
	closeAgain = time.Second
)

// Run gives a new agent a prompt and returns when it has ended. An execution
// that fails or is stopped is a result like any other; what cannot run at all,
// such as an empty prompt, ends the test.
//
// Unless Config.RealTime is set, it runs in a bubble of package testing/synctest,
// which panics where a tool leaves a goroutine behind.
func (e *Env) Run(prompt string, events ...Event) Run {
	e.t.Helper()
	var result Run
	var err error
	if e.config.RealTime {
		result, err = e.run(prompt, events)
	} else {
		synctest.Test(e.t, func(*testing.T) { result, err = e.run(prompt, events) })
	}
	if err != nil {
		e.t.Fatalf("testsuite: %v", err)
	}
	return result
}

// A stage is one run of the workflow in memory.
type stage struct {
	env    *testsuite.TestWorkflowEnvironment
	bridge *bridge
	failed []error        // what the test's events met
	heard  []domain.Event // as a listener gets them
}

func (e *Env) run(prompt string, events []Event) (_ Run, err error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent)
	s := &stage{env: suite.NewTestWorkflowEnvironment(), bridge: newBridge()}
	model := &recorder{Provider: e.script}
	provider := e.config.Provider
	if provider == nil {
		provider = model
	}
	acts, err := activities.New(activities.Config{
		Providers:   map[string]inference.Provider{e.definition.Model.Provider: provider},
		Tools:       e.tools,
		Transcripts: &transcript.Source{Cache: s.bridge.cache, Client: nobody{}},
		Hooks:       e.hooks,
		Compilers:   e.config.Compilers,
		Approvals:   domain.ApprovalsOf("allow"),
	})
	if err != nil {
		return Run{}, err
	}
	// In real time a busy machine must not look like a deadlock.
	patience := skippedPatience
	if e.config.RealTime {
		patience = realPatience
	}
	s.env.SetWorkerOptions(worker.Options{Interceptors: append([]interceptor.WorkerInterceptor{s.bridge}, e.config.Interceptors...), DeadlockDetectionTimeout: patience})
	s.env.SetTestTimeout(patience)
	workflows.Register(s.env, workflows.Options{Hooks: e.hooks, Emit: func(event domain.Event) { s.heard = append(s.heard, event) }})
	acts.Register(s.env)

	in, err := e.input(prompt, events)
	if err != nil {
		return Run{}, err
	}
	s.schedule(events, in.Name != "")
	s.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: in.WorkflowID()})
	s.env.ExecuteWorkflow(string(contract.Execute), in)
	if len(s.failed) > 0 {
		return Run{}, s.failed[0]
	}
	var ended contract.Outcome
	if err := s.env.GetWorkflowResult(&ended); err != nil {
		return Run{}, err
	}
	result, err := s.read()
	result.Asked, result.Heard, result.sections = model.asked(), s.heard, e.definition.Sections
	return result, err
}

func (e *Env) input(prompt string, events []Event) (contract.SessionInput, error) {
	in := contract.SessionInput{Definition: e.definition, Prompt: prompt, Budget: e.config.Budget}
	id := agentID
	if slices.ContainsFunc(events, func(e Event) bool { return e.session }) {
		id, in.Name = agentName, agentName
	}
	var err, wrong error
	in.AgentID, err = domain.AgentIDOf(id)
	in.Options, wrong = domain.NewStartOptions(e.config.Metadata, e.config.Messages, e.config.Trusted)
	return in, cmp.Or(domain.CheckPrompt(prompt), in.Budget.Check(), err, wrong)
}

// schedule arranges for the events, and for the end of a session after them.
func (s *stage) schedule(events []Event, session bool) {
	var last time.Duration
	for i, event := range events {
		last = max(last, event.after)
		s.env.RegisterDelayedCallback(func() {
			switch {
			case event.kill:
				s.bridge.kill()
				return
			case event.stop != nil:
				s.env.SignalWorkflow(string(contract.SignalStop), *event.stop)
				return
			}
			update, request := event.update, event.request
			if event.word != nil {
				var err error
				if update, request, err = event.word(s); err != nil {
					s.failed = append(s.failed, fmt.Errorf("after %s: %w", event.after, err))
					return
				}
			}
			s.env.UpdateWorkflow(update, fmt.Sprint(update, " ", i), answered(func(err error) {
				s.failed = append(s.failed, fmt.Errorf("%s after %s: %w", update, event.after, err))
			}), request)
		}, event.after)
	}
	if session {
		s.closeAfter(last+closeAgain, 1)
	}
}

// closeAfter ends the session as soon as it is idle.
func (s *stage) closeAfter(delay time.Duration, try int) {
	s.env.RegisterDelayedCallback(func() {
		s.env.UpdateWorkflow(string(contract.UpdateClose), fmt.Sprint("close ", try), answered(func(error) {
			s.closeAfter(closeAgain, try+1)
		}), contract.CloseRequest{})
	}, delay)
}

func (s *stage) read() (run Run, _ error) {
	all, err := s.account(account.Executions, account.Steps, account.Events, account.Messages)
	if err != nil {
		return run, err
	}
	for _, told := range all.Executions {
		e := Execution{Outcome: told.Outcome}
		if told.Ended != nil {
			e.Answer, e.Error = told.Ended.Answer, told.Ended.Error
		}
		for _, step := range all.Steps {
			if step.Execution == told.Number {
				e.Steps = append(e.Steps, step.StepExecution)
			}
		}
		for _, event := range all.Events {
			if event.ExecutionID == told.ExecutionID {
				e.Events = append(e.Events, event)
			}
		}
		run.Executions, run.Execution = append(run.Executions, e), e
	}
	run.entries = all.Messages
	for _, entry := range all.Messages {
		run.Messages = append(run.Messages, entry.Message)
	}
	return run, nil
}

// account reads parts of the agent's account.
func (s *stage) account(want ...account.Part) (account.Account, error) {
	all, _, err := account.ReadRun(account.Request{Want: want}, func(request account.Request) (page account.Page, err error) {
		value, err := s.env.QueryWorkflow(string(account.Query), request)
		if err == nil {
			err = value.Get(&page)
		}
		return page, err
	})
	return all, err
}

// answered is told when an update was refused or failed.
type answered func(error)

func (answered) Accept()            {}
func (a answered) Reject(err error) { a(err) }
func (a answered) Complete(_ any, err error) {
	if err != nil {
		a(err)
	}
}

type recorder struct {
	*scripted.Provider

	mu    sync.Mutex
	calls []inference.Call
}

func (r *recorder) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	r.mu.Lock()
	kept := call
	kept.Sent = nil
	r.calls = append(r.calls, kept)
	r.mu.Unlock()
	return r.Provider.Infer(ctx, call, emit)
}

func (r *recorder) asked() []inference.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// nobody is there to be asked for a transcript: the bridge has fed it already.
type nobody struct{}

func (nobody) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	return nil, serviceerror.NewQueryFailed("there is no server in memory")
}

// silent logs nothing: a test says itself what matters to it.
var silent = log.NewStructuredLogger(slog.New(slog.DiscardHandler))

// An Event happens to an agent while it runs.
type Event struct {
	after time.Duration
	stop  *contract.StopRequest
	// update and request are what is asked where it is no stop.
	update  string
	request any
	// word finds what is asked where it depends on what waits.
	word func(*stage) (update string, request any, err error)
	// kill has the worker die.
	kill bool
	// session makes the agent one that stays open.
	session bool
}

// StopAt asks the execution to stop, some time after the agent began.
func StopAt(after time.Duration, mode contract.StopMode) Event {
	return Event{after: after, stop: &contract.StopRequest{Mode: mode, Reason: "the test stops it"}}
}

// SendAt gives the agent its next message, some time after it began. The agent
// is then a session, and closed after its last execution. A message that meets
// an execution in progress is refused, which ends the test: send it later.
func SendAt(after time.Duration, prompt string) Event {
	return updateAt(after, contract.UpdateSend, contract.SendRequest{Prompt: prompt}, true)
}

// SteerAt gives the execution in progress a message, some time after the agent began. It joins the conversation before
// the next step.
func SteerAt(after time.Duration, prompt string) Event {
	return updateAt(after, contract.UpdateSend, contract.SendRequest{Prompt: prompt, IfBusy: contract.SteerIfBusy}, false)
}

// QueueAt gives a session a message, some time after it began, that begins an execution of its own once the one in progress
// has ended. The agent is then a session, as with SendAt.
func QueueAt(after time.Duration, prompt string) Event {
	return updateAt(after, contract.UpdateSend, contract.SendRequest{Prompt: prompt, IfBusy: contract.QueueIfBusy}, true)
}

// UnsendAt takes the only message back that waits, some time after the agent began.
func UnsendAt(after time.Duration) Event {
	return updateAt(after, contract.UpdateUnsend, contract.UnsendRequest{}, false)
}

// ClearAt drops the conversation of an idle session for what its model sees. The agent is then a session, as with SendAt.
func ClearAt(after time.Duration) Event {
	return updateAt(after, contract.UpdateClear, contract.ClearRequest{}, true)
}

// KillAt kills the worker some time after the agent began: what the model and the tools are doing at that time is lost, though
// a tool may have taken effect. Another worker goes on.
func KillAt(after time.Duration) Event { return Event{after: after, kill: true} }

// ExtendAt gives the execution in progress new totals, some time after the
// agent began.
func ExtendAt(after time.Duration, totals domain.ExecutionBudget) Event {
	return updateAt(after, contract.UpdateExtend, contract.ExtendRequest{Budget: totals}, false)
}

// GoOnAt goes on from an execution that has stopped or failed, with new totals.
// The agent is then a session, as with SendAt.
func GoOnAt(after time.Duration, totals domain.ExecutionBudget) Event {
	return updateAt(after, contract.UpdateExtend, contract.ExtendRequest{Budget: totals}, true)
}

// PauseAt lets nothing new start, some time after the agent began.
func PauseAt(after time.Duration) Event {
	return updateAt(after, contract.UpdatePause, contract.PauseRequest{}, false)
}

// ResumeAt ends a pause, some time after the agent began.
func ResumeAt(after time.Duration) Event {
	return updateAt(after, contract.UpdateResume, contract.PauseRequest{}, false)
}

// ResolveAt says what the oldest call of unknown outcome really did, some time after the agent began, and what
// it answered, where it was done. That there is none at that time ends the test.
func ResolveAt(after time.Duration, verdict domain.Verdict, result string) Event {
	return wordAt(after, "", contract.AnswerRequest{Verdict: verdict, Text: result, Reason: "the test says so"}, errors.New("ResolveAt: there is no call of unknown outcome at that time"))
}

// updateAt does not compile where the request is not the update's.
func updateAt[In, Out any](after time.Duration, update contract.Update[In, Out], request In, session bool) Event {
	return Event{after: after, update: string(update), request: request, session: session}
}
