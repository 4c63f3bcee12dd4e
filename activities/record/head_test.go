package record_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/testsuite/stores"
)

// TestARecordHasTheHeadOfItsExecution: who has started the agent, and what was in force by then, hand-overs too.
func TestARecordHasTheHeadOfItsExecution(t *testing.T) {
	t.Parallel()
	parent := domain.AgentID{UUID: uuid.New()}
	told := accountOf(t, stores.Sample(t, "ann", 2)[1])
	told.Head.Parent = &account.Parent{AgentID: parent, Subagent: "researcher"}
	told.Head.Configuration.Changes = []contract.Change{
		{Number: 1, Fields: []string{"model"}}, {Number: 2, Agent: "billing", Step: 1, ToolsAdded: []string{"refund"}}, {Number: 3, Agent: "later"},
	}
	_, err := record.Of(told)
	require.ErrorContains(t, err, "head.parent.agent_id: is "+parent.String(), "the state knows of none")

	id := fmt.Sprintf(`"agent_id":%q`, told.Head.AgentID)
	e := &told.Executions[0]
	e.State = []byte(strings.Replace(string(e.State), id, fmt.Sprintf(`%s,"parent_agent_id":%q`, id, parent), 1))
	made, err := record.Of(told)
	require.NoError(t, err)
	read, err := record.Read(strings.NewReader(written(t, made)))
	require.NoError(t, err)
	head := accountOf(t, read[0]).Head
	require.Equal(t, told.Head.Parent, head.Parent)
	require.Equal(t, told.Head.Configuration.Changes[:2], head.Configuration.Changes, "what was changed later is of another execution")
}

func accountOf(t *testing.T, r record.Record) account.Account {
	t.Helper()
	a, err := r.Account()
	require.NoError(t, err)
	return a
}
