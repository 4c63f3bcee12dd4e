package record

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"everstep/domain"
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

func partsFolder(r Ref) string { return folder(r.AgentID) + "/parts/" + r.ExecutionID.String() }

const partExtension = ".part.zst"

// RecordPart keeps a part, in place of one of the same run. It may be done again.
func (s *Store) RecordPart(ctx context.Context, p Part) error {
	if err := uuid.Validate(p.RunID); err != nil || len(p.Steps) == 0 {
		return domain.Errorf(domain.Internal, "record: a part of execution %d has %d steps of run %q", p.Number, len(p.Steps), p.RunID)
	}
	return s.write(ctx, fmt.Sprintf("%s/%s%s", partsFolder(p.Ref), p.RunID, partExtension), p, replaces)
}

// Parts are those of an execution that are whole, in no order. One that is damaged is as good as missing.
func (s *Store) Parts(ctx context.Context, r Ref) (all []Part, _ error) {
	names, err := s.objects.list(ctx, partsFolder(r))
	if err != nil {
		return nil, s.failed(ctx, "list", partsFolder(r), err)
	}
	for _, name := range names {
		if run, ok := strings.CutSuffix(name, partExtension); !ok || uuid.Validate(run) != nil {
			continue
		}
		p, err := get(ctx, s, partsFolder(r)+"/"+name, decodedPart, func(p Part) bool { return p.Ref == r })
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

// ForgetParts deletes those of an execution, which the record of the whole takes the place of.
func (s *Store) ForgetParts(ctx context.Context, r Ref) error {
	return s.forget(ctx, partsFolder(r))
}
