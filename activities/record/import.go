package record

import (
	"cmp"
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
	// Moved counts sessions whose newest execution was there, and that stand elsewhere now.
	Moved int
}

// A Brought is a record that an import has brought. Name is its agent's; empty: it has none.
type Brought struct {
	Ref
	Name string
}

// Import puts records, such as All those of a file, into a store, marked as imported at a time: all that are new or, where
// one of them is there already and says something else, or they cannot be read, or the store fails, or the context ends,
// none. It ranges over them twice and holds one at a time.
func Import(ctx context.Context, store *Store, records iter.Seq2[Record, error], now time.Time) (done Imported, err error) {
	wanted, moves := map[Ref]bool{}, map[Ref]bool{}
	var moved []Position
	for r, err := range records {
		if err != nil {
			return Imported{}, err
		}
		there, err := store.Get(ctx, r.Ref())
		switch {
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
		// Where an execution was recorded here, what is recorded here says where its session stands, and no file.
		if r.Moved != nil && (wanted[r.Ref()] || !there.Imported.IsZero()) {
			if moves[r.Ref()], err = isNewMove(ctx, store, *r.Moved); err != nil {
				return Imported{}, err
			}
		}
	}
	// A write that is left may still be done afterwards: each is waited for, and undone with the others.
	whole := context.WithoutCancel(ctx)
	defer func() {
		if err == nil {
			return
		}
		var failed error
		for _, written := range done.New {
			failed = cmp.Or(failed, store.Forget(whole, written.Ref))
		}
		for _, written := range moved {
			failed = cmp.Or(failed, store.forgetPosition(whole, written))
		}
		if failed != nil {
			err = domain.Errorf(domain.Unavailable, "%s; a part of the file stays imported: %s", err, failed)
		}
		done = Imported{}
	}()
	for r, err := range records {
		if err = cmp.Or(context.Cause(ctx), err); err != nil {
			return done, err
		}
		if moves[r.Ref()] {
			r.Moved.Imported = now.UTC()
			if moved = append(moved, *r.Moved); !wanted[r.Ref()] {
				done.Moved++
			}
			if err := store.RecordPosition(whole, *r.Moved); err != nil {
				return done, err
			}
		}
		if !wanted[r.Ref()] {
			continue
		}
		if _, err := store.Get(whole, r.Ref()); err == nil {
			return done, domain.Errorf(domain.Unavailable, "execution %d of agent %s was recorded in %s meanwhile; nothing was imported, try again", r.Number, r.AgentID, store.Name())
		} else if !errors.Is(err, ErrNone) {
			return done, err
		}
		r.Imported = now.UTC() // whatever the file says
		done.New = append(done.New, Brought{r.Ref(), r.Name})
		if err := store.Record(whole, r); err != nil {
			return done, err
		}
	}
	return done, context.Cause(ctx)
}

// isNewMove reports whether a store does not have a position yet, and refuses one of the same move that says something else.
func isNewMove(ctx context.Context, store *Store, p Position) (bool, error) {
	there, err := store.position(ctx, p.After(), p.Head.Position.Moved.Number)
	there.Imported, p.Imported = time.Time{}, time.Time{}
	switch {
	case errors.Is(err, ErrNone):
		return true, nil
	case err != nil:
		return false, err
	case !encodeEqually(there, p):
		return false, domain.Errorf(domain.Denied, "where agent %s stands after execution %d is recorded in %s already, and differs from what the file says; nothing was imported; name another store to have both",
			p.Head.AgentID, p.After().Number, store.Name())
	}
	return false, nil
}

// same reports whether two records say the same, however they came. Of changes an account that is read later remembers fewer.
func same(a, b Record) bool {
	a.Imported, b.Imported = time.Time{}, time.Time{}
	a.Changes, b.Changes = nil, nil
	return encodeEqually(a, b)
}

func encodeEqually(a, b any) bool {
	one, err := domain.Encode(a)
	other, otherErr := domain.Encode(b)
	return err == nil && otherErr == nil && domain.DigestOf(one) == domain.DigestOf(other)
}
