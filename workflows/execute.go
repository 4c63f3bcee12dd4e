package workflows

import (
	"errors"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/workflows/internal/mailbox"
)

// Options are what a worker adds to the workflow. A replay needs nothing of it:
// what hooks want is recorded, and what is emitted never comes back.
type Options struct {
	// Hooks are those that executions of this worker may use.
	Hooks hook.Set
	// Emit takes each event as it happens, except on replay. It is called from
	// inside the workflow: it may not wait, fail or call back. Nil: nobody listens.
	Emit func(domain.Event)
}

// Register makes a worker run agents.
func Register(registry worker.WorkflowRegistry, options Options) {
	registry.RegisterWorkflowWithOptions(options.Execute, workflow.RegisterOptions{Name: string(contract.Execute)})
	registry.RegisterWorkflowWithOptions(scheduled, workflow.RegisterOptions{Name: string(contract.Scheduled)})
}

// Execute is the workflow of one agent. An unnamed agent's ends with its one
// execution, a named agent's, which goes idle after each, when it is closed.
// Whatever Everstep decides completes it, and the outcome is its result; it returns
// an error only where its input cannot be read, or to continue as new.
//
// What is large stands behind pointers, and no function that waits for an activity holds
// large values beside: an agent's stack is memory for as long as it waits.
func (o Options) Execute(ctx workflow.Context, in *contract.SessionInput) (*contract.Outcome, error) {
	if in == nil { // none was given
		in = new(contract.SessionInput)
	}
	s, err := newSession(ctx, in, o)
	if err != nil {
		workflow.GetLogger(ctx).Warn("agent refused", "error", err)
		return nil, refusal(err)
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	for s.awaitWork() && s.runExecution() {
		s.records.recordEnded(s.conversation.Log().Ref())
	}
	if s.run.successor != nil {
		return nil, s.run.continueAsNew(ctx)
	}
	s.close()
	return s.result(), nil
}

// open has the session answer, listen and tell where it stands. All handlers stand before the first wait.
func (s *session) open(ctx workflow.Context) error {
	if err := errors.Join(answer(s.root, account.Query, s.accountPage), answer(s.root, contract.QueryMessages, s.messages), s.acceptCommands()); err != nil {
		return err
	}
	s.run.inheritHead()
	s.mail.Listen(ctx, s.run.publishHead)
	s.joinTree()
	s.run.tellBuild()
	return nil
}

// close ends what outlives executions, where the session is over.
func (s *session) close() {
	if s.in.Name != "" {
		s.records.recordLast()
	}
	s.unbind()
	s.run.awaitHandlers()
	s.agent.note("ended")
}

// awaitWork waits until there is an execution to run. It answers false where
// there is none to come, because the session is over or because the run is.
func (s *session) awaitWork() bool {
	for {
		switch {
		case s.agent.state.HasActiveExecution() || s.mail.Posted():
			return true
		case s.mail.Closed() || s.in.Name == "":
			return false
		case s.mail.PostWaiting():
			return true
		case s.records.recordsPosition():
			if admission, ok := s.mail.Admit(mailbox.WhileIdle); ok {
				s.records.recordPosition(admission)
			}
			continue
		case s.run.wantsNext():
			if s.run.continuesIdle() {
				return false
			}
			continue
		}
		s.agent.note("idle")
		s.idle()
	}
}
