package workflows_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/workflows"
)

// TestTheLawsHoldInEveryWorld that can be drawn, in ten parts of -rapid.checks each; with -short in a thousand worlds, which are the
// same each time. A failure prints what happened, in order; rapid says how to play it again.
func TestTheLawsHoldInEveryWorld(t *testing.T) {
	t.Parallel()
	for part := range 10 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				worlds := rapid.Custom(drawPlan)
				for n := range 100 {
					requireLaws(t, t, worlds.Example(100*part+n))
				}
				return
			}
			rapid.Check(t, func(draw *rapid.T) { requireLaws(t, draw, drawPlan(draw)) })
		})
	}
}

func requireLaws(t *testing.T, fails interface {
	Fatalf(format string, args ...any)
}, drawn plan) {
	t.Helper()
	s := newSimulation(t, drawn)
	s.play()
	for _, law := range laws() {
		if err := law.holds(s); err != nil {
			fails.Fatalf("the law is broken that %s: %s\n\n%s", law.name, err, strings.Join(s.story, "\n"))
		}
	}
}

// TestAWorldHasOneStory, however often it is played.
func TestAWorldHasOneStory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(draw *rapid.T) {
		drawn := drawPlan(draw)
		first, again := newSimulation(t, drawn), newSimulation(t, drawn)
		first.play()
		again.play()
		require.Equal(draw, first.story, again.story)
	})
}

// A simulation is one agent in a world that was drawn: what its model answers, what becomes of its calls, which workers die,
// what people do when, and where its runs end. It plays all runs of the agent, each in an environment of its own, and records
// what happened. All of it is done in the workflow's own coroutines and time, so that the same plan is the same story.
type simulation struct {
	plan
	t     *testing.T
	hooks hook.Set
	env   *testsuite.TestWorkflowEnvironment
	began time.Time
	// counted counts all that is recorded, turns the inferences of each agent, and made the attempts at calls.
	counted, made int
	turns         map[string]int
	// inferences are those of the run that is played.
	inferences int
	children   []string
	// terminated are sub-agents that the server has ended in the middle.
	terminated []string
	// resting says that nothing more is planned, so that whoever is left is sent home.
	resting bool

	asked     []asked
	ran       []called
	requests  []*personRequest
	views     []view
	handovers []handover
	// wrong is what could not be read, or did not come to rest.
	wrong []string
	// entries, executions, steps and events are those of the agent over all runs, accounts those of its sub-agents.
	entries    []domain.Entry
	executions []account.Execution
	events     []domain.Event
	accounts   map[string]account.Account
	// last is what the agent said of itself in the end, verified are the calls of which a tool has said what became of them.
	last     account.Head
	verified map[domain.ToolExecutionID]domain.Verdict
	// owners are the executions that have started those of sub-agents.
	owners map[domain.ExecutionID]domain.ExecutionID
	story  []string
}

// An asked is one inference, as its provider saw it.
type asked struct {
	at time.Duration
	// attempt counts those that the server has made of it.
	seq, attempt int
	agent        string
	request      contract.ModelRequest
	// used is what the provider counts, of which the workflow has been told where it heard of the answer.
	used  domain.Usage
	heard bool
}

// A called is one attempt at a call, as its tool saw it.
type called struct {
	at      time.Duration
	seq     int
	agent   string
	request contract.ToolRequest
	// begun says that the call may have taken effect, effect that it has. Where the workflow was not told, the attempt is lost.
	begun, effect, lost bool
}

// A personRequest is what somebody has asked of an agent.
type personRequest struct {
	at       time.Duration
	seq      int
	id, what string
	agent    string
	request  any
	shown    domain.Wait
	// executionID is of the execution in progress when it came, step the newest that it had begun.
	executionID domain.ExecutionID
	step        int
	// again is the request that came with the same id before.
	again *personRequest
	verdict
}

func (w *personRequest) taken() bool {
	return w.accepted && w.rejected == nil && w.err == nil && w.value != nil
}

// A view is what somebody has seen of the agent.
type view struct {
	at   time.Duration
	seq  int
	head account.Head
	idle bool
}

// A handover is where a run ends and the next begins.
type handover struct {
	seq    int
	bytes  int
	before account.Head
	// after is absent where the next run was over at once.
	after *account.Head
}

const (
	// restsAfter is when all that was planned is over, however long anything waits.
	restsAfter = 90 * 24 * time.Hour
	// sweeps is how often whoever is left is asked to end after that.
	sweeps = 60
)

func newSimulation(t *testing.T, p plan) *simulation {
	t.Helper()
	s := &simulation{plan: p, t: t, turns: map[string]int{}, accounts: map[string]account.Account{}, verified: map[domain.ToolExecutionID]domain.Verdict{}}
	var err error
	s.hooks, err = hook.NewSet(p.hooks...)
	require.NoError(t, err)
	return s
}

func (s *simulation) tell(who, format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf("%12s  %-14s %s", s.now().Round(time.Millisecond), who, fmt.Sprintf(format, args...)))
}

// now is the time since the agent began.
func (s *simulation) now() time.Duration { return s.env.Now().Sub(s.began) }

func (s *simulation) next() int { s.counted++; return s.counted }

// play plays the agent to its end.
func (s *simulation) play() {
	in, started := s.input, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.began = started
	for run := 0; run < 50; run++ {
		s.environment(started, run)
		s.tell("server", "run %d begins", run+1)
		execute(s.env, in)
		s.gather()
		continued, ok := errors.AsType[*workflow.ContinueAsNewError](s.env.GetWorkflowError())
		if !ok {
			if err := s.env.GetWorkflowError(); err != nil {
				s.wrong = append(s.wrong, fmt.Sprint("the workflow ended by ", err))
			}
			return
		}
		in = contract.SessionInput{}
		require.NoError(s.t, converter.GetDefaultDataConverter().FromPayloads(continued.Input, &in))
		s.handovers = append(s.handovers, handover{seq: s.next(), bytes: len(continued.Input.Payloads[0].Data), before: s.head()})
		started = s.env.Now()
	}
	s.wrong = append(s.wrong, "the agent did not end in 50 runs")
}

// environment prepares one run.
func (s *simulation) environment(started time.Time, run int) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet())
	s.env = suite.NewTestWorkflowEnvironment()
	ownTime(s.env)
	s.env.SetStartTime(started)
	workflows.Register(s.env, workflows.Options{Hooks: s.hooks})
	s.env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 2 * time.Minute, Interceptors: []interceptor.WorkerInterceptor{&server{sim: s, ownID: ownID{world: &world{}}}}})
	s.env.SetTestTimeout(time.Minute)
	s.env.OnSignalExternalWorkflow(mock.Anything, s.input.WorkflowID(), mock.Anything, mock.Anything, mock.Anything).Return(
		func(_, _, _, signal string, arg any) error {
			s.env.SignalWorkflow(signal, arg)
			return nil
		})
	s.env.OnRequestCancelExternalWorkflow(mock.Anything, mock.Anything, mock.Anything).Return(nil) // of what is over by then
	s.children = nil
	s.env.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
		s.children = append(s.children, info.WorkflowExecution.ID)
	})
	s.inferences = 1000
	if run < len(s.runs) {
		s.inferences = s.runs[run]
	}
	if len(s.handovers) > 0 {
		s.env.RegisterDelayedCallback(func() { s.handovers[len(s.handovers)-1].after = new(s.head()) }, 1)
	}
	elapsed := started.Sub(s.began)
	for _, w := range s.requests {
		if w.what == "stop" && w.at == elapsed { // a server has no run continue that has not taken it
			s.env.RegisterDelayedCallback(func() { s.env.SignalWorkflow(string(contract.SignalStop), w.request) }, 1)
		}
	}
	for i, a := range s.acts {
		s.env.RegisterDelayedCallback(func() { s.perform(a) }, max(a.at-elapsed, time.Duration(2+i)))
	}
	for i := range sweeps {
		s.env.RegisterDelayedCallback(func() { s.sweep(i) }, max(restsAfter-elapsed, 0)+time.Duration(i)*time.Hour+time.Minute)
	}
}

// outgrown has the run be long enough once it has made its inferences.
func (s *simulation) outgrown() {
	if s.inferences--; s.inferences == 0 {
		s.env.SetContinueAsNewSuggested(true)
	}
}

// head is what the agent says of itself.
func (s *simulation) head() account.Head {
	told, err := s.account(s.input.WorkflowID(), account.HeadOf)
	if err != nil || told.Head == nil {
		s.wrong = append(s.wrong, fmt.Sprint("the agent cannot be read: ", err))
		return account.Head{}
	}
	return *told.Head
}

func (s *simulation) account(id string, want ...account.Part) (account.Account, error) {
	all, _, err := account.ReadRun(account.Request{Want: want}, func(request account.Request) (page account.Page, err error) {
		var value converter.EncodedValue
		if id == s.input.WorkflowID() {
			value, err = s.env.QueryWorkflow(string(account.Query), request)
		} else {
			value, err = s.env.QueryWorkflowByID(id, string(account.Query), request)
		}
		if err == nil {
			err = value.Get(&page)
		}
		return page, err
	})
	return all, err
}

// inProgress is the agent's execution in progress, and the newest step that it had begun.
func (s *simulation) inProgress() (id domain.ExecutionID, step int) {
	told, err := s.account(s.input.WorkflowID(), account.HeadOf, account.Events)
	if err != nil || told.Head.Newest == nil || told.Head.Newest.Ended != nil {
		return id, 0
	}
	for _, e := range told.Events {
		if e.ExecutionID == told.Head.Newest.ExecutionID {
			step = max(step, e.Step)
		}
	}
	return told.Head.Newest.ExecutionID, step
}

// gather reads what the run has left.
func (s *simulation) gather() {
	s.last = s.head()
	told, err := s.account(s.input.WorkflowID(), account.Executions, account.Steps, account.Events)
	if err != nil {
		s.wrong = append(s.wrong, fmt.Sprint("the run cannot be read: ", err))
		return
	}
	for _, e := range told.Executions {
		at := slices.IndexFunc(s.executions, func(known account.Execution) bool { return known.Number == e.Number })
		if at < 0 {
			s.executions = append(s.executions, e)
		} else {
			s.executions[at] = e
		}
	}
	s.events = append(s.events, told.Events...)
	s.entries = s.messages(s.input.WorkflowID(), s.entries)
	for _, child := range s.children {
		if told, err := s.account(child, account.Executions, account.Steps, account.Events, account.HeadOf); err == nil {
			told.Messages = s.messages(child, nil)
			s.accounts[child] = told
		}
	}
}

// messages are those of an agent, with what is known of them from its earlier runs.
func (s *simulation) messages(id string, entries []domain.Entry) []domain.Entry {
	for {
		request := contract.MessagesRequest{From: len(entries)}
		var value converter.EncodedValue
		var err error
		if id == s.input.WorkflowID() {
			value, err = s.env.QueryWorkflow(string(contract.QueryMessages), request)
		} else {
			value, err = s.env.QueryWorkflowByID(id, string(contract.QueryMessages), request)
		}
		var page contract.MessagesPage
		if err == nil {
			err = value.Get(&page)
		}
		if err != nil {
			s.wrong = append(s.wrong, fmt.Sprint("the messages cannot be read: ", err))
			return entries
		}
		before := len(entries)
		for _, e := range page.Entries {
			if e.Index == len(entries) {
				entries = append(entries, e)
			}
		}
		if len(entries) == before || len(entries) >= page.Length {
			return entries
		}
	}
}

// sweep looks, when all that was planned is over, whether the agent has come to rest, and has whoever is left end it.
func (s *simulation) sweep(n int) {
	head := s.head()
	if !s.resting {
		s.resting = true
		s.tell("time", "nothing more is planned; the agent is %q", head.Doing)
		s.rests(head)
	}
	if n == sweeps-1 {
		s.wrong = append(s.wrong, fmt.Sprintf("the agent does not end: it is %q", head.Doing))
		s.env.CancelWorkflow()
		return
	}
	for _, what := range []string{"unsuspend", "resume", "deny", "answer", "resolve", "stop", "close"} {
		s.act(act{what: what, n: n, pick: n})
	}
}

// rests notes where an execution goes on though nobody has to do anything and no time is waited for.
func (s *simulation) rests(head account.Head) {
	if head.Suspended != nil || head.Paused || head.Newest != nil && head.Newest.Ended != nil && len(head.Unread) == 0 {
		return
	}
	for _, agent := range append([]string{s.input.WorkflowID()}, s.children...) {
		told, err := s.account(agent, account.HeadOf)
		if err != nil {
			continue
		}
		if told.Head.Paused || slices.ContainsFunc(told.Head.Waits, func(w domain.Wait) bool { return w.Kind != domain.WaitOutcome && w.Open() }) {
			return
		}
	}
	s.wrong = append(s.wrong, fmt.Sprintf("the agent does not come to rest: it is %q", head.Doing))
}

// resolve is what a worker makes of a definition.
func (s *simulation) resolve(r contract.ResolveRequest) contract.Resolved {
	if !r.Known.IsZero() {
		return contract.Resolved{Unchanged: true, Digest: r.Known}
	}
	encoded, _ := json.Marshal(r.Definition)
	resolved := contract.Resolved{
		MinOutputTokens: 1, Storage: s.storage, Records: s.records, Price: new(s.price),
		Guards: new(r.Definition.Guards.WithDefaults()), ContextWindow: s.window, Digest: domain.DigestOf(encoded),
	}
	if s.window > 0 {
		resolved.Compaction = new(r.Definition.Compaction.WithDefaults())
	}
	for _, tool := range simulatedTools() {
		if slices.Contains(r.Definition.Tools, tool.Name) {
			resolved.Tools = append(resolved.Tools, tool)
		}
	}
	resolved.Hooks, _ = s.hooks.Resolve(nil)
	return resolved
}
