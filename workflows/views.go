package workflows

import (
	"encoding/json"
	"errors"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

func (s session) answerQueries() error {
	return errors.Join(
		answer(s.root, contract.QueryStatus, s.status), answer(s.root, contract.QueryState, s.stateView),
		answer(s.root, contract.QuerySteps, s.steps), answer(s.root, contract.QueryEvents, s.eventsOf),
		answer(s.root, contract.QueryMessages, s.messages), answer(s.root, account.Query, s.accountPage),
	)
}

func answer[In, Out any](ctx workflow.Context, query contract.Query[In, Out], handle func(In) (Out, error)) error {
	return workflow.SetQueryHandler(ctx, string(query), handle)
}

func (s session) status(contract.StatusRequest) (contract.StatusView, error) {
	head, err := s.accountHead(account.Request{})
	return head.Status(), refusal(err)
}

// stateView answers the query for the state: all of it, with a page of its messages and as many of its steps as fit beside
// them, and the definition where that has changed or is asked for. Of an unnamed agent whose execution has ended it has the
// Carry with which a client starts the workflow that goes on from there; a named one's workflow stays open.
func (s session) stateView(request contract.StateRequest) (view contract.StateView, err error) {
	page, _ := s.messages(contract.MessagesRequest{From: request.From})
	view = contract.StateView{From: page.From, Next: page.From + len(page.Entries), Length: s.talk.Len()}
	view.State, err = json.Marshal(s.whole().WithStepsWithin(domain.MaxPage).WithMessageStore(domain.StoreOf(s.talk.standing(page.Entries))))
	if !s.own.Equal(s.in.Definition) {
		view.Definition = new(s.own)
	}
	if !s.passed.IsZero() {
		view.Handed = new(s.passed)
	}
	if err == nil && !s.state.HasActiveExecution() && s.in.Name == "" {
		view.Carry = new(contract.Carry)
		*view.Carry, err = s.carryWithin(domain.MaxCarriedState)
		// The messages come by page, and what is said of one's own workflow is
		// true of no other.
		view.Carry.Entries, view.Carry.Answered, view.Carry.Extended, view.Carry.Runs = nil, nil, nil, 0
		view.Carry.Waiting, view.Carry.MessagesWaited, view.Carry.Unsent = nil, 0, nil
		view.Carry.Prior = s.Spent()
	}
	if request.Definition {
		view.Definition = new(s.asItIs())
	}
	return view, refusal(err)
}

func (s session) steps(request contract.StepsRequest) (contract.StepsPage, error) {
	found, ok := s.execution(request.Number)
	page := contract.StepsPage{Number: request.Number, Steps: []domain.WireStep{}}
	if !ok {
		return page, nil
	}
	state := found.state
	execution, _ := state.Execution()
	page.ExecutionID, page.Number, page.Priced = execution.ID(), state.ExecutionCount(), found.priced
	if origin, ok := execution.Origin(); ok {
		page.Origin = &origin
	}
	page.EditsBefore = found.before
	held := state.StepExecutions()
	page.First = state.StepCount() - len(held) + 1
	held = held[min(max(request.From-page.First, 0), len(held)):]
	for i := range held {
		held[i].Step = held[i].Step.Trimmed(domain.MaxPage)
	}
	fit := fitting(held, request.MaxBytes(), domain.StepExecution.Size)
	page.Steps = domain.WireSteps(held[:fit]...)
	switch {
	case fit < len(held):
		page.Next = held[fit].Step.Number
	case state.Status().Terminal():
		end := endOf(state)
		page.Answer, page.SaidLast, page.Error, page.Signal = end.Answer, end.SaidLast, end.Error, end.Signal
		page.Outcome = new(describe(s.in.AgentID, state, found.priced))
		page.Outcome.Unread = found.unread()
	}
	return page, nil
}

// fitting is how many of some things have room on a page, at least one.
func fitting[T any](all []T, room int, size func(T) int) int {
	total := 0
	for i, one := range all {
		if total += size(one); i > 0 && total > room {
			return i
		}
	}
	return len(all)
}

func (s session) eventsOf(request contract.EventsRequest) (contract.EventsPage, error) {
	found, ok := s.execution(request.Number)
	page := contract.EventsPage{Number: request.Number, Events: []domain.RecordedEvent{}}
	if !ok {
		return page, nil
	}
	execution, _ := found.state.Execution()
	page.ExecutionID, page.Number = execution.ID(), found.state.ExecutionCount()
	held := found.events
	if len(held) == 0 {
		return page, nil
	}
	page.First = held[0].Head().Sequence
	wanted := held[min(max(request.After-page.First+1, 0), int64(len(held))):]
	fit := fitting(wanted, domain.MaxPage, func(event domain.RecordedEvent) int {
		encoded, _ := json.Marshal(event)
		return len(encoded)
	})
	page.Events, page.More = append(page.Events, wanted[:fit]...), fit < len(wanted)
	last := domain.EventTypeOf(held[len(held)-1].Event)
	page.Ended = !page.More && (last == domain.EventExecutionCompleted || last == domain.EventExecutionFailed)
	return page, nil
}

func (s session) messages(request contract.MessagesRequest) (contract.MessagesPage, error) {
	var definition *contract.Resolved
	var encoded []byte
	if r := s.resolved; r != nil && request.Resolved != nil && *request.Resolved != r.Digest {
		definition = r
		encoded, _ = json.Marshal(r)
	}
	page := s.talk.Page(request, len(encoded))
	edits := s.talk.Edits()
	page.Resolved, page.TakenBack, page.Emptied = definition, edits.TakenBack, edits.Emptied
	if page.From == page.Base {
		page.Segments = s.run.inheritedSegments
	}
	return page, nil
}
