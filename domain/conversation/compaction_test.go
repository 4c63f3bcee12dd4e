package conversation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
)

// begun is a conversation of an execution that takes so many tokens.
func begun(tokens int, r *contract.Resolved) conversation.Conversation {
	c := conversation.New(r.Definition.Compiler).WithExecution(chain(1), false, nil)
	return c.WithPrompt(executionID(1), words(tokens-4), noon)
}

func TestCrowded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		window int64
		change func(r *contract.Resolved)
		// most is how many tokens are not too many; negative: there is no bound.
		most int
	}{
		"a share of the window":                {window: 100_000, most: 80_000},
		"room for an answer of unknown length": {window: 12_000, most: 9_000},
		"room for the longest answer":          {window: 10_000, change: func(r *contract.Resolved) { r.MaxOutputTokens = 2_100 }, most: 7_900},
		"nobody knows the window":              {window: 0, most: -1},
		"not to be compacted":                  {window: 10_000, change: func(r *contract.Resolved) { r.Compaction.Off = true }, most: -1},
		"its sections would be lost": {window: 10_000, change: func(r *contract.Resolved) {
			r.Definition.Compiler, r.Definition.Sections = domain.SelectedSections, []string{"summary", "messages"}
		}, most: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resolved(c.window, "")
			if c.change != nil {
				c.change(r)
			}
			if c.most < 0 {
				require.False(t, begun(200_000, r).Crowded(r, false))
				return
			}
			require.False(t, begun(c.most, r).Crowded(r, false))
			require.True(t, begun(c.most+1, r).Crowded(r, false))
			require.True(t, begun(20, r).Crowded(r, true), "it has to become shorter anyway")
		})
	}
	r := resolved(0, "")
	require.True(t, begun(20, r).Crowded(r, true))
	r.Compaction.Off = true
	require.False(t, begun(20, r).Crowded(r, true))
}

func TestInput(t *testing.T) {
	t.Parallel()
	r := resolved(0, "")
	r.Definition.SystemPrompt = words(50)
	r.Tools = []domain.ToolSpec{{Name: words(2), Description: words(10), Schema: []byte(words(20))}}
	c := begun(100, r)
	require.EqualValues(t, 182, c.Input(r))
	r.Definition.Format = domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(words(30))}
	require.EqualValues(t, 272, c.Input(r))
	more := c.WithInference(domain.Usage{InputTokens: 300}, r)
	require.EqualValues(t, 300, more.Input(r), "what the provider counted more")
	require.Equal(t, 1, more.Inferences())
	require.EqualValues(t, 272, c.WithInference(domain.Usage{InputTokens: 200}, r).Input(r), "less says nothing where all is shown")
	require.EqualValues(t, 272, c.WithInference(domain.Usage{InputTokens: 300, Estimated: true}, r).Input(r))
	require.EqualValues(t, 272, more.WithOtherModel().Input(r))
	own := conversation.New("own").WithExecution(chain(1), false, r).WithPrompt(executionID(1), words(96), noon)
	require.EqualValues(t, 200, own.WithInference(domain.Usage{InputTokens: 200}, r).Input(r), "a compiler may show less")
	require.EqualValues(t, 172, own.WithInference(domain.Usage{InputTokens: 2}, r).Input(r), "what every request has is read in any case")
	require.EqualValues(t, 386, say(more, 1, user(86), true).Input(r), "what was counted more stays more")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	r := resolved(1000, "")
	c := begun(500, r).WithRefused(r, 0)
	require.EqualValues(t, 400, c.Window(r), "four fifths of what was refused")
	require.EqualValues(t, 250, begun(500, r).WithRefused(r, 250).Window(r), "as it was named")
	require.EqualValues(t, 400, begun(500, r).WithRefused(r, 900).Window(r), "our estimate is too low")
	require.EqualValues(t, 300, c.Window(resolved(300, "")), "never more than what is known")
	require.EqualValues(t, 400, c.Window(resolved(0, "")))
	require.EqualValues(t, 1000, c.WithOtherModel().Window(r))
	require.EqualValues(t, 1, conversation.New("").WithRefused(r, 0).Window(r), "never unknown again")
}

func TestResultsCleared(t *testing.T) {
	t.Parallel()
	r := resolved(1000, "")
	c := withCalls(withCalls(begun(20, r), 1, 150, 60), 1, 120)
	c = say(c, 1, answer(20), false)
	require.Equal(t, 3, c.WithResultsCleared(r).Edits().Cleared, "the newest stay as far as they fit half of the target")
	require.Equal(t, c.Input(r)-150+conversation.NoteTokens, c.WithResultsCleared(r).Input(r))
	unread := withCalls(begun(20, r), 1, 150, 160)
	require.Zero(t, unread.WithResultsCleared(r).Edits().Cleared, "what the model has not seen stays")
	seen := say(unread, 1, answer(20), false)
	require.Equal(t, 3, seen.WithResultsCleared(r).Edits().Cleared)
	again := seen.WithResultsCleared(r)
	require.Equal(t, again.Input(r), again.WithResultsCleared(r).Input(r), "what is cleared is not cleared again")
	over := say(again, 1, user(20), false).WithExecution(chain(2), false, r).WithPrompt(executionID(2), words(16), noon)
	require.EqualValues(t, again.Input(r)+20+20, over.Input(r), "what the execution before did on its way is still shown")
	require.Equal(t, over.Edits(), over.WithResultsCleared(r).Edits())
}

func TestExcessShrinksWithTheConversation(t *testing.T) {
	t.Parallel()
	r := resolved(1000, "")
	c := say(withCalls(begun(84, r), 1, 212, 96), 1, answer(204), false)
	require.EqualValues(t, 604, c.Input(r))
	c = c.WithInference(domain.Usage{InputTokens: 906}, r).WithResultsCleared(r)
	require.EqualValues(t, 320*3/2, c.Input(r))
}

func TestPlanSummary(t *testing.T) {
	t.Parallel()
	r := resolved(8000, "")
	c := begun(2000, r)
	for range 5 {
		c = say(withCalls(c, 1, 500, 500), 1, answer(300), false)
	}
	plan, worth := c.PlanSummary(r)
	require.True(t, worth)
	// 3200 less 1000 of the summary are kept: one turn of 1310 and the answer.
	require.Equal(t, domain.SummaryRequest{To: 16, MaxTokens: 1000, Window: 8000}, plan.Request())
	for _, window := range []int64{4000, 2000, 1000, 500} {
		var ok bool
		plan, ok = plan.Halved()
		require.True(t, ok)
		require.Equal(t, window, plan.Request().Window)
	}
	_, ok := plan.Halved()
	require.False(t, ok, "four times")
	unknown, _ := c.PlanSummary(resolved(0, ""))
	require.Equal(t, domain.SummaryRequest{To: c.Len(), MaxTokens: 4096}, unknown.Request())
	_, ok = unknown.Halved()
	require.False(t, ok, "nobody knows of what")
	short, worth := begun(200, r).PlanSummary(r)
	require.False(t, worth, "a summary would be as long")
	require.Zero(t, short.Request().To)
	least := resolved(400, "")
	least.MinOutputTokens = 200
	for r, bound := range map[*contract.Resolved]int64{resolved(400, ""): 128, least: 200, resolved(1<<20, ""): 4096} {
		plan, _ := c.PlanSummary(r)
		require.Equal(t, bound, plan.Request().MaxTokens)
	}
}

func TestWithSummary(t *testing.T) {
	t.Parallel()
	r := resolved(8000, "")
	c := begun(2000, r)
	for range 4 {
		c = say(withCalls(c, 1, 500, 500), 1, answer(300), false)
	}
	plan, _ := c.PlanSummary(r)
	buffered := c.Len()
	c = c.Append(domain.SectionSummary, domain.UserMessage(words(96)), domain.Digest{}).WithSummary(plan, r)
	to := plan.Request().To
	require.Equal(t, domain.Edits{Cleared: to, Hidden: to, Summary: buffered + 1, Buffered: buffered}, c.Edits())
	require.Equal(t, []domain.SectionLength{{Name: "summary", Messages: 1}, {Name: "buffer", Messages: buffered - to}, {Name: "messages"}}, c.StepInput().Sections)
	require.Equal(t, to, c.Needed(0), "what is hidden is not needed")
	require.Equal(t, 30, c.Needed(30))
	require.Equal(t, to, say(c, 1, user(10), false).StepInput().Edits.Hidden)
	require.NoError(t, c.Check())
}

// TestForks: two changes of one conversation never see each other.
func TestForks(t *testing.T) {
	t.Parallel()
	r := resolved(1000, domain.CurrentTrace)
	from := carried(t, say(withCalls(withCalls(begun(20, r), 1, 150, 60), 1, 120), 1, answer(20), true), 5, r, chain(1))
	changes := map[string]change{
		"Append": func(c conversation.Conversation) conversation.Conversation { return say(c, 1, user(30), true) },
		"WithExecution": func(c conversation.Conversation) conversation.Conversation {
			return c.WithExecution(chain(2), false, r)
		},
		"WithPrompt": func(c conversation.Conversation) conversation.Conversation {
			return c.WithPrompt(executionID(2), "x", noon)
		},
		"WithGoOn": func(c conversation.Conversation) conversation.Conversation { return c.WithGoOn(executionID(2), noon) },
		"WithInference": func(c conversation.Conversation) conversation.Conversation {
			return c.WithInference(domain.Usage{InputTokens: 999}, r)
		},
		"WithRefused":        func(c conversation.Conversation) conversation.Conversation { return c.WithRefused(r, 0) },
		"WithResultsCleared": func(c conversation.Conversation) conversation.Conversation { return c.WithResultsCleared(r) },
		"WithSummary":        func(c conversation.Conversation) conversation.Conversation { return summed(c, 10, r) },
	}
	for one, first := range changes {
		t.Run(one, func(t *testing.T) {
			t.Parallel()
			before, changed := decided(from, r), decided(first(from), r)
			require.NotEqual(t, before, changed)
			for _, second := range changes {
				held := first(from)
				_ = second(from)
				require.Equal(t, changed, decided(held, r))
			}
			require.Equal(t, before, decided(from, r))
		})
	}
}

// TestGoOn: a model is not asked to answer its own words.
func TestGoOn(t *testing.T) {
	t.Parallel()
	r := resolved(1000, "")
	for name, c := range map[string]struct {
		c     conversation.Conversation
		nudge bool
	}{
		"after its answer":     {say(begun(20, r), 1, answer(20), false), true},
		"after a result":       {withCalls(begun(20, r), 1, 30), false},
		"after a user's words": {begun(20, r), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, from := range []int{0, c.c.Len()} {
				held := carried(t, c.c, from, r, chain(1))
				require.Equal(t, c.nudge, held.WithGoOn(executionID(2), noon).Len() > held.Len())
				elsewhere, err := held.WithBase(held.Log().Ref(), nil)
				require.NoError(t, err)
				require.Equal(t, c.nudge, elsewhere.WithGoOn(executionID(2), noon).Len() > held.Len())
			}
		})
	}
	old, err := conversation.FromCarry(contract.CarriedConversation{Base: 7}, "", chain(1))
	require.NoError(t, err)
	require.Equal(t, 8, old.WithGoOn(executionID(2), noon).Len(), "nobody knows")
	_, err = old.WithBase(domain.LogRef{Length: 3}, []domain.Entry{{Index: 5}})
	require.Error(t, err)
	_, err = conversation.FromCarry(contract.CarriedConversation{Base: 7, Entries: []domain.Entry{{Index: 5}}}, "", nil)
	require.Error(t, err)
}

func TestPage(t *testing.T) {
	t.Parallel()
	r := resolved(0, "")
	c := begun(20, r)
	for range 9 {
		c = say(c, 1, user(100_000), false)
	}
	c = carried(t, c, 2, r, chain(1))
	at := func(n int) *domain.Digest {
		chain, _ := c.Log().ChainAt(n)
		return &chain
	}
	for name, p := range map[string]struct {
		request     contract.MessagesRequest
		size        int
		from, count int
	}{
		"what fits":                    {contract.MessagesRequest{From: 5}, 0, 5, 2},
		"one at least":                 {contract.MessagesRequest{From: 5}, domain.MaxPage, 5, 1},
		"as many as wanted":            {contract.MessagesRequest{From: 5, Limit: 1}, 0, 5, 1},
		"what is in memory":            {contract.MessagesRequest{}, 0, 2, 2},
		"no more than there are":       {contract.MessagesRequest{From: 99}, 0, 10, 0},
		"after what the asker has":     {contract.MessagesRequest{From: 5, Chain: at(5)}, 0, 5, 2},
		"the asker has something else": {contract.MessagesRequest{From: 5, Chain: at(6)}, 0, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := c.Page(p.request, p.size)
			require.Equal(t, []int{p.from, p.count, 2, 10}, []int{page.From, len(page.Entries), page.Base, page.Length})
			require.Equal(t, *at(p.from), page.Before)
			for i, e := range page.Entries {
				require.Equal(t, p.from+i, e.Index)
			}
		})
	}
	require.InDelta(t, 8*400_000, c.SizeFrom(2), 10_000)
	require.Zero(t, c.SizeFrom(10))
}
