package client

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite/stores"
)

// TestWhatRewindsHaveTakenBack is marked: with the execution that goes on without it, and from which step on.
func TestWhatRewindsHaveTakenBack(t *testing.T) {
	t.Parallel()
	id := stores.Sample(t, "ann", 1)[0].AgentID
	type to struct{ number, step int }
	type back map[int]TakenBack
	for name, test := range map[string]struct {
		n       int
		rewinds map[int]to
		gone    int
		want    back
	}{
		"none":                          {n: 4, want: back{}},
		"to a step":                     {n: 3, rewinds: map[int]to{3: {1, 1}}, want: back{1: {3, 1}, 2: {By: 3}}},
		"to an end":                     {n: 3, rewinds: map[int]to{3: {1, 2}}, want: back{2: {By: 3}}},
		"to before an execution":        {n: 3, rewinds: map[int]to{3: {2, 0}}, want: back{2: {By: 3}}},
		"to the beginning":              {n: 3, rewinds: map[int]to{3: {1, 0}}, want: back{1: {By: 3}, 2: {By: 3}}},
		"taken back itself":             {n: 4, rewinds: map[int]to{3: {1, 1}, 4: {2, 2}}, want: back{3: {By: 4}}},
		"over one that was rewound":     {n: 5, rewinds: map[int]to{3: {1, 1}, 4: {2, 2}, 5: {1, 0}}, want: back{1: {By: 5}, 2: {By: 5}, 3: {By: 4}, 4: {By: 5}}},
		"one after the other":           {n: 5, rewinds: map[int]to{3: {1, 2}, 5: {1, 1}}, want: back{1: {5, 1}, 2: {By: 3}, 3: {By: 5}, 4: {By: 5}}},
		"what goes on from it":          {n: 5, rewinds: map[int]to{3: {1, 1}}, want: back{1: {3, 1}, 2: {By: 3}}},
		"before one that was rewound":   {n: 4, rewinds: map[int]to{3: {1, 1}, 4: {3, 0}}, want: back{1: {3, 1}, 2: {By: 3}, 3: {By: 4}}},
		"the next is yet to begin":      {n: 3, rewinds: map[int]to{4: {1, 1}}, want: back{1: {4, 1}, 2: {By: 4}, 3: {By: 4}}},
		"behind one that is gone":       {n: 5, rewinds: map[int]to{3: {1, 1}, 5: {4, 1}}, gone: 3, want: back{4: {5, 1}}},
		"to one that is gone":           {n: 4, rewinds: map[int]to{4: {1, 1}}, gone: 1, want: back{}},
		"over one that is gone":         {n: 4, rewinds: map[int]to{4: {1, 2}}, gone: 2, want: back{3: {By: 4}}},
		"to itself, as a file may say":  {n: 2, rewinds: map[int]to{2: {2, 0}}, want: back{}},
		"to a later, as a file may say": {n: 3, rewinds: map[int]to{2: {3, 0}, 3: {2, 0}}, want: back{2: {By: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin := func(n int) *domain.Origin {
				if r, ok := test.rewinds[n]; ok {
					return &domain.Origin{AgentID: id, ExecutionID: id.Execution("run", r.number), Step: r.step}
				}
				return nil
			}
			got := back{}
			var all []Past
			for n := 1; n <= test.n; n++ {
				past := Past{Execution: Execution{AgentID: id, ExecutionID: id.Execution("run", n), Number: n}, Steps: new(2), Origin: origin(n)}
				if n == test.n {
					past.NextOrigin = origin(n + 1)
				}
				if n != test.gone {
					all = append(all, past)
				}
			}
			markTakenBack(all)
			for _, past := range all {
				if past.TakenBack != nil {
					got[past.Number] = *past.TakenBack
				}
			}
			require.Equal(t, test.want, got)
		})
	}
}

// TestAForkTakesNothingBack: the origin of another agent is none of its own executions.
func TestAForkTakesNothingBack(t *testing.T) {
	t.Parallel()
	forked := Past{Execution: Execution{AgentID: domain.AgentID{UUID: uuid.New()}, Number: 2, ExecutionID: domain.ExecutionID{UUID: uuid.New()}}}
	forked.Origin = &domain.Origin{AgentID: domain.AgentID{UUID: uuid.New()}, ExecutionID: forked.ExecutionID}
	first := forked
	first.Number = 1
	all := []Past{first, forked}
	markTakenBack(all)
	require.Len(t, all, 2)
	require.Nil(t, all[0].TakenBack)
}
