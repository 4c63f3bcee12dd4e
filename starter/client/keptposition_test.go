package client

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/testsuite/stores"
)

// movedTo are the records of ann, whose three executions have two messages each, and where its session was moved to after one.
func movedTo(t *testing.T, after int, position account.Position) (*record.Store, string) {
	t.Helper()
	all := stores.Sample(t, "ann", 3)
	store, dir := storeOf(t, all...)
	for _, r := range all {
		if r.Number == after {
			position.Length, position.Moved = r.MessagesTo, &contract.Move{Number: 1, After: after, At: r.CompletedAt.Add(time.Second)}
			p, err := record.PositionOf(account.Head{AgentID: r.AgentID, Name: r.Head.Name, Run: account.Run{First: r.Head.Run.First}, Position: position})
			require.NoError(t, err)
			require.NoError(t, store.Record(t.Context(), p))
		}
	}
	return store, dir
}

// TestRecordsAreMarkedByWhereTheSessionWasMovedTo, after its newest execution: what came to an execution later says that itself.
func TestRecordsAreMarkedByWhereTheSessionWasMovedTo(t *testing.T) {
	t.Parallel()
	id := stores.Sample(t, "ann", 1)[0].AgentID
	rewound := account.Position{
		From:  &domain.Origin{AgentID: id, ExecutionID: id.Execution("first-run", 1), Step: 1},
		Edits: domain.Edits{TakenBack: []domain.Span{{From: 2, To: 6}}},
	}
	cleared := account.Position{Edits: domain.Edits{Hidden: 6, TakenBack: []domain.Span{{To: 6, By: 4, Cleared: true}}}}
	for name, test := range map[string]struct {
		after          int
		position       account.Position
		back, cleared  []int // the numbers of the executions
		state, dropped int   // how many messages
	}{
		"rewound":                   {3, rewound, []int{2, 3}, nil, 2, 0},
		"cleared":                   {3, cleared, nil, []int{1, 2, 3}, 0, 6},
		"cleared before executions": {1, account.Position{Edits: domain.Edits{Hidden: 2, TakenBack: []domain.Span{{To: 2, By: 2, Cleared: true}}}}, nil, nil, 6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := movedTo(t, test.after, test.position)
			c := OfRecords(Config{Records: store}, errors.New("server: none is up"))
			var back, cleared []int
			all := collected(t, c.Executions(t.Context(), "ann"))
			require.Len(t, all, 3)
			for _, past := range all {
				if past.TakenBack != nil {
					back = append(back, past.Number)
				}
				if past.Cleared {
					cleared = append(cleared, past.Number)
				}
			}
			require.Equal(t, test.back, back)
			require.Equal(t, test.cleared, cleared)
			require.Equal(t, test.back != nil, all[2].NextOrigin != nil)
			edits, err := c.Edits(t.Context(), "ann")
			require.NoError(t, err)
			require.Equal(t, test.dropped, edits.CountCleared())
			require.Equal(t, test.state < 6, edits.TookBack(5))
			state, err := c.State(t.Context(), "ann")
			require.NoError(t, err)
			require.Len(t, state.Messages(), test.state)
			told, err := c.Account(t.Context(), "ann")
			require.NoError(t, err)
			require.Equal(t, edits.TakenBack, told.Head.Position.Edits.TakenBack)
			from, err := New(newFake(), Config{Records: store}).forkPoint(t.Context(), Point{ID: "ann"})
			require.NoError(t, err)
			require.Equal(t, test.back != nil, from.execution.Number == 1)
			require.Equal(t, test.cleared != nil, from.cleared)
			x, err := c.Export(t.Context(), "ann", 0)
			require.NoError(t, err)
			require.Empty(t, x.Gone)
			require.Equal(t, test.after == 3, x.Records[2].Moved != nil)
		})
	}
}

// TestAPositionThatCannotBeRead is told wherever marks would be missing, after all that can be read; each execution is read as
// before, and nothing goes on as if there had been no rewind.
func TestAPositionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	store, dir := movedTo(t, 3, account.Position{Edits: domain.Edits{TakenBack: []domain.Span{{From: 2, To: 6}}}})
	files, err := filepath.Glob(filepath.Join(dir, "*", "000003-*.position-*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Truncate(files[0], 100))
	const says = ".position-000001.jsonl.zst"
	var notes []string
	c := New(newFake(), Config{Records: store, Loopback: true, Progress: func(text string) { notes = append(notes, text) }})

	past, gone := leftOf(t, c.Executions(t.Context(), "ann"))
	require.Len(t, past, 3)
	require.Contains(t, gone[0], says)
	_, err = c.Edits(t.Context(), "ann")
	require.ErrorContains(t, err, says)
	_, err = c.State(t.Context(), "ann")
	require.ErrorContains(t, err, says)
	_, err = c.Fork(t.Context(), Point{ID: "ann"}, ForkOptions{Prompt: "on"})
	require.ErrorContains(t, err, says)
	_, err = c.Fork(t.Context(), Point{ID: "ann"}, ForkOptions{Prompt: "on", Budget: steps(-1)})
	requireClass(t, err, Invalid) // before the origin is read
	x, err := c.Export(t.Context(), "ann", 0)
	require.NoError(t, err)
	require.Len(t, x.Records, 3)
	require.Contains(t, x.Gone[0], says)

	require.Len(t, collected(t, c.Messages(t.Context(), "ann")), 6)
	require.NotEmpty(t, collected(t, c.Steps(t.Context(), "ann", 0)))
	result, err := c.Result(t.Context(), "ann", 0)
	require.NoError(t, err)
	require.Equal(t, 3, result.Number)
	_, err = c.Status(t.Context(), "ann")
	require.NoError(t, err)
	require.Contains(t, notes[len(notes)-1], says)
}

// TestTheNewestRecordCannotBeRead: where it is damaged, of a newer build, or missing while where the session was moved to after it
// is recorded, nobody says that nothing was taken back. What the other records have is shown, and what is missing is named.
func TestTheNewestRecordCannotBeRead(t *testing.T) {
	t.Parallel()
	damage := func(object string) func(*testing.T, string) {
		return func(t *testing.T, file string) { require.NoError(t, os.WriteFile(file, []byte(object), 0o600)) }
	}
	for name, test := range map[string]struct {
		spoil func(t *testing.T, file string)
		says  string
	}{
		"damaged":          {damage("x"), "cannot be read"},
		"of a newer build": {damage(`{"format":"everstep-records","schema_version":2,"build":"v9","records":1}` + "\n"), "written by build v9"},
		"missing":          {func(t *testing.T, file string) { require.NoError(t, os.Remove(file)) }, "execution 3 of ann is not among the records"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, dir := movedTo(t, 3, account.Position{Edits: domain.Edits{TakenBack: []domain.Span{{From: 2, To: 6}}}})
			files, err := filepath.Glob(filepath.Join(dir, "*", "000003-*"))
			require.NoError(t, err)
			require.Len(t, files, 2)
			test.spoil(t, files[0])
			c := New(newFake(), Config{Records: store, Loopback: true})

			const untold = "whether ann was rewound or cleared since execution 2 is not told: "
			_, err = c.Edits(t.Context(), "ann")
			require.ErrorIs(t, err, &Error{Class: Gone})
			require.ErrorContains(t, err, untold)
			require.ErrorContains(t, err, test.says)
			_, err = c.State(t.Context(), "ann")
			require.ErrorContains(t, err, untold)
			_, err = c.Fork(t.Context(), Point{ID: "ann"}, ForkOptions{Prompt: "on"})
			require.ErrorContains(t, err, untold)

			said, gone := leftOf(t, c.Messages(t.Context(), "ann"))
			require.Len(t, said, 4, "the messages of the executions before it")
			require.Contains(t, gone[0], test.says)
			for range c.Executions(t.Context(), "ann") {
				break // whoever has enough is told nothing more
			}
			past, gone := leftOf(t, c.Executions(t.Context(), "ann"))
			require.Len(t, past, 2)
			require.Contains(t, gone[0], test.says)
			x, err := c.Export(t.Context(), "ann", 0)
			require.NoError(t, err)
			require.Len(t, x.Records, 2)
			require.Contains(t, x.Gone[0], test.says)
			_, err = c.Result(t.Context(), "ann", 0)
			require.ErrorContains(t, err, test.says)
			result, err := c.Result(t.Context(), "ann", 2)
			require.NoError(t, err)
			require.Equal(t, 2, result.Number)
		})
	}
}
