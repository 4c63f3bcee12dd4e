package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/starter/client"
)

// What the tests ask of agents and what has to do well is here, under the names of the client's methods.

// starts begins an agent.
func (s *stack) starts(t testing.TB, start client.Start) client.Execution {
	t.Helper()
	begun, err := s.agents.Start(within(t), start)
	require.NoError(t, err)
	return begun
}

// sent sends a message, and waits for nothing.
func (s *stack) sent(t testing.TB, id string, o client.SendOptions) client.Execution {
	t.Helper()
	sent, err := s.agents.Send(within(t), id, o)
	require.NoError(t, err)
	return sent
}

// result waits for an execution, the newest where the number is zero.
func (s *stack) result(t testing.TB, id string, number int) client.Result {
	t.Helper()
	result, err := s.waits(within(t), id, number)
	require.NoError(t, err)
	return result
}

// completed is the result of an execution that has to complete.
func (s *stack) completed(t testing.TB, id string, number int) client.Result {
	t.Helper()
	result := s.result(t, id, number)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	return result
}

func (s *stack) status(t testing.TB, id string) account.Status {
	t.Helper()
	status, err := s.agents.Status(within(t), id)
	require.NoError(t, err)
	return status
}

func (s *stack) steps(t testing.TB, id string, number int) []domain.StepExecution {
	t.Helper()
	return collect(t, s.agents.Steps(within(t), id, number))
}

func (s *stack) messages(t testing.TB, id string) []domain.Entry {
	t.Helper()
	return collect(t, s.agents.Messages(within(t), id))
}

func (s *stack) explains(t testing.TB, id string, number int) client.ExplainView {
	t.Helper()
	view, err := s.agents.Explain(within(t), id, number)
	require.NoError(t, err)
	return view
}

func (s *stack) stops(t testing.TB, id string, o client.StopOptions) {
	t.Helper()
	_, err := s.agents.Stop(within(t), id, o)
	require.NoError(t, err)
}

func (s *stack) closes(t testing.TB, id string) {
	t.Helper()
	_, err := s.agents.Close(within(t), id)
	require.NoError(t, err)
}

func (s *stack) forks(t testing.TB, from client.Point, o client.ForkOptions) client.Execution {
	t.Helper()
	forked, err := s.agents.Fork(within(t), from, o)
	require.NoError(t, err)
	return forked
}

func (s *stack) rewinds(t testing.TB, to client.Point, o client.RewindOptions) client.Rewound {
	t.Helper()
	rewound, err := s.agents.Rewind(within(t), to, o)
	require.NoError(t, err)
	return rewound
}

func (s *stack) extends(t testing.TB, id string, o client.ExtendOptions) client.Extended {
	t.Helper()
	extended, err := s.agents.Extend(within(t), id, o)
	require.NoError(t, err)
	return extended
}

func (s *stack) exports(t testing.TB, id string, number int) client.Export {
	t.Helper()
	exported, err := s.agents.Export(within(t), id, number)
	require.NoError(t, err)
	return exported
}

func (s *stack) schedule(t testing.TB, name string) client.ScheduleView {
	t.Helper()
	view, err := s.agents.Schedule(within(t), name)
	require.NoError(t, err)
	return view
}

func (s *stack) pauses(t testing.TB, id string) {
	t.Helper()
	_, err := s.agents.Pause(within(t), id)
	require.NoError(t, err)
}

// over is a client that also reads some records.
func (s *stack) over(records client.RecordStore) *client.Client {
	return client.New(s.temporal, client.Config{TaskQueue: s.queue, Loopback: true, Records: records})
}
