package record

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"everstep/domain"
	"everstep/domain/account"
)

// A Part are steps and events of an execution in progress, as the run told them that another one continues: that run may be deleted
// before the execution ends.
type Part struct {
	Ref
	RunID  string                 `json:"run_id"`
	Steps  []domain.StepExecution `json:"steps"`
	Events []domain.Event         `json:"events,omitempty"`
}

// MarshalJSON writes the part as domain.Encode does.
func (p Part) MarshalJSON() ([]byte, error) {
	type plain Part
	return domain.Encode(plain(p))
}

func decodedPart(text []byte) (any, error) { return domain.Decode[Part](text) }

func (p Part) key() string { return partsFolder(p.Ref) + "/" + p.RunID + partExtension }

func partsFolder(r Ref) string { return folder(r.AgentID) + "/parts/" + r.ExecutionID.String() }

const partExtension = ".part.zst"

func (p Part) check() error {
	if err := uuid.Validate(p.RunID); err != nil || len(p.Steps) == 0 {
		return domain.Errorf(domain.Internal, "record: a part of execution %d has %d steps of run %q", p.Number, len(p.Steps), p.RunID)
	}
	return nil
}

// Parts are those of an execution that are whole, in no order. One that is damaged is as good as missing.
func (s *Store) Parts(ctx context.Context, r Ref) (all []Part, _ error) {
	names, err := s.list(ctx, partsFolder(r))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if run, ok := strings.CutSuffix(name, partExtension); !ok || uuid.Validate(run) != nil {
			continue
		}
		p, err := get[Part](ctx, s, partsFolder(r)+"/"+name, decodedPart)
		switch {
		case err == nil:
			all = append(all, p)
		case errors.Is(err, ErrNone), domain.AsError(err).Kind == domain.Internal:
		default:
			return nil, err
		}
	}
	return all, nil
}

// WithParts returns the record with what runs have recorded of its execution that nobody tells any more.
func (r Record) WithParts(parts []Part) (Record, error) {
	r.Steps, r.Events = slices.Clone(r.Steps), slices.Clone(r.Events)
	for _, p := range parts { // of two steps of one number the first stays: the workflow's own
		r.Steps, r.Events = append(r.Steps, p.Steps...), append(r.Events, p.Events...)
	}
	r.Steps, r.Events = account.ByNumber(r.Steps, stepNumber), account.ByNumber(r.Events, eventNumber)
	r.Missing = r.gaps()
	return r, r.check()
}

// ForgetParts deletes those of an execution, which the record of the whole takes the place of.
func (s *Store) ForgetParts(ctx context.Context, r Ref) error { return s.remove(ctx, partsFolder(r)) }
