package record_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/testsuite/stores"
)

// asks is what the tool for its past says to an agent, or its error.
func asks(t *testing.T, store *record.Store, id domain.AgentID, past *domain.EarlierExecutions, arguments string) string {
	t.Helper()
	result, err := store.Tool().Call(tool.WithExecution(context.Background(), tool.Call{AgentID: id, Earlier: past}), arguments)
	if err != nil {
		return "error: " + err.Error()
	}
	return result.Content
}

// TestAnAgentReadsItsOwnPast and no other's: neither another agent's, nor that of another session of its name.
func TestAnAgentReadsItsOwnPast(t *testing.T) {
	t.Parallel()
	store, _ := inDirectory(t)
	ann, bob := stores.Sample(t, "ann", 30), stores.Sample(t, "bob", 1)
	keep(t, store, append(ann, bob...)...)
	const none = "no earlier execution of this session is recorded"
	id, another, fifth := ann[0].AgentID, domain.AgentID{UUID: uuid.New()}, []domain.ExecutionID{ann[4].ExecutionID}
	now, later := domain.EarlierExecutions{FirstRunID: "first-run"}, domain.EarlierExecutions{FirstRunID: "another-run"}
	for name, c := range map[string]struct {
		id        domain.AgentID
		past      *domain.EarlierExecutions
		arguments string
		says      []string
	}{
		"the newest":      {id, &now, `{}`, []string{"execution 30: stopped (user_requested), 1 steps", "there are more: before 11 lists those"}},
		"those before":    {id, &now, `{"before": 2}`, []string{"execution 1: completed"}},
		"one":             {id, &now, `{"number": 2}`, []string{"answered: Nothing.\nstep 1: final_response"}},
		"one that is not": {id, &now, `{"number": 99}`, []string{"error: number: no execution 99"}},
		"no whole number": {id, &now, `{"number": 2.0}`, []string{"number: is 2.0; give a whole number, without a point"}},
		"no session":      {id, nil, `{}`, []string{"error: ", "which session"}},
		"of somebody else, who acts under the same name": {id, &later, `{}`, []string{none}},
		"one of somebody else":                           {id, &later, `{"number": 2}`, []string{"error: "}},
		"of what it goes on from":                        {id, &domain.EarlierExecutions{FirstRunID: "another-run", Origins: fifth}, `{}`, []string{"execution 5: "}},
		// A fork is another agent, for whom somebody else may ask: it knows what it was given of its origin.
		"a fork's":                         {another, &domain.EarlierExecutions{FirstRunID: "fork-run", Origins: fifth}, `{}`, []string{none}},
		"one of a fork":                    {another, &domain.EarlierExecutions{FirstRunID: "first-run", Origins: fifth}, `{"number": 5}`, []string{"error: number: no execution 5"}},
		"of an agent that it names itself": {another, &now, `{"agent_id": "` + id.String() + `"}`, nil},
	} {
		told := asks(t, store, c.id, c.past, c.arguments)
		for _, says := range c.says {
			require.Contains(t, told, says, name)
		}
		require.NotContains(t, told, "bob", name)
		require.NotContains(t, told, "execution 4: ", name)
		require.False(t, c.id == another && strings.Contains(told, "execution 1"), name)
	}
}

// TestAnAgentReadsTheTextOfItsPresentPathAlone: of what a clear or a rewind has taken back it reads how that ended.
func TestAnAgentReadsTheTextOfItsPresentPathAlone(t *testing.T) {
	t.Parallel()
	store, _ := inDirectory(t)
	all := stores.Sample(t, "ann", 3)
	keep(t, store, all...)
	asked, answered := fmt.Sprintf("asked: %s", all[1].Messages[0].Message.Text()), "answered: "+all[1].Ended.Answer
	for name, test := range map[string]struct {
		span        domain.Span
		says        string
		asked, step bool
	}{
		"taken back":            {domain.Span{From: all[1].MessagesFrom, To: all[2].MessagesTo, By: 4}, "a rewind has taken it back", false, false},
		"cleared":               {domain.Span{To: all[2].MessagesTo, By: 4, Cleared: true}, "the conversation was cleared since", false, false},
		"taken back after that": {domain.Span{From: all[1].MessagesFrom + 1, To: all[2].MessagesTo, By: 4}, "a rewind has taken back what came after step 0", true, false},
		"another one":           {domain.Span{From: all[2].MessagesFrom, To: all[2].MessagesTo, By: 4}, answered, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			past := domain.EarlierExecutions{FirstRunID: all[0].Head.Run.First, TakenBack: []domain.Span{test.span}}
			line := strings.Split(asks(t, store, all[0].AgentID, &past, `{}`), "\n")[1]
			require.Contains(t, line, "execution 2: "+string(all[1].Status))
			require.Equal(t, test.asked, strings.Contains(line, "asked: "), line)
			one := asks(t, store, all[0].AgentID, &past, `{"number": 2}`)
			require.Contains(t, one, "execution 2: "+string(all[1].Status))
			require.Contains(t, one, test.says)
			require.Equal(t, test.asked, strings.Contains(one, asked), one)
			require.Equal(t, test.step, strings.Contains(one, answered), one)
			require.Equal(t, test.step, strings.Contains(one, "step 1: "), one)
		})
	}
}

// TestAnAgentDoesNotReadWhatCameOutOfAFile, whoever wrote that.
func TestAnAgentDoesNotReadWhatCameOutOfAFile(t *testing.T) {
	t.Parallel()
	store, _ := inDirectory(t)
	all := stores.Sample(t, "ann", 2)
	keep(t, store, all[0])
	_, err := record.Import(t.Context(), store, record.All(strings.NewReader(written(t, all...))), time.Now())
	require.NoError(t, err)
	past := domain.EarlierExecutions{FirstRunID: all[0].Head.Run.First}
	listed := asks(t, store, all[0].AgentID, &past, `{}`)
	require.Contains(t, listed, "execution 1: ")
	require.NotContains(t, listed, "execution 2: ")
	require.Contains(t, asks(t, store, all[0].AgentID, &past, `{"number": 2}`), "error: ")
}
