package account

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestOriginsAreCounted: a status says by its number from which execution of the agent one goes on, whoever tells it.
func TestOriginsAreCounted(t *testing.T) {
	t.Parallel()
	agent, other := domain.AgentID{UUID: uuid.New()}, domain.AgentID{UUID: uuid.New()}
	const run = "run-1"
	for name, test := range map[string]struct {
		name         string
		origin       *domain.Origin
		from         *domain.Origin
		want, wantTo int
	}{
		"a session":                  {name: "notes", origin: &domain.Origin{ExecutionID: agent.Execution(run, 2)}, want: 2},
		"one that was rewound":       {name: "notes", origin: &domain.Origin{ExecutionID: agent.Execution(run, 1), AgentID: agent}, want: 1},
		"one that will be":           {name: "notes", from: &domain.Origin{ExecutionID: agent.Execution(run, 3), AgentID: agent}, wantTo: 3},
		"one without a name":         {origin: &domain.Origin{ExecutionID: agent.Execution("another run", 2)}, want: 2},
		"a fork":                     {name: "notes", origin: &domain.Origin{ExecutionID: other.Execution(run, 2), AgentID: other}},
		"a fork without a name":      {origin: &domain.Origin{ExecutionID: other.Execution(run, 2), AgentID: other}},
		"one that goes on from none": {name: "notes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Head{AgentID: agent, Name: test.name, Run: Run{First: run}, Position: Position{From: test.from}}
			h.Newest = &Execution{Outcome: contract.Outcome{Number: 3}, Origin: test.origin}
			require.Equal(t, []int{test.want, test.wantTo}, []int{h.OriginNumber(*h.Newest), h.RewoundToNumber()})
		})
	}
}
