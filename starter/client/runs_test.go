package client

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/domain/contract"
)

// stepsHeld is a worker whose runs hold ranges of the steps of nora's first
// execution, two to a page.
func stepsHeld(ranges map[string][2]int) func(context.Context, string, string, any) (any, error) {
	return func(_ context.Context, runID, _ string, in any) (any, error) {
		r := in.(contract.StepsRequest)
		first, last := ranges[runID][0], ranges[runID][1]
		page := contract.StepsPage{ExecutionID: nth(1), Number: 1, First: first}
		for n := max(r.From, first); first > 0 && n <= last; n++ {
			if len(page.Steps) == 2 {
				page.Next = n
				break
			}
			page.Steps = append(page.Steps, domain.StepExecution{Step: domain.AgentStep{ID: nth(1).Step(n), Number: n}}.Wire())
		}
		return page, nil
	}
}

// threeRuns is a chain of three runs in the middle of nora's first execution, each of which takes over what
// is before its range.
func threeRuns[N int | int64](ranges map[string][2]N) *fakeServer {
	f, last := newFake(newRun("run-1", nil)), ranges["run-1"][1]
	for _, id := range []string{"run-2", "run-3"} {
		held, ok := ranges[id]
		if !ok {
			held = [2]N{last + 1, last}
		}
		carry := inMidst(1, int(held[0])-1)
		carry.Base, carry.Sequence, last = int(held[0]), int64(held[0])-1, held[1]
		f.runs = append(f.runs, newRun(id, carry).continues(f.newest().id))
	}
	return f
}

func TestStepsJoinTheRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ranges  map[string][2]int
		deleted string
		want    []int
		gone    string
	}{
		"whole":                     {map[string][2]int{"run-1": {1, 5}, "run-2": {6, 8}, "run-3": {9, 9}}, "", []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, ""},
		"a run that overlaps":       {map[string][2]int{"run-1": {1, 5}, "run-2": {4, 8}, "run-3": {9, 9}}, "", []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, ""},
		"the newest has none yet":   {map[string][2]int{"run-1": {1, 5}, "run-2": {6, 8}}, "", []int{1, 2, 3, 4, 5, 6, 7, 8}, ""},
		"the newest holds them all": {map[string][2]int{"run-3": {1, 4}}, "", []int{1, 2, 3, 4}, ""},
		"none yet":                  {map[string][2]int{}, "", nil, ""},
		"the first was deleted":     {map[string][2]int{"run-2": {6, 8}, "run-3": {9, 9}}, "run-1", []int{6, 7, 8, 9}, "steps 1 to 5 can no longer be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := threeRuns(c.ranges)
			f.query = stepsHeld(c.ranges)
			f.deleted[c.deleted] = true
			var got []int
			var gone string
			for step, err := range f.client().Steps(t.Context(), "nora", 0) {
				if err != nil {
					requireClass(t, err, Gone)
					require.Empty(t, got, "told before what is left")
					gone = err.Error()
					continue
				}
				got = append(got, step.Step.Number)
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.gone, gone)
		})
	}
}

func TestStepsOfAnExecutionThatNoRunKnows(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.ends(outcomeOf(1, 3))
	run.sent(2)
	f := newFake(run)
	f.query = answering(contract.StepsPage{ExecutionID: nth(2), Number: 2})
	var last error
	for _, err := range f.client().Steps(t.Context(), "nora", 1) {
		last = err
	}
	requireClass(t, last, Gone)
}

// messagesHeld is a worker whose runs hold ranges of nora's transcript, from
// up to but not including to, two to a page.
func messagesHeld(ranges map[string][2]int) func(context.Context, string, string, any) (any, error) {
	return func(_ context.Context, runID, _ string, in any) (any, error) {
		r := in.(contract.MessagesRequest)
		base, length := ranges[runID][0], ranges[runID][1]
		page := contract.MessagesPage{From: max(r.From, base), Base: base, Length: length}
		limit := 2
		if r.Limit > 0 {
			limit = r.Limit
		}
		for i := page.From; i < min(length, page.From+limit); i++ {
			page.Entries = append(page.Entries, domain.Entry{Index: i, Message: domain.UserMessage("x")})
		}
		return page, nil
	}
}

func TestMessagesJoinTheRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ranges  map[string][2]int
		deleted string
		want    []int
		gone    []string
	}{
		"whole":            {map[string][2]int{"run-1": {0, 5}, "run-2": {3, 7}, "run-3": {7, 9}}, "", []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, nil},
		"nothing live":     {map[string][2]int{"run-1": {0, 2}, "run-2": {2, 3}, "run-3": {3, 3}}, "", []int{0, 1, 2}, nil},
		"the first gone":   {map[string][2]int{"run-2": {3, 5}, "run-3": {5, 6}}, "run-1", []int{3, 4, 5}, []string{"messages 0 to 2 can no longer be read"}},
		"all of them gone": {map[string][2]int{"run-3": {4, 4}}, "run-2", nil, []string{"messages 0 to 3 can no longer be read"}},
		"a gap":            {map[string][2]int{"run-1": {0, 2}, "run-2": {4, 5}, "run-3": {5, 6}}, "", []int{0, 1, 4, 5}, []string{"messages 2 to 3 can no longer be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := threeRuns(c.ranges)
			f.query = messagesHeld(c.ranges)
			f.deleted[c.deleted] = true
			var got []int
			var gone []string
			for entry, err := range f.client().Messages(t.Context(), "nora") {
				if err != nil {
					requireClass(t, err, Gone)
					gone = append(gone, err.Error())
					continue
				}
				got = append(got, entry.Index)
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.gone, gone)
		})
	}
}

// TestReadingAsksARunOnce: a question to a run that has ended replays the whole run. What each holds
// is known from what it began with.
func TestReadingAsksARunOnce(t *testing.T) {
	t.Parallel()
	held := map[string][2]int{"run-1": {1, 2}, "run-2": {3, 4}, "run-3": {5, 6}}
	for name, c := range map[string]struct {
		query func(context.Context, string, string, any) (any, error)
		read  func(c *Client) error
		want  int32
	}{
		"steps": {stepsHeld(held), func(c *Client) error {
			for _, err := range c.Steps(t.Context(), "nora", 0) {
				if err != nil {
					return err
				}
			}
			return nil
		}, 3},
		"messages": {messagesHeld(map[string][2]int{"run-1": {0, 2}, "run-2": {2, 4}, "run-3": {4, 6}}), func(c *Client) error {
			for _, err := range c.Messages(t.Context(), "nora") {
				if err != nil {
					return err
				}
			}
			return nil
		}, 3},
		"explain": {stepsHeld(held), func(c *Client) error {
			_, err := c.Explain(t.Context(), "nora", 0)
			return err
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := threeRuns(held)
			if name == "messages" {
				f = threeRuns(map[string][2]int{"run-2": {2, 4}, "run-3": {4, 6}})
			}
			var asked atomic.Int32
			f.query = func(ctx context.Context, runID, query string, in any) (any, error) {
				asked.Add(1)
				return c.query(ctx, runID, query, in)
			}
			require.NoError(t, c.read(f.client()))
			require.Equal(t, c.want, asked.Load())
		})
	}
}

// TestRunsAreAskedSideBySide: each question takes a replay, so no answer comes before three are under way;
// but explain learns from the first one whether a worker answers.
func TestRunsAreAskedSideBySide(t *testing.T) {
	t.Parallel()
	held := map[string][2]int{"run-1": {1, 2}, "run-2": {3, 4}, "run-3": {5, 6}, "run-4": {7, 8}}
	for name, read := range map[string]func(c *Client) error{
		"steps": func(c *Client) error {
			for _, err := range c.Steps(t.Context(), "nora", 0) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"explain": func(c *Client) error {
			_, err := c.Explain(t.Context(), "nora", 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := threeRuns(held)
			f.runs = append(f.runs, newRun("run-4", inMidst(1, 6)).continues("run-3"))
			var mu sync.Mutex
			asked, enough, all := 0, 3, make(chan struct{})
			if name == "explain" {
				enough = 4
			}
			f.query = func(ctx context.Context, runID, query string, in any) (any, error) {
				mu.Lock()
				if asked++; asked == enough {
					close(all)
				}
				alone := name == "explain" && asked == 1
				mu.Unlock()
				if !alone {
					select {
					case <-all:
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				return stepsHeld(held)(ctx, runID, query, in)
			}
			require.NoError(t, read(f.client()))
			require.Equal(t, 4, asked)
		})
	}
}

// TestReadingAsksNoRunOfOtherExecutions: those before and after are none of its business.
func TestReadingAsksNoRunOfOtherExecutions(t *testing.T) {
	t.Parallel()
	later := &contract.Carry{Outcome: new(outcomeOf(2, 1)), State: must(json.Marshal(map[string]any{"execution_count": 2}))}
	f := newFake(newRun("run-1", nil), newRun("run-2", inMidst(1, 2)).continues("run-1"), newRun("run-3", inMidst(2, 1)).continues("run-2"), newRun("run-4", later).continues("run-3"))
	f.query = func(ctx context.Context, runID, query string, in any) (any, error) {
		require.Contains(t, []string{"run-1", "run-2"}, runID)
		return stepsHeld(map[string][2]int{"run-1": {1, 2}, "run-2": {3, 4}})(ctx, runID, query, in)
	}
	n := 0
	for _, err := range f.client().Steps(t.Context(), "nora", 1) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 4, n)
}

// TestAPageThatTheServerRefusesIsAskedForSmaller: what cannot be compressed is too much for it.
func TestAPageThatTheServerRefusesIsAskedForSmaller(t *testing.T) {
	t.Parallel()
	held := map[string][2]int{"run-1": {1, 2}, "run-2": {3, 4}, "run-3": {5, 6}}
	f := threeRuns(held)
	f.query = func(ctx context.Context, runID, query string, in any) (any, error) {
		if in.(contract.StepsRequest).Large {
			return nil, serviceerror.NewQueryFailed("blob size exceeds limit")
		}
		return stepsHeld(held)(ctx, runID, query, in)
	}
	n := 0
	for _, err := range f.client().Steps(t.Context(), "nora", 0) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 6, n)
}
