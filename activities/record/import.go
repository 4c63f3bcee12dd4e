package record

import (
	"context"
	"errors"
	"iter"
	"time"

	"everstep/domain"
)

// An Imported says what an import has brought.
type Imported struct {
	// New are the records that were not there, and Known counts those that were, the same.
	New   []Brought
	Known int
}

// A Brought is a record that an import has brought. Name is its agent's; empty: it has none.
type Brought struct {
	Ref
	Name string
}

// Import puts records, such as All those of a file, into a store, marked as imported at a time: all that are new or, where
// one of them is there already and says something else, or they cannot be read, or the store fails, none. It ranges over
// them twice and holds one at a time.
func Import(ctx context.Context, store *Store, records iter.Seq2[Record, error], now time.Time) (done Imported, err error) {
	wanted := map[Ref]bool{}
	for r, err := range records {
		if err != nil {
			return Imported{}, err
		}
		switch there, err := store.Get(ctx, r.Ref()); {
		case errors.Is(err, ErrNone):
			wanted[r.Ref()] = true
		case err != nil:
			return Imported{}, err
		case !same(there, r):
			return Imported{}, domain.Errorf(domain.Denied,
				"execution %d of agent %s (%s) is recorded in %s already, and differs from that of the file; nothing was imported; name another store to have both", r.Number, r.AgentID, r.ExecutionID, store.Name())
		default:
			done.Known++
		}
	}
	defer func() {
		if err == nil {
			return
		}
		for _, written := range done.New {
			err = errors.Join(err, store.Forget(context.WithoutCancel(ctx), written.Ref))
		}
		done = Imported{}
	}()
	for r, err := range records {
		if err != nil {
			return done, err
		}
		if !wanted[r.Ref()] {
			continue
		}
		if _, err := store.Get(ctx, r.Ref()); !errors.Is(err, ErrNone) {
			return done, domain.Errorf(domain.Unavailable, "execution %d of agent %s was recorded in %s meanwhile; nothing was imported, try again", r.Number, r.AgentID, store.Name())
		}
		r.Imported = now.UTC() // whatever the file says
		if err := store.Record(ctx, r); err != nil {
			return done, err
		}
		done.New = append(done.New, Brought{r.Ref(), r.Name})
	}
	return done, nil
}

// same reports whether two records say the same, however they came.
func same(a, b Record) bool {
	a.Imported, b.Imported = time.Time{}, time.Time{}
	one, err := domain.Encode(a)
	other, otherErr := domain.Encode(b)
	return err == nil && otherErr == nil && domain.DigestOf(one) == domain.DigestOf(other)
}
