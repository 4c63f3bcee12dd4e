package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/testsuite/stores"
)

// imported is a store with the records of agents that came out of files, and one whose records were made here.
func imported(t *testing.T) *record.Store {
	t.Helper()
	ann := stores.Sample(t, "ann", 3)
	for i := range ann {
		ann[i].Imported = time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC)
	}
	store, _ := storeOf(t, append(ann, stores.Sample(t, "bob", 2)...)...)
	return store
}

// storeOf is a store of some records, and the folder where it lies.
func storeOf(t *testing.T, all ...record.Record) (*record.Store, string) {
	t.Helper()
	dir := t.TempDir()
	store, err := record.OpenDirectory(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	for _, r := range all {
		require.NoError(t, store.Record(t.Context(), r))
	}
	return store, dir
}

// fileOf is the one file in a folder of records whose name begins so.
func fileOf(t *testing.T, dir, begins string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", begins+"-*"))
	require.NoError(t, err)
	require.Len(t, paths, 1)
	return paths[0]
}

func collected[T any](t *testing.T, all func(func(T, error) bool)) (list []T) {
	t.Helper()
	for one, err := range all {
		require.NoError(t, err)
		list = append(list, one)
	}
	return list
}

// TestWhatIsNewestIsNotToldWithoutAServer of an agent whose workflow may have gone on; its executions are read by number.
func TestWhatIsNewestIsNotToldWithoutAServer(t *testing.T) {
	t.Parallel()
	c := OfRecords(Config{Records: imported(t)}, errors.New("server: none is up"))
	_, err := c.Result(t.Context(), "bob", 0)
	require.ErrorIs(t, err, &Error{Class: Unreachable})
	require.ErrorContains(t, err, "none is up; the records know of execution 2 of bob, and not whether there is a later one")
	_, err = c.Status(t.Context(), "bob")
	require.ErrorContains(t, err, "not whether there is a later one")
	var told *Error
	require.ErrorAs(t, err, &told)
	require.Contains(t, told.Next, "`explain bob --execution 2` tells of that one", "status takes no number")
	require.Len(t, collected(t, c.Messages(t.Context(), "bob")), 4)
	_, err = c.Edits(t.Context(), "bob")
	require.NoError(t, err, "of what they know")
	result, err := c.Result(t.Context(), "bob", 2)
	require.NoError(t, err)
	require.Equal(t, domain.StatusStopped, result.Outcome.Status)
	require.Zero(t, result.ImportedAt)
}

// TestListRecorded lists each agent of which the server has nothing, by its newest record, and says which were imported.
func TestListRecorded(t *testing.T) {
	t.Parallel()
	store := imported(t)
	names := func(o ListOptions) (all []string) {
		for _, l := range collected(t, OfRecords(Config{Records: store}, errors.New("none")).ListRecorded(t.Context(), o)) {
			require.True(t, l.Recorded)
			require.Equal(t, l.Name == "ann", !l.ImportedAt.IsZero())
			require.Equal(t, map[string]int{"ann": 3, "bob": 2}[l.Name], l.Number)
			all = append(all, l.ID)
		}
		return all
	}
	require.ElementsMatch(t, []string{"ann", "bob"}, names(ListOptions{}))
	require.Equal(t, []string{"ann"}, names(ListOptions{ListFilter: ListFilter{Statuses: []ListStatus{ListCompleted}}}))
	require.Equal(t, []string{"bob"}, names(ListOptions{ListFilter: ListFilter{Agent: "b*"}}))
	require.Len(t, names(ListOptions{Limit: 1}), 1)
	require.Empty(t, names(ListOptions{Open: true}))
	require.Empty(t, names(ListOptions{ListFilter: ListFilter{Since: time.Now()}}))

	f := newFake(&fakeRun{id: "run"})
	c := New(f, Config{Loopback: true, Records: store})
	require.Empty(t, collected(t, c.ListRecorded(t.Context(), ListOptions{})), "the server has both")
	f.deleted["run"] = true
	require.Len(t, collected(t, c.ListRecorded(t.Context(), ListOptions{})), 2)
	_, err := c.Send(t.Context(), "ann", SendOptions{Prompt: "more"})
	require.ErrorIs(t, err, &Error{Class: NotFound})
	require.EqualError(t, err, "id: no workflow of ann is here: its executions were imported on 2026-02-03, and can only be read")
	var told *Error
	require.ErrorAs(t, err, &told)
	require.Contains(t, told.Next, "`fork ann")
	_, err = c.Send(t.Context(), "bob", SendOptions{Prompt: "more"})
	require.ErrorContains(t, err, "the server has nothing left of bob")
}

// TestListRecordedTellsOfARecordThatCannotBeRead: its agent is listed as far as older records
// tell, and where none can be read the list ends in an error.
func TestListRecordedTellsOfARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	all := slices.Concat(stores.Sample(t, "ann", 2), stores.Sample(t, "bob", 1), stores.Sample(t, "eve", 1))
	store, dir := storeOf(t, all...)
	for _, r := range all {
		if r.Head.Name == "ann" && r.Number == 2 || r.Head.Name == "bob" {
			paths, err := filepath.Glob(filepath.Join(dir, r.AgentID.String(), "*"))
			require.NoError(t, err)
			require.NoError(t, os.Truncate(paths[len(paths)-1], 100))
		}
	}
	listed, wrong := map[string]int{}, []string{}
	var notes []string
	c := OfRecords(Config{Records: store, Progress: func(text string) { notes = append(notes, text) }}, errors.New("none"))
	for l, err := range c.ListRecorded(t.Context(), ListOptions{}) {
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		listed[l.ID] = l.Number
	}
	require.Equal(t, map[string]int{"ann": 1, "eve": 1}, listed)
	require.Len(t, wrong, 1)
	require.Contains(t, wrong[0], "/000001-")
	require.Contains(t, wrong[0], "cannot be read")
	require.Len(t, notes, 2)
	require.Contains(t, strings.Join(notes, ""), "/000002-")
}

// TestNoOtherSessionFillsTheGaps of one that the server knows: it has said something else under the same numbers.
func TestNoOtherSessionFillsTheGaps(t *testing.T) {
	t.Parallel()
	c := New(newFake(&fakeRun{id: "another-session"}), Config{Loopback: true, Records: imported(t)})
	all, err := c.keptSession(context.Background(), "ann")
	require.NoError(t, err)
	require.Empty(t, all)
	c = New(newFake(&fakeRun{id: "first-run"}), Config{Loopback: true, Records: imported(t)})
	all, err = c.keptSession(context.Background(), "ann")
	require.NoError(t, err)
	require.Len(t, all, 3)
}

// TestTheNewestRecordIsOfAnotherBuild: those before it are read where they are named and exported, and a deletion is refused, as
// it may name what belongs to the agent.
func TestTheNewestRecordIsOfAnotherBuild(t *testing.T) {
	t.Parallel()
	const says = "schema_version: is 2, written by build v9, and this build reads 1; "
	all := stores.Sample(t, "ann", 3)
	for i := range all {
		all[i].Imported = time.Now().UTC()
	}
	store, dir := storeOf(t, all...)
	var plain strings.Builder
	require.NoError(t, record.Write(&plain, all[2]))
	_, text, _ := strings.Cut(strings.TrimSuffix(strings.SplitAfter(plain.String(), "\n")[1], "}\n"), `"record":`)
	text = strings.Replace(text, `"final_state":{"schema_version":1`, `"final_state":{"schema_version":2,"build":"v9"`, 1)
	require.NoError(t, os.WriteFile(fileOf(t, dir, "000003"), fmt.Appendf(nil, "{\"format\":\"everstep-records\",\"schema_version\":1,\"records\":1}\n{\"digest\":%q,\"record\":%s}\n", domain.DigestOf([]byte(text)), text), 0o600))

	c := OfRecords(Config{Records: store}, errors.New("server: none is up"))
	require.NotEmpty(t, collected(t, c.Steps(t.Context(), "ann", 2)))
	_, err := c.Explain(t.Context(), "ann", 2)
	require.NoError(t, err)
	_, err = c.pastPoint(t.Context(), Point{ID: "ann", Execution: "2"})
	require.NoError(t, err)
	x, err := c.Export(t.Context(), "ann", 0)
	require.NoError(t, err)
	require.Len(t, x.Records, 2)
	require.Len(t, x.Gone, 1)
	require.Contains(t, x.Gone[0], says+"read it with that build")

	_, err = c.Export(t.Context(), "ann", 3)
	require.ErrorContains(t, err, says)
	err = new(Belongings).recordedBelow(t.Context(), &belonging{agent: must(agentOf("ann"))}, store, subagentsOf{})
	require.ErrorIs(t, err, &Error{Class: Refused})
	require.ErrorContains(t, err, says+"nothing was deleted: delete it with that build")
}

// leftOf are what can be read, and what is said of the rest, which is gone.
func leftOf[T any](t *testing.T, all iter.Seq2[T, error]) (left []T, gone []string) {
	t.Helper()
	for one, err := range all {
		if err != nil {
			require.ErrorIs(t, err, &Error{Class: Gone})
			gone = append(gone, err.Error())
			continue
		}
		left = append(left, one)
	}
	return left, gone
}

// TestOneRecordThatIsLostOrDamaged hides no other one: what it held is said to be gone. That of the newest is an error: by it
// the agent stands.
func TestOneRecordThatIsLostOrDamaged(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string){
		"lost":    func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"damaged": func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 100)) },
		"a link": func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path, path+".moved"))
			require.NoError(t, os.Symlink(path+".moved", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := stores.Sample(t, "ann", 3)
			for i := range all {
				all[i].Imported = time.Now()
			}
			all[2].Steps, all[2].Missing = nil, []account.Missing{{Part: account.Steps, Execution: 3, From: 1, To: 1}}
			store, dir := storeOf(t, all...)
			var notes []string
			c := OfRecords(Config{Records: store, Progress: func(text string) { notes = append(notes, text) }}, errors.New("server: none is up"))
			spoil(t, fileOf(t, dir, "000002"))
			past, lost := leftOf(t, c.Executions(t.Context(), "ann"))
			require.Equal(t, []int{1, 3}, []int{past[0].Number, past[1].Number})
			require.Equal(t, []string{"execution 2 can no longer be read"}, lost)
			require.Equal(t, name != "lost", len(notes) > 0 && strings.Contains(notes[0], "cannot be read"))
			require.Len(t, collected(t, c.Steps(t.Context(), "ann", 1)), 1)
			result, err := c.Result(t.Context(), "ann", 0)
			require.NoError(t, err)
			require.Equal(t, 3, result.Number)
			x, err := c.Export(t.Context(), "ann", 0)
			require.NoError(t, err)
			require.Len(t, x.Records, 2)
			require.Equal(t, []string{"execution 2 can no longer be read", "of execution 3 of ann can no longer be read: step 1"}, x.Gone, "also what a record lacks")

			require.NoError(t, os.Truncate(fileOf(t, dir, "000003"), 100))
			_, err = c.Result(t.Context(), "ann", 0)
			require.ErrorContains(t, err, "cannot be read", "another is not taken for the newest")
		})
	}
}

type halfAway struct {
	*record.Store
	away domain.AgentID
}

func (h halfAway) List(ctx context.Context, id domain.AgentID) ([]record.Ref, error) {
	if id == h.away {
		return nil, domain.Errorf(domain.Unavailable, "records: cannot list %s: i/o error", id)
	}
	return h.Store.List(ctx, id)
}

// TestListRecordedTellsWhoseRecordsAreAway also where the list ends at its limit.
func TestListRecordedTellsWhoseRecordsAreAway(t *testing.T) {
	t.Parallel()
	bob, err := domain.AgentIDOf("bob")
	require.NoError(t, err)
	var told []string
	c := OfRecords(Config{Records: halfAway{imported(t), bob}, Progress: func(s string) { told = append(told, s) }}, &Error{Class: Unreachable, Message: "none"})
	for _, err := range c.ListRecorded(t.Context(), ListOptions{Limit: 1}) {
		require.NoError(t, err)
	}
	require.Equal(t, []string{"records: cannot list " + bob.String() + ": i/o error"}, told)
}
