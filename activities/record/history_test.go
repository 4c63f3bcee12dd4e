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

// TestAnAgentReadsItsOwnPast and no other's: neither another agent's, nor that of another session of its name.
func TestAnAgentReadsItsOwnPast(t *testing.T) {
	t.Parallel()
	store, _ := inDirectory(t)
	ann, bob := stores.Sample(t, "ann", 30), stores.Sample(t, "bob", 1)
	for _, r := range append(ann, bob...) {
		require.NoError(t, store.Record(t.Context(), r))
	}
	asks := func(id domain.AgentID, past domain.EarlierExecutions, arguments string) (string, error) {
		ctx := tool.WithExecution(context.Background(), tool.Call{AgentID: id, Earlier: &past})
		result, err := store.Tool().Call(ctx, arguments)
		return result.Content, err
	}
	id := ann[0].AgentID
	now := domain.EarlierExecutions{FirstRunID: "first-run"}
	listed, err := asks(id, now, `{}`)
	require.NoError(t, err)
	require.Contains(t, listed, "execution 30: stopped (user_requested), 1 steps")
	require.Contains(t, listed, "there are more: before 11 lists those")
	require.NotContains(t, listed, "bob")
	listed, err = asks(id, now, `{"before": 2}`)
	require.NoError(t, err)
	require.Contains(t, listed, "execution 1: completed")
	one, err := asks(id, now, `{"number": 2}`)
	require.NoError(t, err)
	require.Contains(t, one, "answered: Nothing.\nstep 1: final_response")
	_, err = asks(id, now, `{"number": 99}`)
	require.ErrorContains(t, err, "number: no execution 99")

	later := domain.EarlierExecutions{FirstRunID: "another-run"}
	listed, err = asks(id, later, `{}`)
	require.NoError(t, err)
	require.Equal(t, "no earlier execution of this session is recorded", listed, "another session of the name acts for somebody else")
	_, err = asks(id, later, `{"number": 2}`)
	require.Error(t, err)
	later.Origins = []domain.ExecutionID{ann[4].ExecutionID}
	listed, err = asks(id, later, `{}`)
	require.NoError(t, err)
	require.Contains(t, listed, "execution 5: ", "it goes on from this one")
	require.NotContains(t, listed, "execution 4: ")
	_, err = asks(id, now, `{"number": 2.0}`)
	require.ErrorContains(t, err, "number: is 2.0; give a whole number, without a point")
	fork := domain.AgentID{UUID: uuid.New()} // another agent, for whom somebody else may ask: it knows what it was given of its origin
	listed, err = asks(fork, domain.EarlierExecutions{FirstRunID: "fork-run", Origins: []domain.ExecutionID{ann[4].ExecutionID}}, `{}`)
	require.NoError(t, err)
	require.Equal(t, "no earlier execution of this session is recorded", listed)
	_, err = asks(fork, domain.EarlierExecutions{FirstRunID: "first-run", Origins: []domain.ExecutionID{ann[4].ExecutionID}}, `{"number": 5}`)
	require.ErrorContains(t, err, "number: no execution 5")
	_, err = store.Tool().Call(tool.WithExecution(context.Background(), tool.Call{AgentID: id}), `{}`)
	require.ErrorContains(t, err, "which session")
	listed, _ = asks(domain.AgentID{UUID: uuid.New()}, now, `{"agent_id": "`+id.String()+`"}`)
	require.NotContains(t, listed, "execution 1")
}

// TestAnAgentReadsTheTextOfItsPresentPathAlone: of what a clear or a rewind has taken back it reads how that ended.
func TestAnAgentReadsTheTextOfItsPresentPathAlone(t *testing.T) {
	t.Parallel()
	store, _ := inDirectory(t)
	all := stores.Sample(t, "ann", 3)
	for _, r := range all {
		require.NoError(t, store.Record(t.Context(), r))
	}
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
			ctx := tool.WithExecution(context.Background(), tool.Call{AgentID: all[0].AgentID, Earlier: &past})
			listed, err := store.Tool().Call(ctx, `{}`)
			require.NoError(t, err)
			line := strings.Split(listed.Content, "\n")[1]
			require.Contains(t, line, "execution 2: "+string(all[1].Status))
			require.Equal(t, test.asked, strings.Contains(line, "asked: "), line)
			one, err := store.Tool().Call(ctx, `{"number": 2}`)
			require.NoError(t, err)
			require.Contains(t, one.Content, "execution 2: "+string(all[1].Status))
			require.Contains(t, one.Content, test.says)
			require.Equal(t, test.asked, strings.Contains(one.Content, asked), one.Content)
			require.Equal(t, test.step, strings.Contains(one.Content, answered), one.Content)
			require.Equal(t, test.step, strings.Contains(one.Content, "step 1: "), one.Content)
		})
	}
}

// TestAnAgentDoesNotReadWhatCameOutOfAFile, whoever wrote that.
func TestAnAgentDoesNotReadWhatCameOutOfAFile(t *testing.T) {
	t.Parallel()
	store, _ := inDirectory(t)
	all := stores.Sample(t, "ann", 2)
	require.NoError(t, store.Record(t.Context(), all[0]))
	_, err := record.Import(t.Context(), store, record.All(strings.NewReader(written(t, all...))), time.Now())
	require.NoError(t, err)
	ctx := tool.WithExecution(context.Background(), tool.Call{AgentID: all[0].AgentID, Earlier: &domain.EarlierExecutions{FirstRunID: all[0].Head.Run.First}})
	result, err := store.Tool().Call(ctx, `{}`)
	require.NoError(t, err)
	require.Contains(t, result.Content, "execution 1: ")
	require.NotContains(t, result.Content, "execution 2: ")
	_, err = store.Tool().Call(ctx, `{"number": 2}`)
	require.Error(t, err)
}
