package conversation_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
)

func TestRoomyIsHalfwayToTheTarget(t *testing.T) {
	t.Parallel()
	r := resolved(1000, "")
	require.True(t, begun(600, r).Roomy(r))
	require.False(t, begun(601, r).Roomy(r))
}

func TestResultsThatJustFitStay(t *testing.T) {
	t.Parallel()
	r := resolved(1000, "")
	fits := say(withCalls(begun(20, r), 1, 200), 1, answer(20), false)
	require.Zero(t, fits.WithResultsCleared(r).Edits().Cleared)
	c := say(withCalls(begun(20, r), 1, 150, 180), 1, answer(20), false).WithResultsCleared(r)
	require.Equal(t, 3, c.Edits().Cleared)
	c = say(withCalls(c, 1, 100), 1, answer(20), false).WithResultsCleared(r)
	require.Equal(t, 4, c.Edits().Cleared, "the first that was left is looked at again")
}

// uncompacted is of a run that kept nothing for compactions.
var uncompacted = &contract.Resolved{}

// Of messages that left memory before there was compaction only the sum is known.
func TestWhatIsKnownByItsSumAlone(t *testing.T) {
	t.Parallel()
	r := resolved(8000, "")
	spoken := carried(t, begun(20, r), 1, uncompacted, chain(1))
	require.Zero(t, spoken.WithResultsCleared(r).Edits().Cleared, "there are no results")
	called := carried(t, withCalls(begun(20, r), 1, 150), 3, uncompacted, chain(1))
	require.Equal(t, 3, called.WithResultsCleared(r).Edits().Cleared)
	for hook, worth := range map[int]bool{200: true, 199: false} {
		c := carried(t, say(begun(300, r), 1, user(hook), true), 2, uncompacted, chain(1))
		_, enough := say(c, 1, answer(50), false).PlanSummary(r)
		require.Equal(t, worth, enough, "300 and %d make up half of a summary", hook)
	}
}

func TestWhatASummaryStandsFor(t *testing.T) {
	t.Parallel()
	r := resolved(8000, "")
	r.Definition.SystemPrompt = words(300)
	for name, c := range map[string]struct {
		c     conversation.Conversation
		to    int
		worth bool
	}{
		"what is kept just fits, and what is not is just worth it": {say(begun(500, r), 1, answer(1900), false), 1, true},
		"not worth it":                        {say(begun(499, r), 1, answer(1900), false), 1, false},
		"one more is not kept":                {say(begun(499, r), 1, answer(1901), false), 2, true},
		"what is unread just fits":            {begun(6700, r), 0, false},
		"what is unread does not fit":         {begun(6701, r), 1, true},
		"what is unread and more than kept":   {begun(3000, r), 0, false},
		"a call with all its unread results":  {withCalls(say(begun(2000, r), 1, answer(1000), false), 1, 2500, 500), 2, true},
		"results that the window cannot hold": {withCalls(say(begun(2000, r), 1, answer(1000), false), 1, 7500, 500), 5, true},
	} {
		plan, worth := c.c.PlanSummary(r)
		require.Equal(t, c.to, plan.Request().To, name)
		require.Equal(t, c.worth, worth, name)
	}
	unknown, _ := begun(50, resolved(0, "")).PlanSummary(resolved(0, ""))
	require.Zero(t, unknown.Request().To, "nobody knows that it does not fit")
	more := begun(500, r).WithInference(domain.Usage{InputTokens: 900}, r)
	plan, _ := more.PlanSummary(r)
	require.EqualValues(t, 8000-100, plan.Request().Window, "as much less as was not estimated")
}

func TestTheSummaryInForceIsNotSummedUp(t *testing.T) {
	t.Parallel()
	r := resolved(8000, "")
	c := say(begun(3000, r), 1, answer(2200), false)
	c = summed(c, 900, r)
	again, worth := c.PlanSummary(r)
	require.Equal(t, 1, again.Request().To, "it takes nothing of what is kept")
	require.False(t, worth)
}

func TestResultsOutliveASummary(t *testing.T) {
	t.Parallel()
	r := resolved(8000, "")
	c := say(withCalls(say(begun(3000, r), 1, answer(100), false), 1, 1500, 1500), 1, answer(100), false).WithResultsCleared(r)
	require.Equal(t, 4, c.Edits().Cleared)
	before := c.Input(r)
	c = summed(c, 100, r)
	require.Equal(t, 1, c.Edits().Hidden)
	require.Equal(t, before-3000+100, c.Input(r))
	c = say(withCalls(c, 1, 500), 1, answer(100), false).WithResultsCleared(r)
	require.Equal(t, 5, c.Edits().Cleared, "the one that was left is counted")
	c = say(withCalls(say(begun(3000, r), 1, answer(100), false), 1, 1500), 1, answer(100), false)
	c = summed(c, 100, r)
	require.Equal(t, 4, say(withCalls(c, 1, 500), 1, answer(100), false).WithResultsCleared(r).Edits().Cleared, "none was cleared before")
}

func TestASummaryIsReplacedWhereverItStands(t *testing.T) {
	t.Parallel()
	r := resolved(8000, "")
	input := map[int]int64{}
	for left := range 3 { // nothing, all before the summary, the summary too
		c := begun(200, r)
		for range 6 {
			c = say(withCalls(c, 1, 500, 100), 1, answer(300), false)
		}
		c = summed(c, 100, r)
		if left > 0 {
			c = carried(t, c, c.Len()-2+left, r, chain(1))
		}
		c = say(withCalls(c, 1, 500, 100), 1, answer(300), false)
		input[left] = summed(c, 100, r).Input(r)
	}
	require.Equal(t, input[0], input[1])
	require.Equal(t, input[0], input[2])
}

func TestStepInput(t *testing.T) {
	t.Parallel()
	r := resolved(1000, "own")
	require.Equal(t, domain.Compiler("own"), begun(20, r).StepInput().Compiler)
	require.Equal(t, domain.WholeConversation, begun(20, resolved(1000, "")).StepInput().Compiler)
	require.Nil(t, begun(20, r).StepInput().Sections, "nothing was summed up")
	require.Nil(t, begun(20, r).Origins())
	require.Equal(t, chain(1), conversation.New("").WithExecution(chain(2, 1), true, nil).Origins())
}

// TestWhatIsHandedOnIsBounded, however long the conversation has become: of the oldest
// messages the sum is known, and they can be cleared and summed up all the same.
func TestWhatIsHandedOnIsBounded(t *testing.T) {
	t.Parallel()
	const long = 300_000
	r := resolved(1_000_000, "")
	carry := contract.CarriedConversation{Base: long, TokenIndex: make([]int64, long), ShownTokens: contract.ShownTokens{Visible: 900_000}}
	for i := range carry.TokenIndex {
		carry.TokenIndex[i] = 3<<5 | 1<<4 // three tokens, shown
	}
	c, err := conversation.FromCarry(carry, "", chain(1))
	require.NoError(t, err)
	next := c.Carry(long, r)
	require.Len(t, next.TokenIndex, 32<<10)
	encoded, err := json.Marshal(next)
	require.NoError(t, err)
	require.Less(t, len(encoded), 300<<10)
	again, err := conversation.FromCarry(next, "", chain(1))
	require.NoError(t, err)
	require.Equal(t, c.Input(r), again.Input(r))
	_, worth := again.PlanSummary(r)
	require.True(t, worth)
}
