package record

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"everstep/domain"
)

// A Store keeps the records of agents. It is safe for concurrent use, by many processes too.
type Store struct {
	objects objects
	name    string
}

// objects is where a store keeps bytes, under keys of the store's own making. What does not exist is fs.ErrNotExist.
type objects interface {
	// write makes an object visible whole or not at all, in place of one of the same key, or only where there is none: the error is
	// fs.ErrExist then, where there is one.
	write(ctx context.Context, key string, object []byte, over overwrite) error
	read(ctx context.Context, key string) ([]byte, error)
	// list are the names in a folder; one that does not exist has none.
	list(ctx context.Context, folder string) ([]string, error)
	// folders are the names of those at the top.
	folders(ctx context.Context) ([]string, error)
	// remove deletes an object, or a folder and all in it, and the folder that it was the last of; what does not exist is well too.
	remove(ctx context.Context, key string) error
	close() error
}

// An overwrite says whether a write takes the place of what is there.
type overwrite bool

const (
	replaces overwrite = true
	creates  overwrite = false
)

const extension = ".jsonl.zst"

// folder and key hold nothing that a user or a model wrote: UUIDs and a number.
func folder(agent domain.AgentID) string { return agent.String() }

func (r Ref) key() string {
	return fmt.Sprintf("%s/%06d-%s%s", folder(r.AgentID), r.Number, r.ExecutionID, extension)
}

// A named is what the name of an object says: a record or, with a move, the position that follows it.
type named struct {
	Ref
	move int
}

// namedBy reads the name of an object. What is neither is none of ours.
func namedBy(agent domain.AgentID, name string) (n named, ok bool) {
	execution, move, moved := strings.Cut(strings.TrimSuffix(name, extension), positionExtension+"-")
	number, id, _ := strings.Cut(execution, "-")
	n.AgentID = agent
	n.Number, _ = strconv.Atoi(number) // another name is another key
	n.ExecutionID.UUID, _ = uuid.Parse(id)
	n.move, _ = strconv.Atoi(move)
	key := n.key()
	if moved {
		key = positionKey(n.Ref, n.move)
	}
	return n, key == folder(agent)+"/"+name
}

// named are the records of an agent and the positions of its sessions, in no order.
func (s *Store) named(ctx context.Context, agent domain.AgentID) (all []named, _ error) {
	names, err := s.objects.list(ctx, folder(agent))
	for _, name := range names {
		if n, ok := namedBy(agent, name); ok {
			all = append(all, n)
		}
	}
	return all, s.failed(ctx, "list", folder(agent), err)
}

// Name is the store's, for people.
func (s *Store) Name() string { return s.name }

// Record keeps a record, in place of one of the same execution. It may be done again.
func (s *Store) Record(ctx context.Context, r Record) error {
	if err := r.check(); err != nil {
		return err
	}
	return s.write(ctx, r.Ref().key(), r, replaces)
}

// write keeps a record, a position or a part as a file of its own.
func (s *Store) write(ctx context.Context, key string, line json.Marshaler, over overwrite) error {
	var object bytes.Buffer
	err := compressed(&object, line)
	if err != nil && domain.AsError(err).Kind == domain.TooLarge {
		return err
	}
	if err != nil {
		return domain.Errorf(domain.Internal, "record: %s: %s", key, err)
	}
	err = s.objects.write(ctx, key, object.Bytes(), over)
	if over == creates && errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.failed(ctx, "write", key, err)
}

// Agents are those of which there may be records, for lists and for ids that are not given whole, in no order: of one whose records are just being deleted there may be none.
func (s *Store) Agents(ctx context.Context) (all []domain.AgentID, _ error) {
	names, err := s.objects.folders(ctx)
	if err != nil {
		return nil, s.failed(ctx, "list", "the agents", err)
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
	all, err := s.named(ctx, agent)
	refs := make([]Ref, len(all))
	for i, n := range all {
		refs[i] = n.Ref
	}
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.ExecutionID.String(), b.ExecutionID.String()))
	})
	return slices.Compact(refs), err
}

// Get reads a record. The error is ErrNone where the store has no such, also where it had; one that cannot be read is Internal, and
// of a build whose form this one does not read a domain.OtherSchema besides.
func (s *Store) Get(ctx context.Context, ref Ref) (Record, error) {
	return get(ctx, s, ref.key(), decoded, func(r Record) bool { return r.Ref() == ref })
}

// get reads the one record, position or part that an object holds, which has to be ours.
func get[T Record | Position | Part](ctx context.Context, s *Store, key string, decode func([]byte) (any, error), ours func(T) bool) (none T, _ error) {
	object, err := s.objects.read(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return none, fmt.Errorf("records: %s has no %s: %w", s.name, key, ErrNone)
	}
	unreadable := func(err error) error {
		return wrong{domain.Errorf(domain.Internal, "records: %s of %s cannot be read: %s", key, s.name, err), err}
	}
	if errors.Is(err, errNoFile) {
		return none, unreadable(err)
	}
	if err != nil {
		return none, s.failed(ctx, "read", key, err)
	}
	var lines []any
	err = read(bytes.NewReader(object), decode, func(line any) error {
		if lines = append(lines, line); len(lines) > 1 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err != nil {
		return none, unreadable(err)
	}
	if len(lines) == 1 {
		if one, ok := lines[0].(T); ok && ours(one) {
			return one, nil
		}
	}
	return none, domain.Errorf(domain.Internal, "records: %s of %s holds something else than its name says", key, s.name)
}

// Delete deletes all records of an agent, those of positions too, and says how many there were. It may be done again.
func (s *Store) Delete(ctx context.Context, agent domain.AgentID) (int, error) {
	all, err := s.named(ctx, agent)
	if err != nil {
		return 0, err
	}
	return len(all), s.forget(ctx, folder(agent))
}

// Forget deletes one record.
func (s *Store) Forget(ctx context.Context, ref Ref) error {
	return s.forget(ctx, ref.key())
}

func (s *Store) forget(ctx context.Context, key string) error {
	return s.failed(ctx, "delete", key, s.objects.remove(ctx, key))
}

// Close ends the use of the store.
func (s *Store) Close() error { return s.objects.close() }

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

// Probe proves that the store can be written, read and deleted from.
func (s *Store) Probe(ctx context.Context) error {
	key, want := "probe/"+uuid.NewString(), "everstep"
	if err := s.failed(ctx, "write", key, s.objects.write(ctx, key, []byte(want), replaces)); err != nil {
		return err
	}
	got, err := s.objects.read(ctx, key)
	if err == nil && string(got) != want {
		err = errors.New("what came back is not what was written")
	}
	if err != nil {
		return s.failed(ctx, "read", key, err)
	}
	return s.forget(ctx, key)
}
