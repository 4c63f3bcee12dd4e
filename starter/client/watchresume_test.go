package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestFollowGoesOnWhereItWas: the next execution of a session is followed from there, with the events that a client has which
// has followed none, and without what came before.
func TestFollowGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	f := newFake(run)
	c := f.client()
	follow := func(c *Client, number int) (events []Event, read int) {
		before := f.read
		for e, err := range c.Follow(t.Context(), "nora", FollowOptions{Number: number}) {
			require.NoError(t, err)
			events = append(events, e)
		}
		return events, f.read - before
	}
	run.answers(1, 1, "looking", domain.ToolCall{Name: "read_file"})
	run.completes(run.calls(1, 1, 0, "read_file"), contract.ToolReply{Content: "text"})
	run.answers(1, 2, "one")
	run.ends(outcomeOf(1, 2))
	_, first := follow(c, 1)
	require.GreaterOrEqual(t, first, len(run.events))
	for n := 2; n <= 5; n++ {
		before := len(run.events)
		run.sent(n)
		run.answers(n, 1, "again")
		run.ends(outcomeOf(n, 1))
		want, all := follow(f.client(), n)
		got, fresh := follow(c, n)
		require.Equal(t, want, got)
		require.Equal(t, EventBegan, got[0].Type)
		require.Equal(t, EventEnded, got[len(got)-1].Type)
		require.Greater(t, all, before)
		require.LessOrEqual(t, fresh, len(run.events)-before)
	}

	// An execution before is read from the beginning, and so is the next one where nobody followed up to it.
	events, read := follow(c, 3)
	require.Equal(t, EventEnded, events[len(events)-1].Type)
	require.Greater(t, read, 10)
	for n := 6; n <= 8; n++ {
		run.sent(n)
		run.answers(n, 1, "again")
		run.ends(outcomeOf(n, 1))
	}
	want, _ := follow(f.client(), 8)
	got, _ := follow(c, 8)
	require.Equal(t, want, got, "what was not followed is passed over")
}

// TestStandingsAreOfOneSession, each used once, and not more than some.
func TestStandingsAreOfOneSession(t *testing.T) {
	t.Parallel()
	var s standings
	s.leave(leftStanding{session: "a", number: 1})
	s.leave(leftStanding{session: "a", number: 3})
	_, ok := s.take("b", 4)
	require.False(t, ok, "another session of a name begins anew")
	_, ok = s.take("a", 3)
	require.False(t, ok, "its beginning is behind")
	_, ok = s.take("a", 4)
	require.True(t, ok)
	_, ok = s.take("a", 4)
	require.False(t, ok, "somebody goes on from it")
	for n := range 2 * mostStandings {
		s.leave(leftStanding{session: fmt.Sprint(n)})
	}
	require.Len(t, s.all, mostStandings)
	_, ok = s.take(fmt.Sprint(2*mostStandings-1), 1)
	require.True(t, ok)
}
