package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"everstep/domain"
	"everstep/domain/account"
)

// A Position says where a session stands in its past, since a rewind or a clear that came after an execution had ended. Its
// JSON is an account with a head alone. A record of an execution never changes, so the position is a record of its own; the
// next execution says in its record where it went on from.
type Position struct {
	// Head names the agent and the run, and has the position.
	Head account.Head
	// Imported is when it came out of a file; zero: it was recorded here.
	Imported time.Time
}

// PositionOf takes the position out of the head of a session that was moved. Of the run it keeps what names the session, which
// may go on in another run.
func PositionOf(head account.Head) (Position, error) {
	run := account.Run{WorkflowID: head.Run.WorkflowID, First: head.Run.First}
	p := Position{Head: account.Head{AgentID: head.AgentID, Name: head.Name, Run: run, Position: head.Position}}
	p.Head.Position.Base, p.Head.Position.Segments = 0, nil
	if err := p.check(); err != nil {
		return Position{}, fmt.Errorf("position: %w", err)
	}
	return p, nil
}

// After names the execution that the position follows.
func (p Position) After() Ref {
	after := p.Head.Position.Moved.After
	return Ref{p.Head.AgentID, p.Head.AgentID.Execution(p.Head.Run.First, after), after}
}

// check refuses what is no position of a session. Its errors name the field of the position's account.
func (p Position) check() error {
	h, moved := p.Head, p.Head.Position.Moved
	if err := cmp.Or(domain.CheckRecorded(account.Account{Head: &h}), checkHead(h)); err != nil {
		return err
	}
	switch from := h.Position.From; {
	case moved == nil:
		return misplaced("moved", "is missing; only a rewind or a clear makes a position")
	case moved.Number < 1 || moved.Number > domain.MaxCount:
		return misplaced("moved.number", "is %d; moves are counted from 1", moved.Number)
	case moved.After < 1 || moved.After > domain.MaxCount:
		return misplaced("moved.after_execution", "is %d; executions are counted from 1", moved.After)
	case moved.At.IsZero():
		return misplaced("moved.at", "is missing")
	case h.Position.Length < 0 || h.Position.Length > domain.MaxCount:
		return misplaced("length", "is %d; it counts messages", h.Position.Length)
	case from != nil && (from.AgentID != h.AgentID || from.ExecutionID.IsZero() || from.Check() != nil || from.Origin != nil):
		return misplaced("from", "is no step of agent %s", h.AgentID)
	}
	if err := h.Position.Edits.Check(h.Position.Length); err != nil {
		return fmt.Errorf("head.position.%w", err)
	}
	return nil
}

// checkBehind refuses a position that the record of the execution that it follows contradicts.
func (p Position) checkBehind(r Record) error {
	stands := p.Head.Position
	if stands.Length != r.MessagesTo {
		return misplaced("length", "is %d, and execution %d ended with %d messages", stands.Length, r.Number, r.MessagesTo)
	}
	if stands.From == nil && stands.Edits.CountCleared() != r.MessagesTo {
		return misplaced("edits.taken_back", "has %d of %d messages that were cleared; a clear leaves none, and a rewind has from", stands.Edits.CountCleared(), r.MessagesTo)
	}
	if stands.From == nil {
		return nil
	}
	if stands.From.ExecutionID == r.ExecutionID && stands.From.Step > r.Outcome.Steps {
		return misplaced("from.step", "is %d, and execution %d has %d", stands.From.Step, r.Number, r.Outcome.Steps)
	}
	first, spans := r.firstAfter(*stands.From), stands.Edits.TakenBack
	if n := len(spans); first < r.MessagesTo && (n == 0 || spans[n-1].From > first || spans[n-1].To != r.MessagesTo) {
		return misplaced("edits.taken_back", "leaves messages from %d to %d, which were said after the step that from names", first, r.MessagesTo-1)
	}
	return nil
}

// firstAfter is the index of the first message of the record that was said after a step of the session; To: none was, as far as
// the record tells.
func (r Record) firstAfter(step domain.Origin) int {
	if step.ExecutionID != r.ExecutionID || step.Step == 0 {
		return r.MessagesFrom
	}
	later := map[domain.StepID]bool{}
	for _, s := range r.Steps {
		later[s.Step.ID] = s.Step.Number > step.Step
	}
	for _, e := range r.Messages {
		if later[domain.TagOf(e.Message).StepID] {
			return e.Index
		}
	}
	return r.MessagesTo
}

func misplaced(field, format string, args ...any) error {
	return invalid("head.position."+field, format, args...)
}

// checkHead refuses a head that does not name the agent and the session.
func checkHead(h account.Head) error {
	id, err := domain.AgentIDOf(h.Name)
	switch {
	case h.AgentID.IsZero():
		return invalid("head.agent_id", "is missing")
	case h.Run.First == "":
		return invalid("head.run.first_run_id", "is missing")
	case h.Name == "":
		return nil
	case err != nil:
		return invalid("head.name", "%s", err)
	case id != h.AgentID:
		return invalid("head.name", "%q is not that of agent %s", h.Name, h.AgentID)
	}
	return nil
}

// MarshalJSON writes the position as an account.
func (p Position) MarshalJSON() ([]byte, error) {
	return domain.Encode(account.Account{Head: &p.Head, Imported: p.Imported})
}

// positionIn reads the position out of an account with a head alone. The account has a head.
func positionIn(a account.Account) (Position, error) {
	if len(a.Executions)+len(a.Steps)+len(a.Messages)+len(a.Events) > 0 {
		return Position{}, invalid("head.position.moved", "stands beside executions, steps, messages or events; the record of a position has a head alone")
	}
	p := Position{Head: *a.Head, Imported: a.Imported}
	return p, p.check()
}

func (p Position) key() string {
	return objectName{p.After(), p.Head.Position.Moved.Number}.key()
}

// Position is where the session has stood since the newest move after an execution. The error is ErrNone where it was not
// moved since; a position that cannot be read is Internal, and no earlier one is taken for it.
func (s *Store) Position(ctx context.Context, after Ref) (none Position, _ error) {
	names, err := s.names(ctx, after.AgentID)
	if err != nil {
		return none, err
	}
	newest := objectName{ref: after}
	for _, name := range names {
		if name.ref == after {
			newest.move = max(newest.move, name.move)
		}
	}
	if newest.move == 0 {
		return none, fmt.Errorf("records: %s has no position after execution %d of agent %s: %w", s.name, after.Number, after.AgentID, ErrNone)
	}
	p, err := get[Position](ctx, s, newest.key(), decoded)
	if err != nil {
		return p, err
	}
	switch r, err := s.Get(ctx, after); {
	case errors.Is(err, ErrNone): // who reads the session says so
		return p, nil
	case err != nil:
		return none, err
	default:
		if wrong := p.checkBehind(r); wrong != nil {
			return none, domain.Errorf(domain.Internal, "records: %s of %s contradicts the record of the execution: %s", newest.key(), s.name, wrong)
		}
		return p, nil
	}
}
