package workflows

import (
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// session is the memory of one run of an agent's workflow. All of it follows
// from the run's input and history.
type session struct {
	in      domain.SessionInput
	options Options
	info    *workflow.Info
	// root outlives a cancellation of the workflow, which is taken as a stop.
	root workflow.Context
	// work is the scope of what is in flight; cancelling it is a stop now.
	work       workflow.Context
	cancelWork workflow.CancelFunc

	state domain.AgentState
	log   domain.Log
	// segments are all, below those that hold what comes before the log's base.
	segments, below []domain.Segment
	// sketch are the outlines of messages before the log's base that may still
	// be shown.
	sketch []int64
	// stored is the index of the first message that is in no segment.
	stored   int
	resolved *domain.Resolved
	// outdated says that a worker has to say again what the definition means.
	outdated bool
	tally    tally
	edits    domain.Edits
	guarded  domain.Guarded
	// gathered are the transcript's messages as hooks see them.
	gathered struct {
		ref   domain.LogRef
		store domain.MessageStore
	}
	// step is the one in progress.
	step   *turn
	ledger ledger
	// past are the ended executions of this run, the newest last.
	past    []chapter
	outcome *domain.Outcome
	// finishing says that the loop is over, and the execution not quite.
	finishing bool
	pause     pause
	// squeeze says that the conversation has to become shorter to be carried to
	// the next run, and squeezed that this was tried.
	squeeze, squeezed bool
	// copying are messages of an earlier workflow that are copied to storage
	// before anything else.
	copying *domain.RecordRequest

	next    *beginning
	closing bool
	// stops holds the stop signals that were not heeded yet; cancelled reports
	// a cancellation of the workflow that was not, and closedByServer one that was.
	stops          workflow.ReceiveChannel
	cancelled      func() bool
	closedByServer bool
	// handOver is set where the run is to continue as new, and stays where an
	// idle session cannot although it should: its next execution will say why.
	handOver, stays bool
	// successor is what the next run starts with, where handOver is set.
	successor domain.SessionInput
	stop      stopping
	updates   updates

	doing string
	since time.Time
}

// A chapter is an execution that has ended in this run.
type chapter struct {
	state  domain.AgentState
	ledger ledger
	priced bool
}

// A beginning is what the next execution starts from.
type beginning struct {
	prompt string
	model  *domain.LLMConfig
	budget domain.ExecutionBudget
	// goesOn says that it goes on from the one before, without a prompt and
	// with this budget and no other.
	goesOn bool
}

// open makes the session that the input describes: a new one, or the one that
// an earlier run handed over.
func open(ctx workflow.Context, in domain.SessionInput, options Options) (*session, error) {
	root, _ := workflow.NewDisconnectedContext(ctx)
	s := &session{in: in, options: options, info: workflow.GetInfo(ctx), doing: "starting", since: workflow.Now(ctx)}
	s.root = workflow.WithValue(root, transcriptKey{}, s)
	s.work, s.cancelWork = workflow.WithCancel(s.root)
	if err := checkOwnID(ctx, in); err != nil {
		return nil, err
	}
	if in.GoOn != nil && in.Carry != nil {
		return s, s.goOn(in)
	}
	if in.Carry != nil {
		// A carry that cannot be read is a fault of this worker, not of the
		// session: as in must, a mended one goes on.
		if err := s.resume(*in.Carry); err != nil {
			panic(err)
		}
		return s, nil
	}
	if err := checkInput(in); err != nil {
		return nil, err
	}
	state := domain.NewAgentState(in.AgentID, domain.AgentID{}, s.now(), in.Definition.Model).
		WithSystemPrompt(in.Definition.SystemPrompt, s.now())
	if in.Definition.Format.Type != "" {
		var err error
		if state, err = state.WithResponseFormat(in.Definition.Format, s.now()); err != nil {
			return nil, err
		}
	}
	s.state = state
	s.next = &beginning{prompt: in.Prompt, budget: in.Budget}
	return s, nil
}

// resume takes over what the run before handed on.
func (s *session) resume(carry domain.Carry) error {
	state, err := domain.DecodeAgentState(carry.State)
	if err != nil {
		return err
	}
	log, err := domain.LogAt(carry.Base, carry.Chain).Join(carry.Entries...)
	if err != nil {
		return err
	}
	s.state, s.log, s.stored = state, log, carry.Base
	s.segments, s.below = carry.Segments, carry.Segments
	s.resolved, s.outcome = carry.Resolved, carry.Outcome
	s.tally = tally{inferences: carry.Inferences, toolCalls: carry.ToolCalls, visible: carry.Visible, traces: carry.Traces, prior: carry.Prior, waited: carry.Waited}
	s.updates.answered, s.updates.extended = carry.Answered, carry.Extended
	s.edits, s.guarded, s.sketch = carry.Edits, carry.Guarded, slices.Clone(carry.Sketch)
	s.pause.on = carry.Paused
	s.ledger = ledger{last: carry.Sequence, announced: len(state.StopSignals())}
	s.requireHooks()
	return nil
}

// ownID is the version from which an agent runs under its own workflow id only.
// It is recorded where another id is met, and nowhere else. It must never change.
const ownID = "own-id"

// checkOwnID refuses what was started under an id that is not the agent's: who
// reaches the server past all clients would have agents that no command finds.
func checkOwnID(ctx workflow.Context, in domain.SessionInput) error {
	id, own := workflow.GetInfo(ctx).WorkflowExecution.ID, in.WorkflowID()
	identity, err := domain.AgentIDOf(strings.TrimPrefix(own, domain.WorkflowIDPrefix))
	if id == own && err == nil && identity == in.AgentID {
		return nil
	}
	if workflow.GetVersion(ctx, ownID, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return nil // it began before this was asked, or a replay does not know the id
	}
	if id == own {
		return domain.Errorf(domain.Invalid, "agent_id: %s is not that of %q", in.AgentID, id)
	}
	return domain.Errorf(domain.Invalid, "workflow_id: %q is not this agent's, which is %q; start agents with a client of Everstep", id, own)
}

// checkInput refuses what no client of ours sends. A client refuses it first,
// with its exit code; this is for those who start the workflow otherwise.
func checkInput(in domain.SessionInput) error {
	if err := checkAgent(in); err != nil {
		return err
	}
	return checkBeginning(in.Prompt, in.Budget)
}

// checkAgent refuses what no agent can be.
func checkAgent(in domain.SessionInput) error {
	if in.AgentID.IsZero() {
		return domain.Errorf(domain.Invalid, "agent_id: is missing")
	}
	if in.Name != "" {
		if err := domain.CheckAgentName(in.Name); err != nil {
			return err
		}
	}
	return in.Definition.Check()
}

// checkBeginning refuses a prompt or a budget that no execution can begin with.
func checkBeginning(prompt string, budget domain.ExecutionBudget) error {
	if err := domain.CheckPrompt(prompt); err != nil {
		return err
	}
	return budget.Check()
}

// serve registers all handlers, before the first wait.
func (s *session) serve(ctx workflow.Context) error {
	if err := s.answerQueries(); err != nil {
		return err
	}
	if err := s.acceptUpdates(); err != nil {
		return err
	}
	s.listenToStops(ctx)
	return nil
}

// awaitWork waits until there is an execution to run. It answers false where
// there is none to come, because the session is over or because it hands over.
func (s *session) awaitWork() bool {
	for {
		switch {
		case s.state.HasActiveExecution() || s.next != nil:
			return true
		case s.closing || s.in.Name == "":
			return false
		case s.outgrown() && !s.stays:
			if s.handOver = s.carriable(); s.handOver {
				return false
			}
			s.stays = s.next == nil && !s.closing
			continue
		}
		s.note("idle")
		s.wait(func() bool { return s.next != nil || s.closing || s.outgrown() && !s.stays })
	}
}

// wait blocks until the condition holds. It cannot fail: the root context is
// never cancelled.
func (s *session) wait(condition func() bool) {
	_ = workflow.Await(s.root, condition)
}

// note says what the session does now, for whoever asks.
func (s *session) note(doing string) { s.doing, s.since = doing, s.now() }

func (s *session) now() time.Time { return workflow.Now(s.root).UTC() }

// result is the outcome of the newest execution.
func (s *session) result() domain.Outcome {
	if s.outcome == nil {
		return domain.Outcome{AgentID: s.in.AgentID, Status: domain.StatusPending, Closed: true}
	}
	out := *s.outcome
	out.Closed = true
	return out
}
