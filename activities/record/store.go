package record

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"everstep/domain"
)

// A Store keeps the records of agents. It is safe for concurrent use, by many processes too. Nobody waits for a disk that hangs longer
// than the context lasts: what was begun goes on by itself, and a write that is left is not made visible any more.
type Store struct {
	// open returns what it keeps objects in, and may open that when it is first called.
	open func() (objects, error)
	name string
}

// Later is the store that open opens once something of it is asked for. The name is for people.
func Later(name string, open func() (*Store, error)) *Store {
	return &Store{sync.OnceValues(func() (objects, error) {
		store, err := open()
		if err != nil {
			return nil, err
		}
		return store.open()
	}), name}
}

func storeIn(o objects, name string) *Store {
	return &Store{func() (objects, error) { return o, nil }, name}
}

// objects is where a store keeps bytes, under keys of the store's own making.
type objects interface {
	// write makes an object visible whole or not at all, in place of one of the same key, or only where there is none. It reports
	// whether it has.
	write(ctx context.Context, key string, object []byte, over overwrite) (written bool, err error)
	// read returns nil where there is no such object.
	read(ctx context.Context, key string) ([]byte, error)
	// list are the names in a folder; one that does not exist has none.
	list(ctx context.Context, folder string) ([]string, error)
	// folders are the names of those at the top.
	folders(ctx context.Context) ([]string, error)
	// remove deletes a folder and all in it; one that does not exist is well too.
	remove(ctx context.Context, folder string) error
	// removeOne deletes an object, and the folder that it was the last of.
	removeOne(ctx context.Context, key string) error
	close() error
}

// An overwrite says whether a write takes the place of what is there.
type overwrite bool

const (
	replaces overwrite = true
	creates  overwrite = false
)

const extension = ".jsonl.zst"

// folder and objectName.key hold nothing that a user or a model wrote: UUIDs and numbers.
func folder(agent domain.AgentID) string { return agent.String() }

// An objectName names the record of an execution, or the position after it since a move.
type objectName struct {
	ref  Ref
	move int // 0: the record
}

func (n objectName) key() string {
	position := ""
	if n.move > 0 {
		position = fmt.Sprintf("%s%06d", positionMark, n.move)
	}
	return fmt.Sprintf("%s/%06d-%s%s%s", folder(n.ref.AgentID), n.ref.Number, n.ref.ExecutionID, position, extension)
}

// positionMark stands in the names of positions behind that of the execution that they follow.
const positionMark = ".position-"

// nameOf reads the name of an object in an agent's folder. What has another is none of ours.
func nameOf(agent domain.AgentID, name string) (objectName, bool) {
	execution, position, _ := strings.Cut(strings.TrimSuffix(name, extension), positionMark)
	number, rest, _ := strings.Cut(execution, "-")
	n, err := strconv.Atoi(number)
	id, bad := uuid.Parse(rest)
	move, _ := strconv.Atoi(position) // a record has none
	own := objectName{Ref{agent, domain.ExecutionID{UUID: id}, n}, move}
	return own, err == nil && bad == nil && own.key() == folder(agent)+"/"+name
}

// names are those of the records and positions of an agent, in no order; of one without any there are none.
func (s *Store) names(ctx context.Context, agent domain.AgentID) (own []objectName, _ error) {
	all, err := s.list(ctx, folder(agent))
	for _, name := range all {
		if n, ok := nameOf(agent, name); ok {
			own = append(own, n)
		}
	}
	return own, err
}

// An Object is what a store keeps as a file of its own: a [Record], a [Part] or a [Position].
type Object interface {
	json.Marshaler
	key() string
	// check says what is wrong with it.
	check() error
}

func (r Record) key() string { return objectName{ref: r.Ref()}.key() }

// Name is the store's, for people.
func (s *Store) Name() string { return s.name }

// Record keeps an object, in place of one of the same execution, of the same of its runs or of its moves. It may be done again.
func (s *Store) Record(ctx context.Context, one Object) error {
	if err := one.check(); err != nil {
		return err
	}
	_, err := s.write(ctx, one, replaces)
	return err
}

// write writes an object, and reports whether it has.
func (s *Store) write(ctx context.Context, one Object, over overwrite) (bool, error) {
	var file bytes.Buffer
	err := compressed(&file, one)
	if err != nil && domain.AsError(err).Kind == domain.TooLarge {
		return false, err
	}
	if err != nil {
		return false, domain.Errorf(domain.Internal, "record: %s: %s", one.key(), err)
	}
	return s.put(ctx, one.key(), file.Bytes(), over)
}

// Agents are those of which there may be records, for lists and for ids that are not given whole, in no order: of one whose records are just being deleted there may be none.
func (s *Store) Agents(ctx context.Context) (all []domain.AgentID, _ error) {
	names, err := on(ctx, s, "list", "the agents", func(o objects) ([]string, error) { return o.folders(ctx) })
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		id, err := uuid.Parse(name)
		if agent := (domain.AgentID{UUID: id}); err == nil && folder(agent) == name { // uuid.Parse takes other spellings, too
			all = append(all, agent)
		}
	}
	return all, nil
}

// List names the records of an agent, by number, and those that are missing while the position after them is there; of an agent
// without any there are none.
func (s *Store) List(ctx context.Context, agent domain.AgentID) ([]Ref, error) {
	names, err := s.names(ctx, agent)
	var refs []Ref
	for _, name := range names {
		refs = append(refs, name.ref)
	}
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.ExecutionID.String(), b.ExecutionID.String()))
	})
	return slices.Compact(refs), err
}

// Get reads a record. The error is ErrNone where the store has no such, also where it had; one that cannot be read is Internal, and
// of a build whose form this one does not read a domain.OtherSchema besides.
func (s *Store) Get(ctx context.Context, ref Ref) (Record, error) {
	return get[Record](ctx, s, objectName{ref: ref}.key(), decoded)
}

// get reads the one object of a file, which has to be that of the key.
func get[T Object](ctx context.Context, s *Store, key string, decode func([]byte) (any, error)) (none T, _ error) {
	file, err := s.read(ctx, key)
	unreadable := func(err error) error {
		return wrong{domain.Errorf(domain.Internal, "records: %s of %s cannot be read: %s", key, s.name, err), err}
	}
	switch {
	case errors.Is(err, errNoFile):
		return none, unreadable(err)
	case err != nil:
		return none, err
	case file == nil:
		return none, fmt.Errorf("records: %s has no %s: %w", s.name, key, ErrNone)
	}
	var lines []any
	err = read(bytes.NewReader(file), decode, func(line any) error {
		if lines = append(lines, line); len(lines) > 1 {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return none, unreadable(err)
	}
	if len(lines) == 1 {
		if one, ok := lines[0].(T); ok && one.key() == key {
			return one, nil
		}
	}
	return none, domain.Errorf(domain.Internal, "records: %s of %s holds something else than its name says", key, s.name)
}

// Delete deletes all records of an agent, those of positions too, and says how many there were. It may be done again.
func (s *Store) Delete(ctx context.Context, agent domain.AgentID) (int, error) {
	names, err := s.names(ctx, agent)
	if err != nil {
		return 0, err
	}
	return len(names), s.remove(ctx, folder(agent))
}

// Forget deletes one record.
func (s *Store) Forget(ctx context.Context, ref Ref) error {
	return s.removeOne(ctx, objectName{ref: ref}.key())
}

// Close ends the use of the store.
func (s *Store) Close() error {
	return s.does(context.Background(), "close", "the objects", objects.close)
}

// Probe proves that the store can be written, read and deleted from.
func (s *Store) Probe(ctx context.Context) error {
	key, want := "probe/"+uuid.NewString(), "everstep"
	if _, err := s.put(ctx, key, []byte(want), replaces); err != nil {
		return err
	}
	got, err := s.read(ctx, key)
	if err == nil && string(got) != want {
		err = s.failed(ctx, "read", key, errors.New("what came back is not what was written"))
	}
	return cmp.Or(err, s.removeOne(ctx, key))
}

// failed names the store, the object and the cause. A store that fails may be well later; one that cannot be opened says why itself.
func (s *Store) failed(ctx context.Context, doing, key string, err error) error {
	if _, own := errors.AsType[*domain.Error](err); own || err == nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("records: %s %s: %w", doing, key, context.Cause(ctx))
	}
	return domain.Errorf(domain.Unavailable, "records: cannot %s %s of %s: %s", doing, key, s.name, err)
}

func (s *Store) put(ctx context.Context, key string, object []byte, over overwrite) (bool, error) {
	return on(ctx, s, "write", key, func(o objects) (bool, error) { return o.write(ctx, key, object, over) })
}

func (s *Store) read(ctx context.Context, key string) ([]byte, error) {
	return on(ctx, s, "read", key, func(o objects) ([]byte, error) { return o.read(ctx, key) })
}

func (s *Store) list(ctx context.Context, folder string) ([]string, error) {
	return on(ctx, s, "list", folder, func(o objects) ([]string, error) { return o.list(ctx, folder) })
}

func (s *Store) remove(ctx context.Context, folder string) error {
	return s.does(ctx, "delete", folder, func(o objects) error { return o.remove(ctx, folder) })
}

func (s *Store) removeOne(ctx context.Context, key string) error {
	return s.does(ctx, "delete", key, func(o objects) error { return o.removeOne(ctx, key) })
}

func (s *Store) does(ctx context.Context, doing, key string, do func(objects) error) error {
	_, err := on(ctx, s, doing, key, func(o objects) (struct{}, error) { return struct{}{}, do(o) })
	return err
}

// on has something done with the objects of a store, for as long as the context lasts.
func on[T any](ctx context.Context, s *Store, doing, key string, do func(objects) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	told := make(chan answer, 1)
	go func() {
		var a answer
		within, err := s.open()
		if a.err = err; err == nil {
			a.value, a.err = do(within)
		}
		told <- a
	}()
	var a answer
	select {
	case a = <-told:
	case <-ctx.Done():
		a.err = context.Cause(ctx)
	}
	return a.value, s.failed(ctx, doing, key, a.err)
}
