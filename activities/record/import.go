package record

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
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
// none. The newest of each session comes first, behind where the session was moved to since: whoever reads meanwhile, or after the
// program was killed, finds that earlier ones are missing, and takes none of them for the last. It replaces nothing, and deletes
// only what it has created itself. It ranges over them three times and holds one at a time.
func Import(ctx context.Context, store *Store, records iter.Seq2[Record, error], now time.Time) (done Imported, err error) {
	newest := map[string]Ref{}
	for r, err := range records {
		if err != nil {
			return Imported{}, err
		}
		if _, _, err := lacking(ctx, store, r); err != nil {
			return Imported{}, err
		}
		if r.Number > newest[r.session()].Number {
			newest[r.session()] = r.Ref()
		}
	}
	// A write that is left may still be done afterwards: each is waited for, and undone with the others.
	whole := context.WithoutCancel(ctx)
	var written []string
	defer func() {
		if err == nil {
			return
		}
		var failed error
		for _, key := range slices.Backward(written) { // who reads meanwhile finds no record without the position after it
			failed = cmp.Or(failed, store.removeOne(whole, key))
		}
		if failed != nil {
			err = domain.Errorf(domain.Unavailable, "%s; a part of the file stays imported: %s", err, failed)
		}
		done = Imported{}
	}()
	for _, first := range []bool{true, false} {
		for r, err := range records {
			if err = cmp.Or(context.Cause(ctx), err); err != nil {
				return done, err
			}
			if isNewest := r.Ref() == newest[r.session()]; isNewest != first {
				continue
			}
			r.Imported = now.UTC() // whatever the file says
			movedNow := false
			if r.Moved != nil {
				r.Moved.Imported = now.UTC()
				if movedNow, err = bring(whole, store, r, true); err != nil {
					return done, err
				}
				if movedNow {
					written = append(written, r.Moved.key())
				}
			}
			created, err := bring(whole, store, r, false)
			switch {
			case err != nil:
				return done, err
			case created:
				done.New, written = append(done.New, Brought{r.Ref(), r.Head.Name}), append(written, r.key())
			default:
				done.Known++
			}
			if movedNow && !created {
				done.Moved++
			}
		}
	}
	return done, context.Cause(ctx)
}

// session names the session of which a record is.
func (r Record) session() string { return r.AgentID.String() + r.Head.Run.First }

// bring creates the object of a record, or of its position, where the store lacks it, and reports whether it has. What another import
// has created meanwhile is never replaced, and is compared as what was there before.
func bring(ctx context.Context, store *Store, r Record, position bool) (bool, error) {
	one := Object(r)
	if position {
		one = *r.Moved
	}
	lacks := func() (bool, error) {
		record, moved, err := lacking(ctx, store, r)
		return position && moved || !position && record, err
	}
	if lacked, err := lacks(); err != nil || !lacked {
		return false, err
	}
	if created, err := store.write(ctx, one, creates); created || err != nil {
		return created, err
	}
	deleted, err := lacks()
	if err == nil && deleted {
		err = domain.Errorf(domain.Unavailable, "execution %d of agent %s was imported into %s by somebody else meanwhile, and deleted again; nothing was imported, try again", r.Number, r.AgentID, store.Name())
	}
	return false, err
}

// lacking reports whether a store lacks a record, and whether it lacks the position that the record comes with. It refuses a record
// or a position that is there and says something else.
func lacking(ctx context.Context, store *Store, r Record) (record, position bool, err error) {
	there, err := store.Get(ctx, r.Ref())
	record = errors.Is(err, ErrNone)
	switch {
	case record:
		err = nil
	case err != nil:
		return false, false, err
	case !same(there, r):
		return false, false, domain.Errorf(domain.Denied,
			"execution %d of agent %s (%s) is recorded in %s already, and differs from that of the file; nothing was imported; name another store to have both", r.Number, r.AgentID, r.ExecutionID, store.Name())
	}
	// Where an execution was recorded here, what is recorded here says where its session stands, and no file.
	if r.Moved != nil && (record || !there.Imported.IsZero()) {
		position, err = isNewMove(ctx, store, *r.Moved)
	}
	return record, position, err
}

// isNewMove reports whether a store does not have a position yet, and refuses one of the same move that says something else.
func isNewMove(ctx context.Context, store *Store, p Position) (bool, error) {
	there, err := get[Position](ctx, store, p.key(), decoded)
	there.Imported, p.Imported = time.Time{}, time.Time{}
	switch {
	case errors.Is(err, ErrNone):
		return true, nil
	case err != nil:
		return false, err
	case !encodeEqually(there, p):
		return false, domain.Deniedf("where agent %s stands after execution %d is recorded in %s already, and differs from what the file says; nothing was imported; name another store to have both",
			p.Head.AgentID, p.After().Number, store.Name())
	}
	return false, nil
}

// same reports whether two records say the same, however they came. Of changes an account that is read later remembers fewer.
func same(a, b Record) bool {
	a.Imported, b.Imported = time.Time{}, time.Time{}
	a.Head.Configuration.Changes, b.Head.Configuration.Changes = nil, nil
	return encodeEqually(a, b)
}

func encodeEqually(a, b any) bool {
	one, err := domain.Encode(a)
	other, otherErr := domain.Encode(b)
	return err == nil && otherErr == nil && domain.DigestOf(one) == domain.DigestOf(other)
}
