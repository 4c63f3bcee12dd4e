package record_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/testsuite/stores"
)

// positionAfter is where the session of a record stands since the n-th move, a rewind to before its execution.
func positionAfter(t testing.TB, r record.Record, n int) record.Position {
	t.Helper()
	p, err := record.PositionOf(account.Head{
		AgentID: r.AgentID, Name: r.Head.Name, Run: account.Run{WorkflowID: domain.WorkflowID(r.Head.Name), ID: r.RunID, First: r.Head.Run.First}, Doing: "idle",
		Position: account.Position{
			Length: r.MessagesTo, Edits: domain.Edits{TakenBack: []domain.Span{{From: r.MessagesFrom, To: r.MessagesTo}}}, From: &domain.Origin{AgentID: r.AgentID, ExecutionID: r.ExecutionID},
			Moved: &contract.Move{Number: n, After: r.Number, At: r.CompletedAt.Add(time.Duration(n) * time.Minute)},
		},
	})
	require.NoError(t, err)
	return p
}

// TestPositions are kept each beside those before, the newest counts, and none is taken for an execution.
func TestPositions(t *testing.T) {
	t.Parallel()
	kept, dir := both(t)
	for name, store := range kept {
		all := stores.Sample(t, "ann", 2)
		keep(t, store, all...)
		_, err := store.Position(t.Context(), all[1].Ref())
		require.ErrorIs(t, err, record.ErrNone, name)
		for n := 1; n <= 11; n++ {
			for range 2 {
				require.NoError(t, store.Record(t.Context(), positionAfter(t, all[1], n)))
			}
			got, err := store.Position(t.Context(), all[1].Ref())
			require.NoError(t, err)
			require.Equal(t, positionAfter(t, all[1], n), got)
		}
		_, err = store.Position(t.Context(), all[0].Ref())
		require.ErrorIs(t, err, record.ErrNone, name)
		stores.Reads(t, store, all...)
		deleted, err := store.Delete(t.Context(), all[0].AgentID)
		require.NoError(t, err)
		require.Equal(t, 13, deleted, name)
		_, err = store.Position(t.Context(), all[1].Ref())
		require.ErrorIs(t, err, record.ErrNone, name)
	}

	all := stores.Sample(t, "ann", 3)
	require.NoError(t, kept["directory"].Record(t.Context(), positionAfter(t, all[1], 1)))
	keep(t, kept["directory"], all...)
	entries, err := os.ReadDir(filepath.Join(dir, all[0].AgentID.String()))
	require.NoError(t, err)
	require.Len(t, entries, 4)
	require.Contains(t, entries[2].Name(), all[1].ExecutionID.String()+".position-", "it sorts behind its execution")
}

// TestAPositionIsSmall, however long the session is.
func TestAPositionIsSmall(t *testing.T) {
	t.Parallel()
	store, dir := inDirectory(t)
	p := positionAfter(t, stores.Sample(t, "ann", 1)[0], 1)
	p.Head.Position.Length, p.Head.Position.Edits.TakenBack = 2_000_000, nil
	for n := range 20 {
		p.Head.Position.Edits.TakenBack = append(p.Head.Position.Edits.TakenBack, domain.Span{From: 90_000*n + 7, To: 90_000*n + 1234*n + 9})
	}
	require.NoError(t, store.Record(t.Context(), p))
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(2<<10))
}

// TestABadPositionIsTold, and no earlier one is taken for it.
func TestABadPositionIsTold(t *testing.T) {
	t.Parallel()
	r := stores.Sample(t, "ann", 1)[0]
	var file bytes.Buffer
	r.Moved = new(positionAfter(t, r, 2))
	require.NoError(t, record.Write(&file, r))
	line := strings.Split(file.String(), "\n")[2]
	_, text, _ := strings.Cut(strings.TrimSuffix(line, "}"), `"record":`)
	other := stores.Sample(t, "bob", 1)[0].AgentID.String()
	forged := func(from, to string) string { return stores.Forged(strings.Replace(text, from, to, 1)) }
	for name, test := range map[string]struct{ object, says string }{
		"torn":                       {stores.Forged(text)[:300], "cannot be read"},
		"of another build":           {`{"format":"everstep-records","schema_version":2,"build":"v9","records":1}` + "\n", "schema_version: is 2, written by build v9"},
		"of another agent":           {stores.Forged(strings.ReplaceAll(text, `"agent_id":"`+r.AgentID.String(), `"agent_id":"`+other)), "head.name"},
		"of another session":         {forged(`"first_run_id":"first-run"`, `"first_run_id":"other"`), "something else than its name says"},
		"of another move":            {forged(`"number":2`, `"number":1`), "something else than its name says"},
		"of an execution":            {stores.Forged(stores.Text(t, r)), "something else than its name says"},
		"with messages that are not": {forged(`"to":2`, `"to":3`), "head.position.edits.taken_back[0]"},
		"from another agent's step":  {forged(`"step":0,"agent_id":"`+r.AgentID.String(), `"step":0,"agent_id":"`+other), "head.position.from"},
		"from an endless step":       {forged(`"step":0,"agent_id"`, `"step":9000000000000000000,"agent_id"`), "head.position.from"},
		"beside executions":          {forged(`{"head"`, `{"executions":[{"execution_number":1}],"head"`), "head alone"},
		"of no time":                 {forged(`"at":"2026-01-02T03:07:05.000006789Z"`, `"at":"0001-01-01T00:00:00Z"`), "head.position.moved.at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEqual(t, stores.Forged(text), test.object)
			store, dir := inDirectory(t)
			keep(t, store, r)
			for n := 1; n <= 2; n++ {
				require.NoError(t, store.Record(t.Context(), positionAfter(t, r, n)))
			}
			files, err := filepath.Glob(filepath.Join(dir, "*", "*.position-000002*"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			require.NoError(t, os.WriteFile(files[0], []byte(test.object), 0o600))
			_, err = store.Position(t.Context(), r.Ref())
			require.ErrorContains(t, err, test.says)
			require.ErrorContains(t, err, ".position-000002")
			require.Equal(t, domain.Internal, domain.AsError(err).Kind)
			stores.Reads(t, store, r)
		})
	}
}

// TestAFileHasThePosition behind the execution that it comes after, and nowhere else.
func TestAFileHasThePosition(t *testing.T) {
	t.Parallel()
	all := stores.Sample(t, "ann", 2)
	all[1].Moved = new(positionAfter(t, all[1], 3))
	var file bytes.Buffer
	require.NoError(t, record.Compressed(&file, all...))
	got, err := record.Read(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Nil(t, got[0].Moved)
	require.Equal(t, all[1].Moved, got[1].Moved)

	for says, moved := range map[string]*record.Position{
		"comes after, 2": new(positionAfter(t, all[1], 1)), "comes after, 1": new(positionAfter(t, stores.Sample(t, "bob", 1)[0], 1)),
	} {
		wrong := all[0]
		wrong.Moved = moved
		file.Reset()
		require.NoError(t, record.Write(&file, wrong))
		_, err = record.Read(&file)
		require.ErrorContains(t, err, "line 3: record.head.position.moved: ")
		require.ErrorContains(t, err, says)
	}
}

// TestAPositionThatContradictsItsRecord is taken neither from a file nor from a store.
func TestAPositionThatContradictsItsRecord(t *testing.T) {
	t.Parallel()
	all := stores.Sample(t, "ann", 3) // of two messages each
	last := all[2]
	from := func(number, step int) *domain.Origin {
		return &domain.Origin{AgentID: last.AgentID, ExecutionID: last.AgentID.Execution("first-run", number), Step: step}
	}
	back := func(first, end int) domain.Edits {
		return domain.Edits{TakenBack: []domain.Span{{From: first, To: end}}}
	}
	cleared := func(end int) domain.Edits {
		return domain.Edits{Hidden: end, TakenBack: []domain.Span{{To: end, Cleared: true}}}
	}
	for name, test := range map[string]struct {
		length int
		edits  domain.Edits
		from   *domain.Origin
		says   string
	}{
		"fewer messages":                    {1, domain.Edits{}, from(3, 1), "head.position.length: is 1, and execution 3 ended with 6 messages"},
		"more messages":                     {1_000_000, back(0, 1_000_000), from(1, 0), "head.position.length: is 1000000"},
		"a rewind that takes nothing back":  {6, domain.Edits{}, from(1, 1), "head.position.edits.taken_back"},
		"one that leaves the end":           {6, back(2, 5), from(1, 1), "head.position.edits.taken_back"},
		"one that leaves the newest prompt": {6, back(5, 6), from(3, 0), "head.position.edits.taken_back"},
		"neither a rewind nor a clear":      {6, domain.Edits{}, nil, "head.position.edits.taken_back: has 0 of 6"},
		"a clear of a part":                 {6, cleared(4), nil, "head.position.edits.taken_back: has 4 of 6"},
		"one to no step of the execution":   {6, domain.Edits{}, from(3, 99999999), "head.position.from.step: is 99999999, and execution 3 has 1"},
		"a rewind":                          {6, back(2, 6), from(1, 1), ""},
		"a rewind of the newest execution":  {6, back(4, 6), from(3, 0), ""},
		"a rewind to where the session was": {6, domain.Edits{}, from(3, 1), ""},
		"a clear":                           {6, cleared(6), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			move := &contract.Move{Number: 1, After: 3, At: last.CompletedAt.Add(time.Second)}
			p, err := record.PositionOf(account.Head{
				AgentID: last.AgentID, Name: last.Head.Name, Run: account.Run{First: last.Head.Run.First},
				Position: account.Position{Length: test.length, Edits: test.edits, From: test.from, Moved: move},
			})
			require.NoError(t, err)
			r := last
			r.Moved = &p
			_, inFile := record.Read(strings.NewReader(written(t, all[0], all[1], r)))
			store, _ := inDirectory(t)
			keep(t, store, last)
			require.NoError(t, store.Record(t.Context(), p))
			_, inStore := store.Position(t.Context(), last.Ref())
			if test.says == "" {
				require.NoError(t, inFile)
				require.NoError(t, inStore)
				return
			}
			require.ErrorContains(t, inFile, "line 5: record."+test.says)
			require.ErrorContains(t, inStore, test.says)
			require.Equal(t, domain.Internal, domain.AsError(inStore).Kind)
		})
	}
}

// TestAnImportBringsThePosition, once, and not where what was recorded here says where the session stands.
func TestAnImportBringsThePosition(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	r := stores.Sample(t, "ann", 1)[0]
	own, _ := inDirectory(t)
	keep(t, own, r)
	r.Moved = new(positionAfter(t, r, 1))
	imports := func(store *record.Store, r record.Record) (record.Imported, error) {
		var file bytes.Buffer
		require.NoError(t, record.Write(&file, r))
		return record.Import(t.Context(), store, record.All(bytes.NewReader(file.Bytes())), now)
	}
	_, err := imports(own, r)
	require.NoError(t, err)
	_, err = own.Position(t.Context(), r.Ref())
	require.ErrorIs(t, err, record.ErrNone)

	store, _ := inDirectory(t)
	for range 2 {
		done, err := imports(store, r)
		require.NoError(t, err)
		require.Zero(t, done.Moved)
		got, err := store.Position(t.Context(), r.Ref())
		require.NoError(t, err)
		require.Equal(t, now, got.Imported)
		require.Equal(t, r.Moved.Head, got.Head)
	}
	r.Moved.Head.Position.Moved.At = now
	_, err = imports(store, r)
	require.ErrorContains(t, err, "where agent "+r.AgentID.String()+" stands after execution 1 is recorded")
	r.Moved = new(positionAfter(t, r, 2))
	done, err := imports(store, r)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 1}, []int{len(done.New), done.Known, done.Moved}, "the import counts the sessions that it has moved")
	got, err := store.Position(t.Context(), r.Ref())
	require.NoError(t, err)
	require.Equal(t, 2, got.Head.Position.Moved.Number)
}
