package record

import (
	"context"
	"errors"
	"time"

	"everstep/domain"
)

// An Imported says what an import has brought.
type Imported struct {
	// New are the records that were not there, and Known counts those that were, the same.
	New   []Record
	Known int
}

// Import puts records of a file into a store, marked as imported at a time: all that are new or, where one of them is
// there already and says something else, or the store fails, none.
func Import(ctx context.Context, store *Store, records []Record, now time.Time) (done Imported, _ error) {
	for _, r := range records {
		there, err := store.Get(ctx, r.Ref())
		switch {
		case errors.Is(err, ErrNone):
			if r.Imported.IsZero() {
				r.Imported = now.UTC()
			}
			done.New = append(done.New, r)
		case err != nil:
			return Imported{}, err
		case !same(there, r):
			return Imported{}, domain.Errorf(domain.Denied,
				"execution %d of agent %s (%s) is recorded in %s already, and differs from that of the file; nothing was imported", r.Number, r.AgentID, r.ExecutionID, store.Name())
		default:
			done.Known++
		}
	}
	for i, r := range done.New {
		err := store.Record(ctx, r)
		if err == nil {
			continue
		}
		for _, written := range done.New[:i] {
			err = errors.Join(err, store.Forget(context.WithoutCancel(ctx), written.Ref()))
		}
		return Imported{}, err
	}
	return done, nil
}

// same reports whether two records say the same, however they came.
func same(a, b Record) bool {
	a.Imported, b.Imported = time.Time{}, time.Time{}
	one, err := encode(a)
	other, otherErr := encode(b)
	return err == nil && otherErr == nil && domain.DigestOf(one) == domain.DigestOf(other)
}
